"""Parsing with tree-sitter-bash: the one place that knows the grammar's library.

It bounds the work by the parser's own counts, never by the clock, so that a text gets the same verdict everywhere. The
grammar is linear on texts that bash would run, but not on nonsense: error recovery re-reads the text, and a pending
pipe costs the square of its stages. What was given up is said in `Parsed.given_up`, and whoever judges has to ask.
"""

import re
from typing import Final

import msgspec
import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Point, Tree

from host.policy.shell.repeats import condensed

LONGEST_BYTES: Final = 256 * 1024  # of one text; scripts of that length are files, and files are not judged here
MOST_PIPES: Final = 800  # in a line that pipes continue: a grammar error behind n stages costs n² (31 ms for 1,000)
_MOST_PIPES_IN_ALL: Final = 2_500  # what a comment behind a pipe could make one line of
_CHUNK: Final = 64  # bytes a read hands over; small, so that the number of reads tells of re-reading
_MOST_READS: Final = 3.3  # times the text's length; scripts need up to 2.4 (GLR tries two readings of a stretch)
_MOST_STEPS: Final = 1_100  # calls of the parser's progress report, one per 100 actions; scripts take 900 for 100 KB
_MOST_STEPS_WITH_ERROR: Final = 100_000  # these times the text's length, after an error: such a step costs its length
_MOST_NODES: Final = 90_000  # of a tree; walking it costs about 0.3 µs each
_LONG: Final = 8 * 1024  # bytes, from which on the beginning is probed
_PROBED: Final = 512  # bytes of it; nonsense takes up to 30 µs a byte, where 0.3 µs is usual
_MOST_ERRORS: Final = 10  # in that beginning; a script that is cut off there has one or two
_LINE: Final = re.compile(rb"(?<![|\\ \t])\n")
# To bash every byte beyond ASCII is a plain character of a word, and never of a name. The grammar's scanner asks C's
# isalpha and its like about them, which are not defined there and end the process: it gets a character of that kind.
_ASCII: Final = bytes(range(0x80)) + b"." * 0x80
_LANGUAGE: Final = Language(tree_sitter_bash.language())


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A text and its tree."""

    source: bytes  # the text, UTF-8
    root: Node | None  # None: nothing could be parsed within the bounds
    given_up: str  # why the tree is missing or holds errors; "" when it is whole


def language() -> Language:
    """Return the grammar, for whoever measures the parser by itself."""
    return _LANGUAGE


def parse(text: str) -> Parsed:
    """Parse a shell text; never raises."""
    source = text.encode("utf-8", "replace")
    if len(source) <= LONGEST_BYTES:
        source = condensed(source)
    else:
        return Parsed(source=source, root=None, given_up=f"it is longer than {LONGEST_BYTES // 1024} KiB")
    if b"\0" in source:
        return Parsed(source=source, root=None, given_up="it holds a NUL")
    if _pipes(source) > MOST_PIPES:
        return Parsed(source=source, root=None, given_up="it holds too many pipes")
    if len(source) > _LONG and _is_nonsense(source[:_PROBED]):
        return Parsed(source=source, root=None, given_up="it takes too long to parse")
    tree = _tree(source)
    if tree is None:
        return Parsed(source=source, root=None, given_up="it takes too long to parse")
    if tree.root_node.descendant_count > _MOST_NODES:
        return Parsed(source=source, root=None, given_up="it has too many parts")
    given_up = "a part of it cannot be parsed" if tree.root_node.has_error else ""
    return Parsed(source=source, root=tree.root_node, given_up=given_up)


def _pipes(source: bytes) -> int:
    """Return how many stages could wait for one another in a text."""
    count = source.count(b"|") - 2 * source.count(b"||")
    if not MOST_PIPES < count <= _MOST_PIPES_IN_ALL:
        return count
    return max(line.count(b"|") for line in _LINE.split(source))


def _is_nonsense(beginning: bytes) -> bool:
    """Whether a text starts as no script would: then looking at the rest would only cost time."""
    tree = _tree(beginning)
    if tree is None:
        return True
    cursor, errors = tree.walk(), 0
    while True:
        node = cursor.node
        errors += node is not None and (node.is_error or node.is_missing)
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return errors > _MOST_ERRORS


def _tree(source: bytes) -> Tree | None:
    source = source.translate(_ASCII)  # of the same length, so that places in it are places in the text
    reads = steps = steps_with_error = 0
    most_with_error = max(1, min(12, _MOST_STEPS_WITH_ERROR // max(1, len(source))))
    most_reads = int(_MOST_READS * len(source) / _CHUNK) + 50

    def read(offset: int, point: Point) -> bytes:
        del point
        nonlocal reads
        reads += 1
        # past the bound the text ends: the parser finishes at once, with an error in the tree
        return source[offset : offset + _CHUNK] if reads <= most_reads else b""

    def too_much(offset: int, has_error: bool) -> bool:  # noqa: FBT001 - the library's call
        del offset
        nonlocal steps, steps_with_error
        steps += 1
        steps_with_error += has_error
        return steps > _MOST_STEPS or steps_with_error > most_with_error

    parser = Parser(_LANGUAGE)  # a fresh one: a parser that gave up would go on where it stood
    try:
        return parser.parse(read, progress_callback=too_much)
    except ValueError:  # what the library raises when the progress report says to stop
        return None
