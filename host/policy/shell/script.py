"""The simple commands of a shell text, in the order they stand, each with what reaches it.

It walks the tree once with a cursor, without recursion, so that no nesting overflows it. It knows the shell's grammar
and its variables; it does not know what any program does, but for the few builtins that change those.
"""

import re
from typing import Final

import msgspec
from tree_sitter import Node, TreeCursor

from host.policy.shell.arithmetic import Evaluated
from host.policy.shell.expansion import Expansion
from host.policy.shell.kinds import ENTERED, LEAVES, NOTED, OWN_FOLDER, REDIRECTS
from host.policy.shell.misreading import Misreading, misread
from host.policy.shell.redirections import Redirections
from host.policy.shell.simple import Script, Simple
from host.policy.shell.syntax import parse
from host.policy.shell.values import Values
from host.policy.shell.variables import Variables
from host.policy.shell.word import MARKS, UNKNOWN, Word

MOST_COMMANDS: Final = 1_000  # different ones in a text; reading and judging one costs up to 25 µs
_MOST_FORMS: Final = 16  # of one command, for the values its variables may have
# A command of plain characters needs no look at its nodes: its words are what blanks leave. `=` would make the first
# word an assignment, and is looked for there.
_MOST_WORDS: Final = 5_000  # of all commands that are more than plain characters; each costs up to 20 µs
_MANY_WORDS: Final = 40  # of a command for which that is not done: it would cost too much
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_./:,@%+-][A-Za-z0-9_./:,@%+= \t-]*")
_HIDDEN: Final = re.compile(rb"\w\[[^\]\[\n]*(?:\$\(|`)")
# Sets a variable out of sight, or uses signs that stand for something here.
_INDIRECT: Final = re.compile(
    rb"\$\{\w+(?:\[[^\]\[]{0,99}\])?:?=|\b(?:declare|typeset|local|export|readonly)\s{1,9}-\w*n"
    rb"|\xee\x9f[\xb9-\xbf]|\xee\x83\xb0|\xef\xa3\xb0|\xef\xbf[\xb9-\xbc]"
)
_AGAIN: Final = re.compile(rb"\b(?:for|while|until|select|function)\b|\(\s{0,9}\)|\btrap\b")
_ARRAYS: Final = re.compile(rb"=\(|\]\+?=|-\w*[aA]|\b(?:mapfile|readarray)\b")
_ARITHMETIC: Final = re.compile(rb"\(\(|\b(?:let|declare|typeset|local|unset|printf|read|test)\b|\[")


class _Place(msgspec.Struct, frozen=True):
    """Where the cursor is, for what is found there."""

    parent: str = ""
    cwd: str = ""
    function: str = ""
    start: int = -1  # the first command of the pipeline; -1 outside any
    stage: int = -1  # the first command of this stage
    statement: int = 0  # the first command of this statement
    fed: tuple[str, bool] | None = None  # the text that a statement around gives it, and whether it is literal


def read_script(text: str, variables: dict[str, str] | None = None) -> Script:
    """Return the commands of a text; `variables` are set before it runs. Never raises."""
    parsed, before = parse(text), variables or {}
    values = Values(before)
    script = Script(
        commands=[],
        functions={},
        defined={},
        variables=values,
        given_up=parsed.given_up,
        parsed=parsed,
        evaluates="",
        hidden=bool(_HIDDEN.search(parsed.source) and _ARITHMETIC.search(parsed.source))
        or bool(_INDIRECT.search(parsed.source)),
    )
    if parsed.root is None:
        return script
    _Walk(script, values, parsed.source).over(parsed.root.walk())
    if values.seen_too_early() and _AGAIN.search(parsed.source):
        # what a loop or a function sets reaches its own beginning the next time
        script.commands.clear()
        walk = _Walk(script, values, parsed.source)
        walk.over(parsed.root.walk())
        if values.seen_too_early():  # and so on: it could be any of too many
            walk.variables.give_up(before)
            script.commands.clear()
            _Walk(script, values, parsed.source).over(parsed.root.walk())
    if b"unset" in parsed.source:
        script.defined.clear()
    return script


