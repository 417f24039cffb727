"""The simple commands of a shell text, in the order they stand, each with what reaches it.

It walks the tree once with a cursor, without recursion, so that no nesting overflows it. It knows the shell's grammar
and its variables; it does not know what any program does, but for the few builtins that change those.
"""

import re
from typing import Final

import msgspec
from tree_sitter import Node, TreeCursor

from host.policy.shell.expansion import ALTERNATIVE, Expansion
from host.policy.shell.misreading import misread, substitutions
from host.policy.shell.simple import Script, Simple
from host.policy.shell.syntax import parse
from host.policy.shell.word import UNKNOWN, Word

MOST_COMMANDS: Final = 1_000  # different ones in a text; reading and judging one costs up to 25 µs
_MOST_VALUES: Final = 16  # of a loop's variable that are followed
# A command of plain characters needs no look at its nodes: its words are what blanks leave. `=` would make the first
# word an assignment, and is looked for there.
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_./:,@%+-][A-Za-z0-9_./:,@%+= \t-]*")
_FORK: Final = re.compile(rb"(?<![&>])&(?![&>])|\|")
_HIDDEN: Final = re.compile(rb"\w\[[^\]\n]*(?:\$\(|`)")
_INDIRECT: Final = re.compile(rb"\$\{\w+:?=|\b(?:declare|typeset|local)\s+-\w*n")  # sets a variable out of sight
_AGAIN: Final = re.compile(rb"\b(?:for|while|until|select|function)\b|\(\s*\)")
_ARITHMETIC: Final = re.compile(rb"\(\(|\b(?:let|declare|typeset|local|unset|printf|read|test)\b|\[")


class _Place(msgspec.Struct, frozen=True):
    """Where the cursor is, for what is found there."""

    parent: str = ""
    cwd: str = ""
    function: str = ""
    start: int = -1  # the first command of the pipeline; -1 outside any
    stage: int = -1  # the first command of this stage
    statement: int = 0  # the first command of this statement


def read_script(text: str, variables: dict[str, str] | None = None) -> Script:
    """Return the commands of a text; `variables` are set before it runs. Never raises."""
    parsed = parse(text)
    script = Script(
        commands=[],
        functions={},
        defined={},
        variables={} if variables is None else dict(variables),
        given_up=parsed.given_up,
        hidden=bool(_HIDDEN.search(parsed.source) and _ARITHMETIC.search(parsed.source))
        or bool(_INDIRECT.search(parsed.source)),
    )
    if parsed.root is None:
        return script
    before = dict(script.variables)
    _Walk(script, parsed.source).over(parsed.root.walk())
    if script.variables != before and _AGAIN.search(parsed.source):
        # what a loop or a function sets reaches its own beginning the next time
        script.commands.clear()
        _Walk(script, parsed.source).over(parsed.root.walk())
    if b"unset" in parsed.source:
        script.defined.clear()
    return script


