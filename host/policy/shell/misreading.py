"""Where the grammar reads a text otherwise than bash does, told by signs of it: such a text is unclear.

The grammar leaves backquotes in here-documents and expansions in patterns unread, takes the line after some comments
for arguments, and an escaped blank, a carriage return or the end of a continued line for a blank. Instead of a list of
its faults, what it read is held against the text: every substitution, subscript and odd blank must have been seen,
nothing may begin within what is one word to bash, and no argument on another line or with a comment's sign.
"""

import bisect
import re
from typing import Final

from tree_sitter import Node

_QUOTED: Final = frozenset({"raw_string", "ansi_c_string", "comment"})
_SIGNS: Final = frozenset({"`", "$(", "$((", "$["})
_COUNTED: Final = _SIGNS | _QUOTED | {"${"}
_CANDIDATE: Final = re.compile(rb"\\\s|[\r\v\f]")
_EVALUATED: Final = re.compile(rb"\$\{[!#]?[\w@*]+(?:\[|:(?![-=+?]))")  # a subscript or an offset
_SIGN: Final = re.compile(rb"\\.|(`|\$[(\[]|" + _EVALUATED.pattern + rb")", re.DOTALL)
_ESCAPED: Final = re.compile(rb"\\[^\n]|[\r\v\f]|((?:\\\n)+)")
_META: Final = frozenset(bytes([each]) for each in b";&|<>()")
_LONGEST_RUN: Final = 200  # backslashes in a row that are looked at
_BLANK: Final = re.compile(rb"(?<!\\)[ \t\n]")


class Misreading:
    """What was seen of one text, node by node."""

    def __init__(self, source: bytes, *, whole: bool) -> None:
        """`whole` says that the tree has no errors; one that has is not trusted anyway, and not looked at here."""
        self._source = source
        self._unseen = substitutions(source) if whole else 0
        self._joined, self._blanks = _escapes(source) if whole and _CANDIDATE.search(source) else (frozenset[int](), [])
        self._lost = set(self._blanks)
        self._wrong = False
        self.every = bool(self._joined or self._lost)  # whether it has to meet every node
        # else the kinds that it has to meet
        self.kinds = frozenset[str]() if not whole else _COUNTED if self._unseen else frozenset({"comment"})

    def meet(self, node: Node, kind: str) -> None:
        """Take note of a node."""
        start = node.start_byte
        self._wrong |= start in self._joined or (kind == "comment" and not is_comment(self._source, start))
        if self._lost and node.child_count == 0:
            first, end = bisect.bisect_left(self._blanks, start), bisect.bisect_left(self._blanks, node.end_byte)
            self._lost.difference_update(self._blanks[first:end])
        if not self._unseen:
            return
        if kind in _SIGNS or (kind == "${" and _EVALUATED.match(self._source, start)):
            self._unseen -= 1
        elif kind in _QUOTED:
            self._unseen -= substitutions(self._source[start : node.end_byte])

    def found(self, quoted: int) -> bool:
        """Whether something was read otherwise; `quoted` are signs that mean nothing where they stand."""
        return self._wrong or bool(self._lost) or self._unseen > quoted


def substitutions(source: bytes) -> int:
    """Return how many signs stand in a text behind which bash runs or evaluates something, escaped ones left out."""
    if b"\\" in source:
        return sum(map(bool, _SIGN.findall(source))) if b"`" in source or b"$" in source else 0
    expansions = len(_EVALUATED.findall(source)) if b"${" in source else 0
    return source.count(b"`") + source.count(b"$(") + source.count(b"$[") + expansions


def _escapes(source: bytes) -> tuple[frozenset[int], list[int]]:
    """Return where a word or an operator goes on across the end of a line, and where blanks are none to bash.

    These are escaped ones, carriage returns and the like. The grammar takes both for blanks: what begins there is not
    what it is to bash, and a word of blanks is lost.
    """
    joined, blanks = set[int](), list[int]()
    for found in _ESCAPED.finditer(source):
        at, end = found.span()
        if not found[1]:
            if source[end - 1 : end].isspace():
                blanks.append(at)
        elif _joins(source[at - 1 : at], source[end : end + 1]):
            joined.add(end)
    return frozenset(joined), blanks


def _joins(before: bytes, behind: bytes) -> bool:
    if before.isspace() or behind.isspace() or not (before and behind):
        return False
    return behind == b"(" or (before in _META) == (behind in _META)


def is_comment(source: bytes, start: int) -> bool:
    """Whether a `#` begins a comment for bash as well: only at the beginning of a word.

    Not behind a blank that is escaped; a bracket before it may be the end of a word.
    """
    if start == 0:
        return True
    before = source[max(0, start - 1 - _LONGEST_RUN) : start - 1]
    escapes = len(before) - len(before.rstrip(b"\\"))
    return source[start - 1] in b" \t\n;&|(" and escapes % 2 == 0 and escapes < _LONGEST_RUN


def misread(source: bytes, end: int, child: Node, kind: str) -> bool:
    """Whether the grammar took the next line or a comment for an argument, as it does with a backslash after `# …`."""
    gap = source[end : child.start_byte]
    if b"\n" in gap and b"\n" in gap.replace(b"\\\n", b""):
        return True
    if source[child.start_byte : child.start_byte + 1] == b"#":
        return True
    return kind == "word" and bool(_BLANK.search(source, child.start_byte, child.end_byte))
