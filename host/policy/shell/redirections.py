"""The redirections of a text: what they write to, what they give a command to read, which variables they set.

`{NAME}>file` sets NAME to the number of the descriptor that it opens. It knows the grammar's nodes; whose redirection
one is, and what becomes of it, is `script`'s.
"""

import re
from typing import Final

from tree_sitter import Node

from host.policy.shell.expansion import Expansion
from host.policy.shell.kinds import OPERATORS, REDIRECTS
from host.policy.shell.misreading import substitutions
from host.policy.shell.simple import Simple
from host.policy.shell.word import UNKNOWN, Word

_CONNECTIONS: Final = ("/dev/tcp/", "/dev/udp/")
_LONGEST_NAME: Final = 300  # of a variable that is looked for before a redirection
_DESCRIPTOR: Final = re.compile(rb"\{([A-Za-z_]\w*)(\[[^\]\s]*\])?\}")
_BEHIND: Final = re.compile(rb"(?<![^\s;&|()<>`])\{([A-Za-z_]\w*)(\[[^\]\s]*\])?\}\Z")


class Redirections:
    """Those of one text."""

    def __init__(self, source: bytes, expansion: Expansion) -> None:
        self._source = source
        self._expansion = expansion
        self.taken: set[int] = set()  # where those begin that something has taken account of
        self.quoted = 0  # signs of a substitution in here-documents that mean nothing there

    def take(self, node: Node, simple: Simple) -> list[Word]:
        """Note one redirection; return the arguments that the grammar counts to it."""
        self.taken.add(node.start_byte)
        if node.type == "herestring_redirect":
            words = self._expansion.words(node.children[-1])
            simple.stdin = " ".join(word.text for word in words)
            simple.stdin_known = all(word.known for word in words)
            return []
        if node.type == "heredoc_redirect":
            return self._heredoc(node, simple)
        operator = next((child.type for child in node.children if child.type in OPERATORS), "")
        targets = [self._expansion.words(child) for child in node.children_by_field_name("destination")]
        first = targets[0] if targets else []
        writes = OPERATORS.get(operator, False) and not (operator in {">&", "<&"} and _is_descriptor(first))
        if writes or any(word.text.startswith(_CONNECTIONS) for word in first):
            simple.writes += tuple(first)
        return _told_apart([word for words in targets[1:] for word in words])

    def take_all(self, node: Node) -> Simple:
        """Return the redirections of a node, with the arguments that the grammar counts to them."""
        simple = Simple(words=(), at=node.start_byte)
        for child in node.children:
            if child.type in REDIRECTS:
                simple.words += tuple(self.take(child, simple))
        return simple

    def variable(self, node: Node) -> str:
        """Return the variable that a redirection sets, with its subscript; "" when it sets none."""
        start = node.start_byte
        if self._source[start - 1 : start] not in {b"}", b"\n"}:
            return ""
        found = _BEHIND.search(self._source[max(0, start - _LONGEST_NAME) : start].replace(b"\\\n", b""))
        return "" if found is None else (found[1] + (found[2] or b"")).decode("utf-8", "replace")

    def names_descriptor(self, node: Node) -> bool:
        """Whether a word belongs to the redirection behind it."""
        source = self._source
        return source[node.end_byte : node.end_byte + 1] in {b"<", b">"} and bool(
            _DESCRIPTOR.fullmatch(source, node.start_byte, node.end_byte)
        )

    def _heredoc(self, node: Node, simple: Simple) -> list[Word]:
        words: list[Word] = []
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        for child in node.children:
            if child.type == "heredoc_body":
                body = self._source[child.start_byte : child.end_byte].decode("utf-8", "replace")
                quoted = start is not None and any(
                    c in self._source[start.start_byte : start.end_byte] for c in b"'\"\\"
                )
                simple.stdin = body if quoted else body.replace("\\$", "$").replace("\\`", "`")
                self.quoted += substitutions(body.encode()) if quoted else 0
                simple.stdin_known = quoted or not ("$" in body or "`" in body)
            elif child.type in REDIRECTS:
                words += self.take(child, simple)
            elif node.field_name_for_child(node.children.index(child)) == "argument":
                words += self._expansion.words(child)
        if simple.stdin is None:
            simple.stdin = ""
        return _told_apart(words)


def _told_apart(words: list[Word]) -> list[Word]:
    """Words that stand behind a redirection: where one is not told, there may be more of them, or fewer."""
    return words if all(word.known for word in words) else [Word(UNKNOWN, False), *words]


def _is_descriptor(words: list[Word]) -> bool:
    return len(words) == 1 and bool(re.fullmatch(r"\d+-?|-", words[0].text))
