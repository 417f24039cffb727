"""From the nodes of a parse to words: quotes undone, escapes read, values told by the text put in their place.

A value that the text itself tells (`x=rm`, `$(echo rm)`, `{a,b}`) becomes a guess: good enough to refuse by, never to
allow a command's name by. Whatever else stands in a word becomes a mark of `word`.
"""

import bisect
import re
from typing import Final

from tree_sitter import Node

from host.policy.shell.printing import decoded, printed_by
from host.policy.shell.values import Values
from host.policy.shell.word import ALTERNATIVE, FETCHED, NAMED, NUMBER, SPLITS, UNKNOWN, Word, has_mark

_OPEN, _CLOSE = "\ue7fe", "\ue7fd"  # around the values that a variable may have
_LONGEST_TOLD: Final = 4096  # bytes of a substitution whose output is worked out
_LONGEST_VALUE: Final = 1024  # characters of a value that is put together
_LONGEST_CHOICES: Final = 65_536  # characters of all texts that one word may stand for
_DEEPEST: Final = 12  # substitutions and expansions within one word; what lies deeper is an unknown stretch
_MOST_WORDS: Final = 64  # that braces make of one
_MOST_CHOICES: Final = 16  # of values for the variables of one word
# What quoting takes from a character is kept as a private character until globs, braces and blanks were looked for.
_SPECIAL: Final = f" \t\n{{}},*?[]~{UNKNOWN}{FETCHED}{SPLITS}"
_QUOTED: Final = {ord(char): 0xE000 + (ord(char) & 0x7FF) for char in _SPECIAL}
_TO_VALUE: Final = {private: chr(char) for char, private in _QUOTED.items()}
_TO_WORD: Final = {**_TO_VALUE, ord(SPLITS): None, _QUOTED[ord(SPLITS)]: None}
_LITERALS: Final = frozenset({"word", "number", "raw_string", "ansi_c_string"})
_REDIRECTS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_BRACES: Final = re.compile(r"\{[^{}]*\}")
_SEQUENCE: Final = re.compile(r"-?\w+\.\.-?\w+(?:\.\.-?\d+)?")
_PARAMETER: Final = re.compile(r"\$\{(\w+|[@*?#$!-])(?::?\?[^}]*)?\}$")
_DEFAULT: Final = re.compile(r"\$\{(\w+):?([-=+])(.*)\}$", re.DOTALL)
_LENGTH: Final = re.compile(r"\$\{#[\w@*\[\]]+\}$")
_PLAIN_DEFAULT: Final = re.compile(r"[^$`\"'\\{}\[\]*?]*")
DOWNLOADS: Final = re.compile(rb"\b(curl|wget|aria2c|http|https|lynx|fetch|GET|lwp-request|axel)\b")
_VANISHING: Final = frozenset({"simple_expansion", "expansion", "command_substitution"})
_EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"},
)
# What bash itself sets to something that the text may have chosen.
_SET_BY_BASH: Final = frozenset("@ * _ REPLY OPTARG MAPFILE BASH_REMATCH BASH_COMMAND BASH_ARGV0 COPROC DIRSTACK PIPESTATUS".split())  # fmt: skip  # noqa: E501, SIM905
_NUMBERS: Final = frozenset(
    [
        "#",
        "?",
        "$",
        "!",
        "RANDOM",
        "SECONDS",
        "LINENO",
        "UID",
        "EUID",
        "PPID",
        "BASHPID",
        "SHLVL",
        "OPTIND",
        "EPOCHSECONDS",
    ]
)
LOOSE: Final = ""  # a name of no variable: set where the text runs something that may set any of them
_RENAMING: Final = re.compile(rb"\(\s{0,9}\)|\b(?:function|alias|eval|source)\b")
_SHIFTING: Final = re.compile(rb"\b(?:shift|set|source|eval)\b|\(\s{0,9}\)|\bfunction\b|(?:^|[;&|\s])\.\s")


