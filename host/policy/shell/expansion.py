"""From the nodes of a parse to words: quotes undone, escapes read, values told by the text put in their place.

A value that the text itself tells (`x=rm`, `$(echo rm)`, `{a,b}`) becomes a guess: good enough to refuse by, never to
allow a command's name by. Whatever else stands in a word becomes a mark of `word`.
"""

import re
from collections.abc import Mapping
from typing import Final

from tree_sitter import Node

from host.policy.shell.word import FETCHED, NAMED, UNKNOWN, Word

ALTERNATIVE: Final = "\ue7ff"  # between the values that a loop gives a variable
_LONGEST_TOLD: Final = 4096  # bytes of a substitution whose output is worked out
_DEEPEST: Final = 12  # substitutions and expansions within one word; what lies deeper is an unknown stretch
_MOST_WORDS: Final = 64  # that braces or a loop's values make of one
# What quoting takes from a character is kept as a private character until globs, braces and blanks were looked for.
_SPECIAL: Final = " \t\n{},*?[]~"
_QUOTED: Final = {ord(char): 0xE000 + ord(char) for char in _SPECIAL}
_UNQUOTED: Final = {private: char for char, private in _QUOTED.items()}
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PARAMETER: Final = re.compile(r"\$\{(\w+|[@*?#$!-])\}$")
_DEFAULT: Final = re.compile(r"\$\{(\w+):?[-=+](.*)\}$", re.DOTALL)
_TRIMMED: Final = re.compile(r"\$\{(\w+)(?:[#%^,]|:\d)[^{$`]*\}$|\$\{#\w+\}$")
DOWNLOADS: Final = re.compile(rb"\b(curl|wget|aria2c|http|https|lynx|fetch|GET|lwp-request|axel)\b")
_EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"},
)
# Programs that print names, paths, numbers and dates of what is there: their output is no option of another program.
_LISTERS: Final = frozenset(
    [
        "ls",
        "find",
        "fd",
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "pwd",
        "date",
        "which",
        "mktemp",
        "nproc",
        "wc",
        "hostname",
        "whoami",
        "id",
        "uname",
        "tty",
        "seq",
        "git",
    ],
)
_LISTING_GIT: Final = frozenset({"ls-files", "rev-parse", "merge-base", "describe", "rev-list"})
_FILTERS: Final = frozenset({"head", "tail", "sort", "uniq", "wc"})


# What bash itself sets to something that the text may have chosen.
_SET_BY_BASH: Final = frozenset("@ * _ REPLY OPTARG MAPFILE BASH_REMATCH BASH_COMMAND BASH_ARGV0 COPROC DIRSTACK PIPESTATUS".split())  # fmt: skip  # noqa: E501, SIM905


class Expansion:
    """Turns the nodes of one text into words, with the values its variables have so far."""

    def __init__(self, source: bytes, variables: Mapping[str, str]) -> None:
        self._source = source
        self._variables = variables

    def words(self, node: Node) -> list[Word]:
        """Return the words that a node stands for: one, but for braces and unquoted values with blanks."""
        source = self._text(node)
        text, known = self._resolve(node, 0)
        if known and text == source and not _has_special(text):
            return [Word(text)]
        parts = _parts(text, known=known)
        known &= len(parts) == 1  # what braces made is a guess: bash may have been told not to expand them
        words = [Word(part.translate(_UNQUOTED), known and _settled(part), source) for part in parts]
        return words or [Word("", known, source)]

    def value(self, node: Node) -> str:
        """Return the one text that a node stands for, as a variable would hold it."""
        return self._resolve(node, 0)[0].translate(_UNQUOTED)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _resolve(self, node: Node, depth: int) -> tuple[str, bool]:
        """Return a node's text and whether it is all of it literal."""
        kind = node.type
        if depth > _DEEPEST:
            return UNKNOWN, False
        if kind in {"word", "number", "variable_name", "extglob_pattern", "regex", "string_content"}:
            return _unescaped(self._text(node)), kind != "extglob_pattern"
        if kind == "raw_string":
            return self._text(node)[1:-1].translate(_QUOTED), True
        if kind == "ansi_c_string":
            return decoded(self._text(node)[2:-1]).translate(_QUOTED), True
        if kind in {"string", "translated_string"}:
            return self._string(node, depth)
        if kind in {"concatenation", "command_name"}:
            resolved = [self._resolve(child, depth + 1) for child in node.children]
            return "".join(text for text, _ in resolved), all(known for _, known in resolved)
        if kind in _EXPANSIONS:
            return self._expanded(node, depth), False
        return self._text(node), node.child_count == 0

    def _string(self, node: Node, depth: int) -> tuple[str, bool]:
        """A string in double quotes: what stands between its expansions is taken from the source, blanks and all."""
        if node.type == "translated_string":
            node = node.children[-1]
        at, end, known = node.start_byte + 1, max(node.start_byte + 1, node.end_byte - 1), True
        parts: list[str] = []
        for child in node.children:
            if child.type not in _EXPANSIONS:
                continue
            parts += [_in_quotes(self._source[at : child.start_byte]), self._expanded(child, depth).translate(_QUOTED)]
            at, known = child.end_byte, False
        parts.append(_in_quotes(self._source[at:end]))
        return "".join(parts), known

    def _expanded(self, node: Node, depth: int) -> str:
        match node.type:
            case "simple_expansion":
                return self._variable(self._text(node)[1:])
            case "expansion":
                return self._parameter(self._text(node))
            case "command_substitution":
                return self._output(node, depth)
            case "process_substitution":
                return FETCHED if DOWNLOADS.search(self._source, node.start_byte, node.end_byte) else NAMED
            case _:
                return NAMED  # arithmetic: a number

    def _variable(self, name: str) -> str:
        if name in self._variables:
            return self._variables[name]
        if name == "HOME":
            return "~"
        if name == "PWD":
            return "."
        # the environment is built by the host (SEC-3), so what the text does not set is no trap; its parameters may be
        return UNKNOWN if name in _SET_BY_BASH or name.isdigit() else NAMED

    def _parameter(self, text: str) -> str:
        if found := _PARAMETER.match(text):
            return self._variable(found[1])
        if found := _DEFAULT.match(text):
            default = UNKNOWN if re.search(r"[$`]", found[2]) else _unescaped(found[2]).strip("\"'")
            value = self._variables.get(found[1], NAMED)
            return default if value in {NAMED, ""} else value
        if found := _TRIMMED.match(text):
            value = self._variable(found[1]) if found[1] else NAMED
            return UNKNOWN if UNKNOWN in value or FETCHED in value else NAMED
        return UNKNOWN

    def _output(self, node: Node, depth: int) -> str:
        """What a command substitution gives, where the text tells it."""
        source = self._source[node.start_byte : node.end_byte]
        if DOWNLOADS.search(source):
            return FETCHED
        inner = [child for child in node.children if child.is_named and child.type != "comment"]
        if len(inner) != 1 or len(source) > _LONGEST_TOLD:
            return UNKNOWN
        stages = [child for child in inner[0].children if child.is_named] if inner[0].type == "pipeline" else inner
        if any(stage.type != "command" for stage in stages):
            return UNKNOWN
        commands = [[self._resolve(child, depth + 1) for child in stage.children] for stage in stages]
        names = [words[0][0] for words in commands if words]
        if len(commands) == 1 and names == ["echo"]:
            return echoed([text for text, _ in commands[0][1:]])
        if len(commands) == 1 and names == ["printf"]:
            return printed([text for text, _ in commands[0][1:]])
        first = [text for text, _ in commands[0]]
        listing = first[0] in _LISTERS and (first[0] != "git" or (first[1:2] and first[1] in _LISTING_GIT))
        tricky = b"/-" in source or b"-- " in source or b"+-" in source or b"printf" in source
        return NAMED if listing and not tricky and set(names[1:]) <= _FILTERS else UNKNOWN


