"""Where bash evaluates text as arithmetic: an expression that holds unknown text may run anything.

`$((x))`, `((…))`, `[[ a -eq b ]]`, subscripts and offsets look up names, and evaluate in turn what these hold; a
subscript in it may hold a command substitution. So an expression is harmless only when it consists of numbers, signs
and names of variables that hold numbers. `let`, `declare -i` and `test -v` are told apart with the other builtins.
"""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from host.policy.shell.expansion import LOOSE, Expansion
from host.policy.shell.values import Values
from host.policy.shell.word import NAMED, NUMBER

_LONGEST_BYTES: Final = 4096  # of an expression that is looked at
_SIGNS: Final = re.compile(rf"[\w\s+\-*/%<>=!&|^~?:,;()#@{NUMBER}]*")
_TOKEN: Final = re.compile(r"\d[\w#@]*|(?P<name>[A-Za-z_]\w*)")
_NUMBER: Final = re.compile(rf"\s*[-+]?[\d{NUMBER}]*\s*")
_ASSIGNED: Final = re.compile(
    r"(?P<before>(?:\+\+|--)\s{0,9})?(?P<name>\b[A-Za-z_]\w*)(?P<behind>\s{0,9}(?:(?:<<|>>|[-+*/%&|^])?=(?!=)|\+\+|--))?"
)
_COMPARING: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_SETTING: Final = frozenset({"-v", "-R"})
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_SET_BY_BASH: Final = frozenset({"REPLY", "OPTARG", "MAPFILE", "BASH_REMATCH", "BASH_COMMAND", "_"})
_OFFSET: Final = re.compile(r"\$\{[!#]?[\w@*]+(?:\[[^\]]*\])?:(?![-=+?])")
_EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"},
)
_RESOLVED: Final = _EXPANSIONS | {"string", "raw_string", "ansi_c_string", "translated_string"}
_PLAIN: Final = re.compile(r"[\w./:@%+=,~-]*")


def is_harmless(text: str, variables: Values) -> bool:
    """Whether evaluating a text looks up nothing but numbers."""
    if not _SIGNS.fullmatch(text):
        return False
    names = {found["name"] for found in _TOKEN.finditer(text) if found["name"]}
    if names & _SET_BY_BASH or (names and variables.holds(LOOSE)):
        return False
    return all(_NUMBER.fullmatch(value) for name in names for value in variables.each(name))


def assigned(text: str) -> list[str]:
    """Return the names that an expression assigns to."""
    return [found["name"] for found in _ASSIGNED.finditer(text) if found["before"] or found["behind"]]


class Evaluated:
    """Tells of the nodes of one text whether evaluating them could run something."""

    def __init__(self, source: bytes, variables: Values, expansion: Expansion) -> None:
        self._source = source
        self._variables = variables
        self._expansion = expansion

    def expression(self, node: Node, end: int | None = None) -> str | None:
        """Return a node's expression, up to `end`, when it is harmless; None when it may run something."""
        text = self._composed(node, node.end_byte if end is None else end)
        text = None if text is None else re.sub(r"^\$?\(\(|^\$\[|^for\s{0,9}\(\(|\)\)$|\]$", "", text)
        return text if text is not None and is_harmless(text, self._variables) else None

    def expansion_runs(self, node: Node) -> bool:
        """Whether `${…}` has a subscript, an offset, an indirection or an operator that may run something."""
        text = self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        if "@P}" in text:
            return True
        head = text[: len("${#") + 200]
        if found := re.match(r"\$\{!(\w+)\}", head):
            values = self._variables.each(found[1])
            return self._variables.holds(LOOSE) or not all(re.fullmatch(r"\w*", value) for value in values)
        if head.startswith("${!") and not re.match(r"\$\{!\w+(?:[@*]|\[[@*]\])\}", head):
            return True
        if not _OFFSET.match(head) and "[" not in re.split(r"[-#%/^,:=+?]", head[3:], maxsplit=1)[0]:
            return False
        composed = self._composed(node, node.end_byte)
        found = (
            None
            if composed is None
            else re.fullmatch(r"\$\{[!#]?[\w@*]+(?:\[(?P<key>[^\]]*)\])?(?P<rest>.*)\}", composed, re.DOTALL)
        )
        if found is None:
            return True
        offset = found["rest"][1:] if re.match(r":(?![-=+?])", found["rest"]) else ""
        return not (
            ((found["key"] or "") in {"@", "*"} or is_harmless(found["key"] or "", self._variables))
            and is_harmless(offset, self._variables)
        )

    def test_runs(self, node: Node) -> bool:
        """Whether `[ … ]` or `[[ … ]]` may run something."""
        if node.end_byte - node.start_byte > _LONGEST_BYTES:
            return True
        doubled = self._source[node.start_byte : node.start_byte + 2] == b"[["
        for each in _outermost(node, frozenset({"binary_expression", "unary_expression"}) | _RESOLVED, inside=True):
            if each.type in {"binary_expression", "unary_expression"}:
                if self._operator_runs(each, doubled=doubled):
                    return True
            elif not doubled and each.type in _EXPANSIONS and not _PLAIN.fullmatch(self._plain(each)):
                return True  # outside quotes it may come to further operators
        return False

    def _operator_runs(self, node: Node, *, doubled: bool) -> bool:
        operators = [self._text(each) for each in node.children if each.type == "test_operator" or not each.is_named]
        operands = [child for child in node.children if child.is_named and child.type != "test_operator"]
        if _SETTING.intersection(operators):
            return not all(_PLAIN_NAME.fullmatch(self._text(each)) for each in operands)
        if not doubled or not _COMPARING.intersection(operators):
            return False
        return any(self.expression(each) is None for each in operands if each.type != "binary_expression")

    def _plain(self, node: Node) -> str:
        return self._expansion.told(node).replace(NUMBER, "1").replace(NAMED, "n")

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _composed(self, node: Node, end: int) -> str | None:
        """A node's source with every expansion in it resolved, but for itself; None when it is too long to look at."""
        if end - node.start_byte > _LONGEST_BYTES:
            return None
        at, parts = node.start_byte, list[str]()
        inner = [node] if node.type in _RESOLVED - {"arithmetic_expansion", "expansion"} else []
        for each in inner or _outermost(node, _RESOLVED, inside=False):
            if each.start_byte >= end:
                break
            parts += [self._source[at : each.start_byte].decode("utf-8", "replace"), self._expansion.told(each)]
            at = each.end_byte
        parts.append(self._source[at:end].decode("utf-8", "replace"))
        return "".join(parts)


def _outermost(node: Node, kinds: frozenset[str], *, inside: bool) -> Iterator[Node]:
    """Yield the nodes of some kinds beneath a node, in order; with `inside`, expressions are looked into as well."""
    cursor = node.walk()
    if not cursor.goto_first_child():
        return
    depth = 1
    while True:
        found = cursor.node
        hit = found is not None and found.type in kinds
        if hit and found is not None:
            yield found
        enter = not hit or (inside and found is not None and found.type.endswith("_expression"))
        if enter and cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            depth -= 1
            if not depth or not cursor.goto_parent():
                return