class Expansion:
    """Turns the nodes of one text into words, with the values its variables have so far."""

    def __init__(self, source: bytes, variables: Values) -> None:
        self._source = source
        self._variables = variables
        self.spent = 0  # nodes that were looked at
        self._renames = bool(_RENAMING.search(source))  # a function may have the name of a program
        self._shifts = bool(_SHIFTING.search(source))  # the parameters may change
        self._downloads = [found.start() for found in DOWNLOADS.finditer(source)]

    def choices(self, node: Node) -> list[list[Word]]:
        """Return what a node may stand for: words, for each set of values that its variables may have."""
        self.spent += 1
        source = self._text(node)
        text, known = self._resolve(node, 0)
        if known and text == source and not _has_special(text):
            return [[Word(text)]]
        found = [self._words(each, source, known=known) for each in chosen(text)]
        return found if len(found) == 1 else [each for at, each in enumerate(found) if each not in found[:at]]

    def may_vanish(self, node: Node) -> bool:
        """Whether nothing may be left of a node, so that the words behind it move up."""
        parts = node.children if node.type == "concatenation" else [node]
        return all(part.type in _VANISHING for part in parts) and self.told(node) != NUMBER

    def words(self, node: Node) -> list[Word]:
        """Return all words that a node may stand for: one, but for braces, values with blanks and several values."""
        return list(dict.fromkeys(word for words in self.choices(node) for word in words))

    def values(self, node: Node) -> list[str]:
        """Return the texts that a variable would hold when it is set to a node."""
        found = [each.translate(_TO_VALUE) for each in chosen(self._resolve(node, 0)[0])]
        return [each if len(each) <= _LONGEST_VALUE or node.type in _LITERALS else UNKNOWN for each in found]

    def value(self, node: Node) -> str:
        """Return one text that a node stands for."""
        return self.values(node)[0].replace(SPLITS, "")

    def told(self, node: Node) -> str:
        """Return what a node may come to for evaluating it: with several values, all of them behind commas."""
        return ",".join(each.translate(_TO_VALUE) for each in chosen(self._resolve(node, 0)[0]))

    @staticmethod
    def _words(text: str, source: str, *, known: bool) -> list[Word]:
        parts = _parts(text, known=known)
        known &= len(parts) == 1  # what braces made is a guess: bash may have been told not to expand them
        words = [
            Word(part.translate(_TO_WORD), known and _settled(part) and not has_mark(part), source) for part in parts
        ]
        if not known and any(mark in text for mark in (UNKNOWN, FETCHED, SPLITS)):
            words.append(Word(UNKNOWN, False, source))  # outside quotes it may come apart into several
        return words or ([Word("", known, source)] if known or '"' in source or "'" in source else [])

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _resolve(self, node: Node, depth: int) -> tuple[str, bool]:
        """Return a node's text and whether it is all of it literal."""
        kind = node.type
        if depth > _DEEPEST:
            return UNKNOWN, False
        if kind in {"word", "number", "variable_name", "extglob_pattern", "regex", "string_content"}:
            text = _unescaped(self._text(node))
            return (UNKNOWN, False) if kind == "extglob_pattern" else (text, True)
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
            inner = self._expanded(child, depth)
            if self._source[child.start_byte : child.end_byte] not in {b"$@", b"${@}"}:
                inner = inner.translate(_QUOTED)
            parts += [_in_quotes(self._source[at : child.start_byte]), inner]
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
                return FETCHED if self._fetches(node) else NAMED
            case _:
                return NUMBER

    def _fetches(self, node: Node) -> bool:
        at = bisect.bisect_left(self._downloads, node.start_byte)
        return at < len(self._downloads) and self._downloads[at] < node.end_byte

    def _variable(self, name: str) -> str:
        values = self._variables.read(name)
        if values is not None:
            loose = self._variables.holds(LOOSE) or (self._shifts and (name.isdigit() or name in {"@", "*"}))
            if loose and UNKNOWN not in values.split(ALTERNATIVE):
                values += ALTERNATIVE + UNKNOWN
            return f"{_OPEN}{values}{_CLOSE}" if ALTERNATIVE in values else values
        if name in _SET_BY_BASH or name.isdigit() or self._variables.holds(LOOSE):
            return UNKNOWN
        if name in {"HOME", "PWD"}:
            return "~" if name == "HOME" else f".{SPLITS}"
        # the environment is built by the host (SEC-3), so what the text does not set is no trap; its parameters may be
        return NUMBER if name in _NUMBERS else NAMED

    def _parameter(self, text: str) -> str:
        if found := _PARAMETER.match(text):
            return self._variable(found[1])
        if found := _DEFAULT.match(text):
            default = _unescaped(found[3]) if _PLAIN_DEFAULT.fullmatch(found[3]) else UNKNOWN
            value = self._variables.read(found[1]) or ("~" if found[1] == "HOME" else "")
            values = [] if found[2] == "+" or not value else value.split(ALTERNATIVE)
            if found[1].isdigit() or self._variables.holds(LOOSE):
                values.append(UNKNOWN)
            return f"{_OPEN}{ALTERNATIVE.join(dict.fromkeys([*values, default]))}{_CLOSE}"
        return NUMBER if _LENGTH.match(text) else UNKNOWN

    def _output(self, node: Node, depth: int) -> str:
        """What a command substitution gives, where the text tells it."""
        if self._fetches(node):
            return FETCHED
        inner = [child for child in node.children if child.is_named and child.type != "comment"]
        if len(inner) != 1 or node.end_byte - node.start_byte > _LONGEST_TOLD:
            return UNKNOWN
        last = inner[0]
        alone = last.type != "pipeline"
        if not alone:
            last = last.named_children[-1]
        body = last.child_by_field_name("body") if last.type == "redirected_statement" else last
        if body is None or body.type != "command":
            return UNKNOWN
        resolved = [self._resolve(child, depth + 1) for child in body.children if child.type not in _REDIRECTS]
        words = [text for text, _ in resolved]
        guess = printed_by(words, known=all(known for _, known in resolved), alone=alone)
        if guess != UNKNOWN and (self._renames or any(char in guess for char in "*?[{")):
            # a good guess at a target, but a function, a pattern or braces may make something else of it
            return f"{_OPEN}{ALTERNATIVE.join([*chosen(guess), UNKNOWN])}{_CLOSE}"
        return guess


