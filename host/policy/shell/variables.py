"""The variables of a text: what each may hold where, as far as the text tells it.

A variable that gets several values may hold any of them, as the text does not tell which assignment runs. What is added
to, read from somewhere or put into an array is unknown text, with what is told of it as a guess for the floor.
"""

import re
from typing import Final

from tree_sitter import Node

from host.policy.shell import arithmetic
from host.policy.shell.expansion import LOOSE, Expansion
from host.policy.shell.simple import Script
from host.policy.shell.stores import stored
from host.policy.shell.values import Values
from host.policy.shell.word import ALTERNATIVE, NUMBER, UNKNOWN, Word

_MOST_VALUES: Final = 16  # of a variable that are followed
_RUNNING: Final = frozenset({"eval", "source", ".", "trap", "coproc"})  # may set any variable
_BEFORE: Final = frozenset({"builtin", "command", "time", "-p", "--", "!"})
# The beginning of an array's word that may be its subscript, and whether it is.
_LONGEST_KEY: Final = 200
_KEY: Final = re.compile(rf"(?<=[\s(])\[([^\]]{{0,{_LONGEST_KEY}}})(\]\+?=)?")
_SURE: Final = re.compile(r"[^\]\[$`\\\"']*")
_PLAIN_TEXT: Final = re.compile(r"[\w\s\"$/.;,|&>:-]*")
_SETTING_WORD: Final = re.compile(
    r"\b(?:read\w*|mapfile|printf|getopts|set|shift|eval|source|unset|for|select|local|trap|let|wait|coproc)\b|(?:^|[\s;&|])\.\s"
)
_PATTERN: Final = re.compile(r"[*?\[].*", re.DOTALL)


class Variables:
    """The values in a script, followed while it is walked."""

    def __init__(self, script: Script, values: Values, source: bytes, expansion: Expansion) -> None:
        self._script = script
        self._values = values
        self._source = source
        self._expansion = expansion

    def hold(self, name: str, *texts: str) -> None:
        """A variable may hold any of some texts, beside what it may hold already."""
        before = self._values.get(name)
        values: list[str] = [] if before is None else before.split(ALTERNATIVE)
        values = list(dict.fromkeys([*values, *texts]))
        guesses = values[:_MOST_VALUES]
        self._values[name] = ALTERNATIVE.join([*guesses, UNKNOWN] if len(values) > len(guesses) else guesses)

    def assigned(self, node: Node) -> tuple[tuple[str, Word], ...]:
        """Follow an assignment; return what is assigned to the name, and what its subscripts assign beside it."""
        text = self._text(node)
        target, _, rest = text.partition("=") if "[" not in text.partition("=")[0] else _subscripted(text)
        name, bracket, key = target.removesuffix("+").partition("[")
        value = node.child_by_field_name("value")
        beside = self._subscripts([key.removesuffix("]")]) if bracket else ()
        if value is not None and value.type == "array":
            beside += self._subscripts(_keys(self._text(value)))
        texts = [""] if value is None else self._texts(value)
        adds = target.endswith("+")
        if adds:
            before = self._values.each(name)
            texts = [f"{old}{new}" for old in before for new in texts][:_MOST_VALUES]
        if adds or bracket or (value is not None and value.type == "array"):
            texts.append(UNKNOWN)
        self.hold(name, *texts)
        known = value is None or value.type in {"word", "raw_string", "number"}
        return (name, Word(texts[0], known, rest)), *beside

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _subscripts(self, keys: list[str] | None) -> tuple[tuple[str, Word], ...]:
        """Follow what subscripts assign."""
        if keys is None or not all(arithmetic.is_harmless(key, self._values) for key in keys):
            self._script.evaluates = "a subscript may evaluate text that is not known"
            return ()
        return tuple(each for key in keys for each in self.numbered(key))

    def _texts(self, value: Node) -> list[str]:
        if value.type != "array":
            return self._expansion.values(value)
        items = [item for item in value.children[: 2 * _MOST_VALUES] if item.is_named]
        return [" ".join(self._expansion.value(item) for item in items)]

    def loop(self, node: Node) -> tuple[str, Word] | None:
        """Follow `for NAME in VALUES`; return the name and what it is set to."""
        name = node.child_by_field_name("variable")
        values = node.children_by_field_name("value")
        if name is None:
            return None
        texts: list[str] = []
        for value in values[: _MOST_VALUES + 1]:
            for word in self._expansion.words(value):
                texts.append(word.text)
                if not word.known and _PATTERN.search(word.text):
                    # the files that fit a pattern: named by what stands before it, and unknown from there on
                    texts.append(_PATTERN.sub(UNKNOWN, word.text))
        variable = self._expansion.value(name)
        self.hold(variable, *(texts or [UNKNOWN]))
        return variable, Word(texts[0] if len(texts) == 1 else UNKNOWN, known=False)

    def numbered(self, text: str) -> tuple[tuple[str, Word], ...]:
        """Follow what arithmetic assigns."""
        names = arithmetic.assigned(text)
        for name in names:
            self.hold(name, NUMBER)
        return tuple((name, Word("1", False)) for name in names)

    def builtin(self, words: tuple[Word, ...]) -> None:
        """Follow the builtins that set variables, or run what may."""
        words = next((words[at:] for at, word in enumerate(words) if word.text not in _BEFORE), ())
        if not words:
            return
        names = [word.text for word in words]
        set_ = stored(words)
        if set_ is None or not all(word.known for word in set_):
            self._values[LOOSE] = "1"
        for word in set_ or ():
            self.hold(word.text, UNKNOWN)
        if names[0] == "set" and any(not name.startswith(("-", "+")) or name == "--" for name in names[1:]):
            values = names[names.index("--") + 1 :] if "--" in names else names[1:]
            for at, value in enumerate(values, 1):
                self.hold(str(at), value, UNKNOWN)
            self.hold("@", " ".join(values), UNKNOWN)
            self.hold("*", " ".join(values), UNKNOWN)
        elif (names[0] in _RUNNING or "eval" in names[:4]) and not _sets_nothing(words):
            self._values[LOOSE] = "1"

    def give_up(self, before: dict[str, str]) -> None:
        """Let every variable that is not as it was before hold anything."""
        for name, value in self._values.items():
            if before.get(name) != value and name != LOOSE:
                self.hold(name, UNKNOWN)


def _sets_nothing(words: tuple[Word, ...]) -> bool:
    """Whether the text that `trap` or `eval` runs is known, and too plain to set a variable."""
    text = " ".join(word.text for word in words[1:])
    harmless = words[0].text in {"trap", "eval"} and all(word.known for word in words)
    return harmless and bool(_PLAIN_TEXT.fullmatch(text)) and not _SETTING_WORD.search(text)


def _subscripted(text: str) -> tuple[str, str, str]:
    """Split `NAME[KEY]=VALUE`."""
    end = text.find("]=")
    end = text.find("]+=") if end < 0 else end
    if end < 0:
        return text, "", ""
    target, rest = text[: end + 1], text[end + 1 :]
    return (f"{target}+", "=", rest[2:]) if rest.startswith("+=") else (target, "=", rest[1:])


def _keys(array: str) -> list[str] | None:
    """Return the subscripts that stand in an array's words; None where one is not told."""
    keys: list[str] = []
    assigns = bool(re.search(r"\]\+?=", array))
    for found in _KEY.finditer(array):
        if found[2]:
            keys.append(found[1])
        elif assigns and (len(found[1]) >= _LONGEST_KEY or not _SURE.fullmatch(found[1])):
            return None
    return keys
