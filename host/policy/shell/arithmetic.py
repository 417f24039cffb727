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
    r"(?P<before>(?:\+\+|--)\s*)?(?P<name>\b[A-Za-z_]\w*)(?P<behind>\s*(?:(?:<<|>>|[-+*/%&|^])?=(?!=)|\+\+|--))?"
)
_COMPARING: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_SETTING: Final = frozenset({"-v", "-R"})
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_SET_BY_BASH: Final = frozenset({"REPLY", "OPTARG", "MAPFILE", "BASH_REMATCH", "BASH_COMMAND", "_"})
_OFFSET: Final = re.compile(r"\$\{[!#]?[\w@*]+(?:\[[^\]]*\])?:(?![-=+?])")
_EXPANDED: Final = re.compile(r"\$\{[!#]?[\w@*]+(?:\[(?P<key>[^\]]*)\])?(?P<rest>.*)\}", re.DOTALL)
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
    """Tells of the nodes of one text what evaluating them evaluates, and whether it could run something."""

    def __init__(self, source: bytes, variables: Values, expansion: Expansion) -> None:
        self._source = source
        self._variables = variables
        self._expansion = expansion

    def expressions(self, node: Node) -> list[str] | None:
        """Return the texts that bash evaluates in a node; None where one of them may run something."""
        match node.type:
            case "expansion":
                texts = self._of_expansion(node)
            case "test_command":
                texts = self._of_test(node)
            case _:
                body = node.child_by_field_name("body")
                texts = [self._expression(node, node.end_byte if body is None else body.start_byte)]
        if texts is None:
            return None
        told = [text for text in texts if text is not None and is_harmless(text, self._variables)]
        return told if len(told) == len(texts) else None

    def _expression(self, node: Node, end: int) -> str | None:
        text = self._composed(node, end)
        return None if text is None else re.sub(r"^\$?\(\(|^\$\[|^for\s{0,9}\(\(|\)\)$|\]$", "", text)

    def _of_expansion(self, node: Node) -> list[str | None] | None:
        """The subscript and the offsets of `${…}`; None where an indirection or an operator may run something."""
        text = self._text(node)
        if "@P}" in text:
            return None
        head = text[: len("${#") + 200]
        if found := re.match(r"\$\{!(\w+)\}", head):
            values = self._variables.each(found[1])
            loose = self._variables.holds(LOOSE) or not all(re.fullmatch(r"\w*", value) for value in values)
            return None if loose else []
        if head.startswith("${!") and not re.match(r"\$\{!\w+(?:[@*]|\[[@*]\])\}", head):
            return None
        if not _OFFSET.match(head) and "[" not in re.split(r"[-#%/^,:=+?]", head[3:], maxsplit=1)[0]:
            return []
        composed = self._composed(node, node.end_byte)
        found = None if composed is None else _EXPANDED.fullmatch(composed)
        if found is None:
            return None
        key = found["key"] or ""
        offset = found["rest"][1:] if re.match(r":(?![-=+?])", found["rest"]) else ""
        return ["" if key in {"@", "*"} else key, offset]

    def _of_test(self, node: Node) -> list[str | None] | None:
        """What `[ … ]` or `[[ … ]]` compares as numbers; None where it may run something."""
        if node.end_byte - node.start_byte > _LONGEST_BYTES:
            return None
        doubled = self._source[node.start_byte : node.start_byte + 2] == b"[["
        texts: list[str | None] = []
        for each in _outermost(node, frozenset({"binary_expression", "unary_expression"}) | _RESOLVED, inside=True):
            if each.type in {"binary_expression", "unary_expression"}:
                compared = self._compared(each, doubled=doubled)
                if compared is None:
                    return None
                texts += compared
            elif not doubled and each.type in _EXPANSIONS and not _PLAIN.fullmatch(self._plain(each)):
                return None  # outside quotes it may come to further operators
        return texts

    def _compared(self, node: Node, *, doubled: bool) -> list[str | None] | None:
        operators = [self._text(each) for each in node.children if each.type == "test_operator" or not each.is_named]
        operands = [child for child in node.children if child.is_named and child.type != "test_operator"]
        if _SETTING.intersection(operators):
            return [] if all(_PLAIN_NAME.fullmatch(self._text(each)) for each in operands) else None
        if not doubled or not _COMPARING.intersection(operators):
            return []
        return [self._expression(each, each.end_byte) for each in operands if each.type != "binary_expression"]

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
