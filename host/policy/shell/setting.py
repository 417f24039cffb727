"""What stands around the commands of a text and rules what they do: folders, variables, functions, what they are fed.

A grant of a target holds all that decides (APR-1). A folder that the whole text goes to first is told by its name.
Whatever else could rule a command is not taken apart: such a command is granted only as it stands in its whole text,
and not at all where a part of that is not known. What is plain is a closed list, so that what nobody thought of rules.
"""

import posixpath
import re
from typing import Final

import msgspec
from tree_sitter import Node, TreeCursor

from host.policy.shell.programs import named
from host.policy.shell.simple import Script, Simple
from host.policy.shell.stores import stored
from host.policy.shell.word import Word
from host.policy.shell.wrappers import SHELLS, WRAPPERS, base_name, peel, system_name

_LONGEST_BYTES: Final = 16 * 1024 - 1  # of a text whose commands can be granted; longer ones are asked about each time
_ROOT: Final = "/workspace"
_FIRST: Final = re.compile(rb"\s*cd[ \t]+([A-Za-z0-9_./@+,%][A-Za-z0-9_./@+,%-]*)[ \t]*&&\s*")
_PLAIN_ASSIGNMENT: Final = re.compile(rb"\w+=")
_SINKS: Final = frozenset({b"/dev/null", b"/dev/stdout", b"/dev/stderr", b"/dev/tty"})