class _Walk:
    """One pass over a tree."""

    def __init__(self, script: Script, values: Values, source: bytes) -> None:
        self._script = script
        self._commands = script.commands
        self._source = source
        self._expansion = Expansion(source, values)
        self.variables = Variables(script, values, source, self._expansion)
        self._evaluated = Evaluated(source, values, self._expansion)
        self._redirections = Redirections(source, self._expansion)
        self._place = _Place()
        self._pending: dict[int, Simple] = {}  # redirections that were met before their command, by its start
        self._seen: set[tuple[bytes, str, str, tuple[str, bool] | None]] = set()
        self._misreading = Misreading(source, whole=not script.given_up)

    def over(self, cursor: TreeCursor) -> None:
        """Visit every node that matters."""
        above: list[_Place | None] = []
        every, met = self._misreading.every, self._misreading.kinds
        while True:
            node = cursor.node
            if node is None:
                return
            kind = node.type
            place = None
            if every or kind in met:
                self._misreading.meet(node, kind)
            if kind in NOTED:
                self._note(node, kind, top=len(above) == 1)
            if kind in ENTERED:
                place = self._place
                descend = self._enter(node, kind)
                if len(self._commands) > MOST_COMMANDS:
                    self._script.given_up = f"it holds more than {MOST_COMMANDS} different commands"
                    return
            else:
                descend = kind not in LEAVES
            if descend and cursor.goto_first_child():
                above.append(place)
                continue
            if place is not None:
                self._leave(place)
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    self._script.hidden |= self._misreading.found(self._redirections.quoted)
                    return
                left = above.pop()
                if left is not None:
                    self._leave(left)

    def _note(self, node: Node, kind: str, *, top: bool) -> None:
        """Take note of a pipe, a function, a redirection or an evaluation, whatever is done with it otherwise."""
        if kind in {"|", "|&"}:
            if self._place.parent == "pipeline":
                self._place = msgspec.structs.replace(self._place, stage=len(self._commands))
        elif kind == "function_definition":
            if top:
                self._top_function(node)
        elif kind in REDIRECTS:
            self._stray(node)
            self._opened(node)
        else:
            self._evaluate(node, kind)

    def _enter(self, node: Node, kind: str) -> bool:
        """Take note of a node; return whether to look inside."""
        place = self._place
        count = len(self._commands)
        start, stage, statement, function, fed = place.start, place.stage, place.statement, place.function, place.fed
        descend = True
        match kind:
            case "command":
                descend = self._command(node)
            case "declaration_command" | "unset_command":
                self._declaration(node)
            case "variable_assignment":
                if place.parent not in {"command", "declaration_command"}:
                    self._sets(self.variables.assigned(node), node)
            case "redirected_statement":
                statement = count
                fed = self._redirected(node) or fed
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
                fed = self._alone(self._redirections.take_all(node)) or fed
            case "for_statement":
                self._loop(node)
            case _:
                pass  # subshell: its place is remembered, so that its `cd` ends with it
        cwd = self._place.cwd
        self._place = _Place(kind, cwd, function, start, stage, statement, fed)
        return descend

    def _leave(self, place: _Place) -> None:
        kept = self._place.cwd if self._place.parent not in OWN_FOLDER else place.cwd
        self._place = msgspec.structs.replace(place, cwd=kept)

    def _emit(self, simple: Simple) -> None:
        place = self._place
        simple.cwd, simple.function = place.cwd, place.function
        if place.stage > place.start >= 0:
            simple.upstream = (place.start, place.stage)
        elif place.fed is not None and simple.stdin is None:
            simple.stdin, simple.stdin_known = place.fed
        self._commands.append(simple)

    def _sets(self, assignments: tuple[tuple[str, Word], ...], node: Node) -> None:
        """Take note of variables that are set beside what commands set."""
        if assignments:
            self._emit(Simple(words=(), assignments=assignments, at=node.start_byte))

    def _command(self, node: Node) -> bool:
        source = self._source[node.start_byte : node.end_byte]
        pending = self._pending.pop(node.start_byte, None)
        if pending is None and _PLAIN.fullmatch(source) and b"=" not in source.split(None, 1)[0]:
            if self._place.start < 0:
                key = (source, self._place.cwd, self._place.function, self._place.fed)
                if key in self._seen:
                    return False
                self._seen.add(key)
            simple = Simple(words=tuple(map(Word, source.decode().split())), at=node.start_byte)
            self._emit(simple)
            self._builtin(simple.words)
            return False
        forms = self._spelled(node)
        for simple in forms:
            if pending is not None:
                simple.words += pending.words
                simple.writes += pending.writes
                if simple.stdin is None:
                    simple.stdin, simple.stdin_known = pending.stdin, pending.stdin_known
            self._emit(simple)
            self._builtin(simple.words)
        if len(forms) > 1 and forms[0].words and forms[0].words[0].text in {"cd", "pushd"}:
            self._place = msgspec.structs.replace(self._place, cwd=UNKNOWN)
        return True

    def _spelled(self, node: Node) -> list[Simple]:
        """A command whose words have to be resolved: one for each set of values that its variables may have."""
        forms: list[list[Word]] = [[]]
        most = _MOST_FORMS if node.child_count <= _MANY_WORDS else 1
        simple = Simple(words=(), at=node.start_byte)
        end = node.start_byte
        for child in node.children:
            kind = child.type
            self._script.hidden |= misread(self._source, end, child, kind)
            end = child.end_byte
            if kind == "variable_assignment":
                simple.assignments += self.variables.assigned(child)
                continue
            if kind == "$" or self._redirections.names_descriptor(child):  # of `$"…"`, a translated string
                continue
            if self._expansion.spent > _MOST_WORDS:
                self._script.given_up = f"it holds more than {_MOST_WORDS} words"
                return []
            choices = [self._redirections.take(child, simple)] if kind in REDIRECTS else self._expansion.choices(child)
            if child.end_byte != node.end_byte and self._expansion.may_vanish(child):
                choices = [*choices, []]
            if len(choices) * len(forms) > most:
                choices = [[Word(UNKNOWN, False), *(word for words in choices for word in words)]]
            if len(choices) > 1:
                forms = [[*form, *words] for form in forms for words in choices]
            else:
                for each in forms:
                    each.extend(choices[0])
        return [msgspec.structs.replace(simple, words=tuple(form)) for form in forms]

    def _evaluate(self, node: Node, kind: str) -> None:
        """Look at text that bash evaluates: it may run what it holds, and set variables."""
        if kind == "compound_statement" and not self._source.startswith(b"((", node.start_byte):
            return
        texts = self._evaluated.expressions(node)
        if texts is None:
            self._script.evaluates = "it evaluates text that is not known as arithmetic, a subscript or a prompt"
        for text in texts or ():
            self._sets(self.variables.numbered(text), node)

    def _declaration(self, node: Node) -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        end = -1
        for child in node.children:
            self._script.hidden |= child.start_byte == end  # one word to bash, two to the grammar
            end = child.end_byte
            if child.type == "variable_assignment":
                assignments += self.variables.assigned(child)
                given = child.child_by_field_name("value")
                if given is not None and given.type != "array":
                    self._declares(self._expansion.values(given))
            else:
                words += self._expansion.words(child)
                if child.type == "variable_name" and words[0].text in {"local", "declare", "typeset"}:
                    self.variables.hold(words[-1].text, "")
        for word in words[1:]:
            name, equals, value = word.text.partition("=")
            if equals and node.type == "declaration_command":  # `export "x=y"` is an assignment too
                self.variables.hold(name.removesuffix("+"), value, UNKNOWN)
                assignments.append((name.removesuffix("+"), Word(value, word.known)))
                self._declares([value])
        self._emit(Simple(words=tuple(words), assignments=tuple(assignments), at=node.start_byte))

    def _declares(self, texts: list[str]) -> None:
        """What is declared to be an array is evaluated as a list of words when it stands in parentheses."""
        arrays = bool(_ARRAYS.search(self._source))
        if any(text.startswith(("(", *MARKS) if arrays else "(") for text in texts):
            self._script.evaluates = "it may evaluate text that is not known as the words of an array"

    def _redirected(self, node: Node) -> tuple[str, bool] | None:
        """Hand a statement's redirections to the command they belong to, or let them stand alone.

        Return the text that they give to all that a statement of more than one command holds.
        """
        body = node.child_by_field_name("body")
        simple = self._redirections.take_all(node)
        while body is not None and body.type in {"list", "pipeline", "negated_command"} and body.named_child_count:
            body = body.named_children[-1]
        if body is not None and body.type == "command":
            self._pending[body.start_byte] = simple
            return None
        return self._alone(simple)

    def _alone(self, simple: Simple) -> tuple[str, bool] | None:
        """Let redirections stand alone; return the text that they give."""
        self._script.hidden |= bool(simple.words)  # to bash they belong to what stands before
        simple.words = ()
        if simple.writes:
            self._emit(simple)
        return None if simple.stdin is None else (simple.stdin, simple.stdin_known)

    def _stray(self, node: Node) -> None:
        """Let a redirection stand alone that belongs to no statement: `$(> file)`."""
        if node.start_byte not in self._redirections.taken:
            simple = Simple(words=(), at=node.start_byte)
            self._redirections.take(node, simple)
            self._alone(simple)

    def _opened(self, node: Node) -> None:
        """Follow the variable that a redirection sets to the number of the descriptor that it opens."""
        name, subscript, _ = self._redirections.variable(node).partition("[")
        if subscript:
            self._script.evaluates = "a subscript may evaluate text that is not known"
        elif name:
            self._sets(self.variables.numbered(f"{name}=1"), node)

    def _function(self, node: Node) -> str:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        name = "" if name_node is None else self._expansion.value(name_node)
        # of several of one name, any may be called
        self._script.functions[f"{name}\0{node.start_byte}"] = (
            b"" if body is None else self._source[body.start_byte : body.end_byte]
        )
        return name

    def _top_function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self._script.defined.setdefault(self._expansion.value(name), node.start_byte)

    def _loop(self, node: Node) -> None:
        if (assigned := self.variables.loop(node)) is not None:
            self._sets((assigned,), node)

    def _builtin(self, words: tuple[Word, ...]) -> None:
        """Follow the builtins that change the folder or a variable."""
        self.variables.builtin(words)
        names = [word.text for word in words]
        while names and names[0] in {"builtin", "command", "\\cd"}:
            names = names[1:]
        if names and names[0] in {"cd", "pushd", "popd"}:
            targets = [name for name in names[1:] if not name.startswith("-")]
            folder = targets[0] if targets else "~" if names[0] == "cd" and len(names) == 1 else ""
            if folder and not folder.startswith(("/", "~", *MARKS)):
                folder = f"{self._place.cwd}/{folder}" if self._place.cwd else ""
            self._place = msgspec.structs.replace(self._place, cwd=folder)