def chosen(text: str) -> list[str]:
    """Return the texts that one with groups of alternatives may stand for."""
    if _OPEN not in text:
        return [text]
    first, *groups = text.split(_OPEN)
    texts = [first]
    for group in groups:
        values, _, rest = group.partition(_CLOSE)
        texts = [f"{each}{value}{rest}" for each in texts for value in values.split(ALTERNATIVE)]
        if len(texts) > _MOST_CHOICES or sum(map(len, texts)) > _LONGEST_CHOICES:
            return [UNKNOWN]
    return texts


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
    return any(char in text for char in "{*?[~")


def _settled(text: str) -> bool:
    return not any(char in text for char in "*?[")


def _parts(text: str, *, known: bool) -> list[str]:
    """Split what braces and blanks of unquoted values make several words of."""
    words = [text]
    if "{" in text:
        for _ in range(_MOST_WORDS):
            made = [each for word in words for each in _braced(word)]
            if made == words or len(made) > _MOST_WORDS:
                words = made if made == words else [*made[:_MOST_WORDS], UNKNOWN]
                break
            words = made
    if not known:
        words = [each for word in words for each in word.split()]
    return [UNKNOWN if _may_be_any_option(word) else word for word in words]


def _may_be_any_option(word: str) -> bool:
    """Whether a word begins with a dash and fits files of any such name, or does so if the text before is empty."""
    bare = word.lstrip(f"{NAMED}{SPLITS}")
    return (bare[:1] in {"-", "+"} and (bare != word or not _settled(word))) or (
        bare != word and bare[:1] in set("*?[")
    )


def _braced(word: str) -> list[str]:
    """Undo the first braces of a word that bash would."""
    for found in _BRACES.finditer(word):
        inner, before, behind = found[0][1:-1], word[: found.start()], word[found.end() :]
        if "," in inner:
            return [f"{before}{choice}{behind}" for choice in inner.split(",")[: _MOST_WORDS + 1]]
        if _SEQUENCE.fullmatch(inner):
            return [f"{before}{UNKNOWN if re.search('[A-Za-z_]', inner) else NUMBER}{behind}"]
    return [word]