# Builtins of the usual shells that change what later commands do or mean.
_RULING: Final = named(
    """
    . alias autoload bind cd chdir declare disable emulate enable eval exec export fc functions getopts hash let limit
    local mapfile popd pushd read readarray readonly set setenv setopt shopt source trap typeset ulimit umask unalias
    unset unsetenv unsetopt zmodload
    """,
)
_READING_IN: Final = frozenset({"read", "mapfile", "readarray", "getopts"})  # what they set is not in the text
_SPECIAL: Final = frozenset({":", "break", "continue", "return", "shift", "times", "exit", "true", "false"})
_NEUTRAL: Final = frozenset(
    {"timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "time", "chronic", "command", "builtin", "env"}
)
_PLAIN_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
_TAKES_TEXT: Final = re.compile(r"-l?c|-cl")
_PLAIN_KINDS: Final = named(
    """
    program list pipeline command command_name word string string_content raw_string ansi_c_string translated_string
    concatenation number redirected_statement file_redirect file_descriptor negated_command comment simple_expansion
    variable_name special_variable_name command_substitution variable_assignment heredoc_redirect herestring_redirect
    heredoc_start heredoc_body heredoc_content heredoc_end
    """,
)
_REDIRECTS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
_APART: Final = frozenset({";", "||", "&"})  # what follows runs also where the folder could not be entered
_STATEMENT: Final = 2  # how deep the statements of a text stand in its tree
_PRINTING: Final = frozenset({"echo", "printf", "yes", "seq", "true", ":"})


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a text does to its own commands."""

    text: str
    folder: str = ""  # that all of it runs in, or none of it; "" where it starts
    ruled: bool = False  # something in it may rule what the commands do
    unknown: bool = False  # not all of that is known
    fed: bool = False  # something is given to its commands as input by a redirection
    fed_unknown: bool = False  # not all of that is known


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What rules one command, from the outermost text inwards."""

    folder: str = ""
    texts: tuple[str, ...] | None = ()  # the texts without which the command is not told; None: not known
    fed: tuple[str, ...] | None = ()  # the same, for a command to which its input matters


def setting_of(script: Script, text: str, outer: Surroundings) -> Setting:
    """Return what a text does to its own commands; `outer` is what rules the command that it was given to."""
    source, root = script.parsed.source, script.parsed.root
    if outer.fed is None or root is None or len(source) > _LONGEST_BYTES or script.given_up or script.hidden:
        return Setting(text=text, ruled=True, unknown=True)
    folder, start = _first_folders(source)
    look = _Look(source, start)
    look.over(root.walk())
    if folder and (look.apart or look.statements > 1):
        folder, look.ruled = "", True
    ruling = [each for each in script.commands if each.at >= start and _rules(each)]
    return Setting(
        text=text,
        folder=folder,
        ruled=look.ruled or bool(ruling),
        unknown=not all(_is_known(each) for each in ruling),
        fed=look.fed,
        fed_unknown=look.fed_unknown or not all(each.stdin_known for each in script.commands),
    )


def placed(simple: Simple, commands: list[Simple], setting: Setting, outer: Surroundings) -> Surroundings:
    """Return what rules a command of a text; `outer` is what rules the command that the text was given to."""
    texts = _with(outer.fed, setting.text, setting.unknown) if setting.ruled else outer.fed
    first, end = simple.upstream
    fed = texts
    if setting.fed or first < end:
        fed = _with(texts, setting.text, setting.fed_unknown or not all(map(_prints, commands[first:end])))
    return Surroundings(folder=joined(outer.folder, setting.folder), texts=texts, fed=fed)


def joined(base: str, folder: str) -> str:
    """Return a folder reached from another, in one spelling; `..` stays, as a link may stand before it."""
    path = folder if folder.startswith("/") else f"{base}/{folder}" if base else folder
    parts = "/".join(part for part in path.split("/") if part not in {"", "."})
    return f"/{parts}" if path.startswith("/") else parts


def inside(folder: str) -> str:
    """Return a folder as it is seen from the workspace's root, "" for that itself."""
    return folder[len(_ROOT) + 1 :] if folder == _ROOT or folder.startswith(f"{_ROOT}/") else folder


def normal(base: str, path: str) -> str:
    """Return the one spelling of a path that is meant in a folder, for telling intents apart (APR-2)."""
    if not path or "://" in path:
        return path
    return inside(posixpath.normpath(posixpath.join(base, path))) or "."


def _with(chain: tuple[str, ...] | None, text: str, unknown: bool) -> tuple[str, ...] | None:  # noqa: FBT001
    if chain is None or unknown:
        return None
    return chain if text in chain else (*chain, text)


def _first_folders(source: bytes) -> tuple[str, int]:
    """Return the folder that a text enters before all else, and where the rest of it starts."""
    folder, at = "", 0
    while found := _FIRST.match(source, at):
        folder, at = joined(folder, found[1].decode()) or ".", found.end()
    return folder, at


class _Look:
    """A look at all nodes of a tree behind the folders that it enters first."""

    def __init__(self, source: bytes, start: int) -> None:
        self._source = source
        self._start = start
        self.ruled = self.fed = self.fed_unknown = self.apart = False
        self.statements = 0

    def over(self, cursor: TreeCursor) -> None:
        """Look; what is found stands in the attributes."""
        above = [False]  # whether what is visited belongs to a redirection, and what stands above it does
        while (node := cursor.node) is not None:
            kind, redirect = node.type, above[-1]
            if node.is_named:
                self.statements += len(above) == _STATEMENT and kind != "comment"
                self._named(node, kind)
                self.fed_unknown |= redirect and kind in _EXPANSIONS
            else:
                self.apart |= kind in _APART
            if cursor.goto_first_child():
                above.append(kind in _REDIRECTS or (redirect and kind not in {"pipeline", "command", "list"}))
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                above.pop()

    def _named(self, node: Node, kind: str) -> None:
        self.ruled |= kind not in _PLAIN_KINDS
        match kind:
            case "command_name":
                # equal plain commands stand in the script once; the others are looked at there
                name = base_name(self._text(node).decode("utf-8", "replace"))
                self.ruled |= node.start_byte >= self._start and name in _RULING
            case "variable_assignment":
                self.ruled |= not _PLAIN_ASSIGNMENT.match(self._text(node))
            case "heredoc_redirect" | "herestring_redirect":
                self.fed = True
            case "file_redirect":
                self._redirect(node)
            case _:
                pass

    def _text(self, node: Node) -> bytes:
        return self._source[node.start_byte : node.end_byte]

    def _redirect(self, node: Node) -> None:
        """Only where a file is begun anew by what a command prints, its name tells all of a redirection."""
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [self._text(child) for child in node.children_by_field_name("destination")]
        numbered = any(child.type == "file_descriptor" for child in node.children)
        descriptor = operator in {">&", "<&"} and all(re.fullmatch(rb"\d+-?|-", text) for text in targets)
        if operator.startswith("<"):
            self.fed = True
        elif not (descriptor or set(targets) <= _SINKS):
            self.ruled |= operator not in {">", ">|"} or numbered


def _rules(simple: Simple) -> bool:
    """Whether a command changes what others do, or runs one under other conditions."""
    words, assigned = simple.words, bool(simple.assignments)
    while words and (name := base_name(words[0].text)) in _NEUTRAL:
        if system_name(words[0].text) != name:
            return True
        peeled = peel(words, WRAPPERS[name])
        if peeled.strange or peeled.unsure or peeled.texts or (len(peeled.own) > 1 and _bends(name, peeled.own)):
            return True
        assigned |= bool(peeled.assignments)
        words = peeled.words
    if not words:
        return assigned
    name = base_name(words[0].text)
    if name in _RULING or stored(words) != () or (name in _SPECIAL and assigned):
        return True
    if name in SHELLS and len(words) > 1 and words[1].text[:1] in {"-", "+"}:
        plain = system_name(words[0].text) in _PLAIN_SHELLS and _TAKES_TEXT.fullmatch(words[1].text)
        return assigned or not plain
    runs = name == "find" and any(word.text.startswith(("-exec", "-ok")) or not word.known for word in words)
    return runs or name in WRAPPERS or (assigned and name in SHELLS)


def _bends(name: str, own: tuple[Word, ...]) -> bool:
    """Whether a wrapper's own words could change what it runs, beyond when, how long and how urgently."""
    return name in {"env", "command", "builtin"} and any(word.text.startswith("-") for word in own[1:])


def _is_known(simple: Simple) -> bool:
    names = {base_name(word.text) for word in simple.words[:3]}
    every = (*simple.words, *(value for _, value in simple.assignments))
    return not names & _READING_IN and all(word.known for word in every)


def _prints(simple: Simple) -> bool:
    """Whether the text tells what a command prints."""
    name = simple.words[0].text if simple.words else ""
    if not simple.stdin_known or not all(word.known for word in simple.words):
        return False
    return name in _PRINTING or (name == "cat" and len(simple.words) == 1)