def decoded(text: str) -> str:
    """Undo the escapes of `$'…'`, `echo -e` and `printf`."""

    def char(found: re.Match[str]) -> str:
        for digits in found.groups()[:3]:
            if digits:
                return chr(min(int(digits, 16), 0x10FFFF))
        if found[4]:
            return chr(int(found[4], 8) & 0xFF)
        return chr(ord(found[5]) & 0x1F) if found[5] else _LETTERS.get(found[6], found[6])

    return _ESCAPE.sub(char, text)


def echoed(words: list[str]) -> str:
    """Return what `echo` prints, its newline left out."""
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes |= "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    return decoded(text) if escapes else text


def printed(words: list[str]) -> str:
    """Return what `printf` prints where its format is plain, a mark elsewhere."""
    if not words or words[0].startswith("-"):
        return UNKNOWN
    form, values = decoded(words[0]), words[1:]
    if "%" not in form:
        return form
    if set(re.findall(r"%(.?)", form)) <= {"s", "b"}:
        pieces = form.replace("%b", "%s").split("%s")
        rounds = max(1, -(-len(values) // (len(pieces) - 1)))
        text = "".join(
            piece + (values.pop(0) if values and at < len(pieces) - 1 else "")
            for _ in range(min(rounds, _MOST_WORDS))
            for at, piece in enumerate(pieces)
        )
        return decoded(text)
    return UNKNOWN


def _unescaped(text: str) -> str:
    """Undo backslashes outside quotes."""
    if "\\" not in text:
        return text
    text = text.replace("\\\n", "")
    return re.sub(r"\\(.)", lambda found: found[1].translate(_QUOTED), text, flags=re.DOTALL)


def _in_quotes(source: bytes) -> str:
    text = source.decode("utf-8", "replace")
    if "\\" in text:
        text = re.sub(r'\\(?:\n|([$`"\\]))', lambda found: found[1] or "", text)
    return text.translate(_QUOTED)


def _has_special(text: str) -> bool:
    return any(char in text for char in "{*?[~\ue7ff")


def _settled(text: str) -> bool:
    return not any(char in text for char in "*?[")


def _parts(text: str, *, known: bool) -> list[str]:
    """Split what braces, a loop's values and blanks of unquoted values make several words of."""
    words = [text]
    if "{" in text:
        while len(words) < _MOST_WORDS and any(_BRACES.search(word) for word in words):
            words = [each for word in words for each in _braced(word)]
    if ALTERNATIVE in text:
        words = [each for word in words for each in word.split(ALTERNATIVE)]
    if not known:
        words = [each for word in words for each in word.split()]
    return words


def _braced(word: str) -> list[str]:
    found = _BRACES.search(word)
    if found is None:
        return [word]
    return [word[: found.start()] + choice + word[found.end() :] for choice in found[1].split(",")]
