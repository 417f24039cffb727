"""Where the grammar reads a text otherwise than bash does, told by signs of it: such a text is unclear.

The grammar leaves backquotes in here-documents unread, and takes the line after some comments for arguments. Instead of
a list of its faults, what it read is held against the text: every substitution must have been seen, and no argument may
begin on another line or with a comment's sign.
"""

import re
from typing import Final

from tree_sitter import Node

_BLANK: Final = re.compile(rb"(?<!\\)[ \t\n]")


def substitutions(source: bytes) -> int:
    """Return how many signs of a command substitution stand in a text, escaped ones left out."""
    return (
        source.count(b"`") + source.count(b"$(") - source.count(b"\\`") - source.count(b"\\$(")
        if b"`" in source or b"$(" in source
        else 0
    )


def misread(source: bytes, end: int, child: Node, kind: str) -> bool:
    """Whether the grammar took the next line or a comment for an argument, as it does with a backslash after `# …`."""
    gap = source[end : child.start_byte]
    if b"\n" in gap and b"\n" in gap.replace(b"\\\n", b""):
        return True
    if source[child.start_byte : child.start_byte + 1] == b"#":
        return True
    return kind == "word" and bool(_BLANK.search(source, child.start_byte, child.end_byte))