class _Walk:
    """One pass over a tree."""

    def __init__(self, script: Script, source: bytes) -> None:
        self._script = script
        self._commands = script.commands
        self._source = source
        self._expansion = Expansion(source, script.variables)
        self._place = _Place()
        self._pending: dict[int, Simple] = {}  # redirections that were met before their command, by its start
        self._seen: set[tuple[bytes, str, str]] = set()
        self._unseen = substitutions(source)  # signs of a substitution that the tree did not show yet

    def over(self, cursor: TreeCursor) -> None:
        """Visit every node that matters."""
        above: list[_Place | None] = []
        while True:
            node = cursor.node
            if node is None:
                return
            kind = node.type
            place = None
            if kind in _NOTED:
                self._note(node, kind, top=len(above) == 1)
            if kind in _ENTERED:
                place = self._place
                descend = self._enter(node, kind)
            else:
                descend = kind not in _LEAVES
            if len(self._commands) > MOST_COMMANDS:
                self._script.given_up = f"it holds more than {MOST_COMMANDS} different commands"
                return
            if descend and cursor.goto_first_child():
                above.append(place)
                continue
            if place is not None:
                self._leave(place)
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    # the grammar leaves some places unread (backquotes in here-documents): nothing may hide there
                    self._script.hidden |= self._unseen > 0
                    return
                left = above.pop()
                if left is not None:
                    self._leave(left)

    def _note(self, node: Node, kind: str, *, top: bool) -> None:
        """Take note of a sign, a quoted place or a function, whatever is done with it otherwise."""
        if kind in {"|", "|&"}:
            if self._place.parent == "pipeline":
                self._place = msgspec.structs.replace(self._place, stage=len(self._commands))
        elif kind == "function_definition":
            if top:
                self._top_function(node)
        elif self._unseen:
            self._unseen -= substitutions(self._source[node.start_byte : node.end_byte])

    def _enter(self, node: Node, kind: str) -> bool:
        """Take note of a node; return whether to look inside."""
        place = self._place
        count = len(self._commands)
        start, stage, statement, function = place.start, place.stage, place.statement, place.function
        descend = True
        match kind:
            case "command":
                descend = self._command(node)
            case "declaration_command" | "unset_command":
                self._declaration(node)
            case "variable_assignment":
                if place.parent not in {"command", "declaration_command"}:
                    self._emit(Simple(words=(), assignments=(self._assignment(node),), at=node.start_byte))
            case "redirected_statement":
                statement = count
                self._redirected(node)
            case "pipeline":
                if stage <= start:
                    first = node.children[0].type if node.child_count else ""
                    start = stage = statement if first in {"|", "|&"} else count
            case "command_substitution":
                start = stage = -1
            case "process_substitution":
                outward = node.child_count > 0 and node.children[0].type == ">("
                start, stage = (start if start >= 0 else max(0, count - 1), count) if outward else (-1, -1)
            case "function_definition":
                function = self._function(node)
            case "for_statement":
                self._loop(node)
            case _:
                pass  # subshell: its place is remembered, so that its `cd` ends with it
        cwd = self._place.cwd
        self._place = _Place(kind, cwd, function, start, stage, statement)
        return descend

    def _leave(self, place: _Place) -> None:
        kept = self._place.cwd if self._place.parent not in _OWN_FOLDER else place.cwd
        self._place = msgspec.structs.replace(place, cwd=kept)

    def _emit(self, simple: Simple) -> None:
        place = self._place
        simple.cwd, simple.function = place.cwd, place.function
        if place.stage > place.start >= 0:
            simple.upstream = (place.start, place.stage)
        self._commands.append(simple)

    def _command(self, node: Node) -> bool:
        source = self._source[node.start_byte : node.end_byte]
        pending = self._pending.pop(node.start_byte, None)
        if pending is None and _PLAIN.fullmatch(source) and b"=" not in source.split(None, 1)[0]:
            if self._place.start < 0:
                key = (source, self._place.cwd, self._place.function)
                if key in self._seen:
                    return False
                self._seen.add(key)
            simple = Simple(words=tuple(map(Word, source.decode().split())), at=node.start_byte)
            self._emit(simple)
            self._builtin(simple.words)
            return False
        simple = self._spelled(node)
        if pending is not None:
            simple.words += pending.words
            simple.writes += pending.writes
            if simple.stdin is None:
                simple.stdin, simple.stdin_known = pending.stdin, pending.stdin_known
        self._emit(simple)
        self._builtin(simple.words)
        return True

    def _spelled(self, node: Node) -> Simple:
        """A command whose words have to be resolved."""
        words: list[Word] = []
        simple = Simple(words=(), at=node.start_byte)
        end = node.start_byte
        for child in node.children:
            kind = child.type
            self._script.hidden |= misread(self._source, end, child, kind)
            end = child.end_byte
            if kind == "variable_assignment":
                simple.assignments += (self._assignment(child),)
            elif kind in _REDIRECTS:
                words += self._redirect(child, simple)
            elif kind != "$":  # of `$"…"`, a translated string
                words += self._expansion.words(child)
        simple.words = tuple(words)
        return simple

    def _declaration(self, node: Node) -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child))
            else:
                words += self._expansion.words(child)
        for word in words[1:]:
            name, equals, value = word.text.partition("=")
            if equals and node.type == "declaration_command":  # `export "x=y"` is an assignment too
                self._set(name, value)
                assignments.append((name, Word(value, word.known)))
        self._emit(Simple(words=tuple(words), assignments=tuple(assignments), at=node.start_byte))

    def _assignment(self, node: Node) -> tuple[str, Word]:
        name, _, rest = self._source[node.start_byte : node.end_byte].decode("utf-8", "replace").partition("=")
        name = name.rstrip("+").partition("[")[0]
        value = node.child_by_field_name("value")
        if value is None:
            text = ""
        elif value.type == "array":
            items = [self._expansion.value(item) for item in value.children[:_MOST_VALUES] if item.is_named]
            text = " ".join(items)
        else:
            text = self._expansion.value(value)
        self._set(name, text)
        return name, Word(text, value is None or value.type in {"word", "raw_string", "number"}, rest)

    def _set(self, name: str, text: str) -> None:
        """A variable that gets several values may hold any of them: the text does not tell which assignment runs."""
        before = self._script.variables.get(name)
        values = [] if before is None else before.split(ALTERNATIVE)
        if text not in values:
            values += [text]
        self._script.variables[name] = ALTERNATIVE.join(values) if len(values) <= _MOST_VALUES else UNKNOWN

    def _redirected(self, node: Node) -> None:
        """Hand a statement's redirections to the command they belong to, or let them stand alone."""
        simple = Simple(words=(), at=node.start_byte)
        words: list[Word] = []
        body = node.child_by_field_name("body")
        for child in node.children:
            if child.type in _REDIRECTS:
                words += self._redirect(child, simple)
        simple.words = tuple(words)
        while body is not None and body.type in {"list", "pipeline", "negated_command"} and body.named_child_count:
            body = body.named_children[-1]
        if body is not None and body.type == "command":
            self._pending[body.start_byte] = simple
        elif simple.writes:
            simple.words = ()
            self._emit(simple)

    def _redirect(self, node: Node, simple: Simple) -> list[Word]:
        """Note one redirection; return the arguments that the grammar counts to it."""
        if node.type == "herestring_redirect":
            words = self._expansion.words(node.children[-1])
            simple.stdin = " ".join(word.text for word in words)
            simple.stdin_known = all(word.known for word in words)
            return []
        if node.type == "heredoc_redirect":
            return self._heredoc(node, simple)
        operator = next((child.type for child in node.children if child.type in _OPERATORS), "")
        targets = [self._expansion.words(child) for child in node.children_by_field_name("destination")]
        first = targets[0] if targets else []
        if any(word.text.startswith(("/dev/tcp/", "/dev/udp/")) for word in first):
            simple.writes += tuple(first)  # a connection
        elif _OPERATORS.get(operator, False) and not (operator in {">&", "<&"} and _is_descriptor(first)):
            simple.writes += tuple(first)
        return [word for words in targets[1:] for word in words]

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
                self._unseen -= substitutions(body.encode()) if quoted else 0
                simple.stdin_known = quoted or not ("$" in body or "`" in body)
            elif child.type in _REDIRECTS:
                words += self._redirect(child, simple)
            elif node.field_name_for_child(node.children.index(child)) == "argument":
                words += self._expansion.words(child)
        if simple.stdin is None:
            simple.stdin = ""
        return words

    def _function(self, node: Node) -> str:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        name = "" if name_node is None else self._expansion.value(name_node)
        self._script.functions[name] = b"" if body is None else self._source[body.start_byte : body.end_byte]
        return name

    def _top_function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self._script.defined.setdefault(self._expansion.value(name), node.start_byte)

    def _loop(self, node: Node) -> None:
        name = node.child_by_field_name("variable")
        values = node.children_by_field_name("value")
        if name is None:
            return
        texts = [word.text for value in values[:_MOST_VALUES] for word in self._expansion.words(value)]
        text = ALTERNATIVE.join(texts) if values else UNKNOWN
        variable = self._expansion.value(name)
        self._set(variable, text)
        self._emit(Simple(words=(), assignments=((variable, Word(text, known=False)),), at=node.start_byte))

    def _builtin(self, words: tuple[Word, ...]) -> None:
        """Follow the builtins that change the folder or a variable."""
        names = [word.text for word in words]
        while names and names[0] in {"builtin", "command", "\\cd"}:
            names = names[1:]
        if not names:
            return
        match names[0]:
            case "cd" | "pushd" | "popd":
                targets = [name for name in names[1:] if not name.startswith("-")]
                folder = targets[0] if targets else "~" if names[0] == "cd" and len(names) == 1 else ""
                if folder and not folder.startswith(("/", "~")):
                    folder = f"{self._place.cwd}/{folder}" if self._place.cwd else ""
                self._place = msgspec.structs.replace(self._place, cwd=folder)
            case "read" | "mapfile" | "readarray" | "getopts":
                self._script.variables |= dict.fromkeys((n for n in names[1:] if n.isidentifier()), UNKNOWN)
            case "printf" if "-v" in names[1:2] and names[2:]:
                self._script.variables[names[2]] = UNKNOWN
            case "set":
                self._script.variables |= {str(at): n for at, n in enumerate(names[2:], 1)} if "--" in names else {}
                if "--" in names:
                    self._script.variables["@"] = self._script.variables["*"] = " ".join(names[names.index("--") + 1 :])
            case _:
                pass


def forks(name: str, body: bytes) -> bool:
    """Whether a function of that name and body calls itself more than once, at the same time (a fork bomb)."""
    calls = re.findall(rb"(?<![\w./-])" + re.escape(name.encode()) + rb"(?![\w./-])", body)
    return len(calls) > 1 and bool(_FORK.search(body))


def _is_descriptor(words: list[Word]) -> bool:
    return len(words) == 1 and bool(re.fullmatch(r"\d+-?|-", words[0].text))


_REDIRECTS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_OPERATORS: Final = {
    ">": True,
    ">>": True,
    ">|": True,
    "&>": True,
    "&>>": True,
    ">&": True,
    "<>": True,
    "<": False,
    "<&": False,
    "<&-": False,
    ">&-": False,
}
_ENTERED: Final = frozenset(
    {
        "command",
        "declaration_command",
        "unset_command",
        "variable_assignment",
        "redirected_statement",
        "pipeline",
        "command_substitution",
        "process_substitution",
        "function_definition",
        "for_statement",
        "subshell",
    },
)
_OWN_FOLDER: Final = frozenset({"subshell", "command_substitution", "process_substitution"})
_NOTED: Final = frozenset(
    {"`", "$(", "$((", "raw_string", "ansi_c_string", "comment", "|", "|&", "function_definition"}
)
_LEAVES: Final = frozenset({"comment", "word", "raw_string", "number", "string_content"})
