"""What the aux model may be asked about before a person is, and all that it sees of it (APR-6).

Both are arithmetic over the parsed call and rest on no model's word: a call that is not let through here is a person's
question whatever an aux model would say of it. An argument is written by a model that may be under someone else's
control, and words that plead for a call are as easily put there as anywhere. So paths and the words of commands are
shown where they are few and plain; every other text (contents to be written, patterns) is told by its length alone,
since a digest would tell a judge nothing.

Commands are let through by a closed list: what only reads, and the usual programs of building, testing and formatting
with their usual words, written as plain words alone. A list of what must not be asked would be a game that nobody
wins: every program has its own way to remove, to overwrite, or to take its orders from a text that is not shown.
"""

import re
from typing import Any, Final, cast

import msgspec

from host.gate.stages import Registered
from host.passport import Effect
from host.policy.policy import PERHAPS, Call, Ruling
from host.policy.shell.command import Command

_MOST_COMMANDS: Final = 10  # a text of more is no small thing
_MOST_WORDS: Final = 10  # of one command: with more a plea would be told in plain words
_MOST_PATH: Final = 100  # characters
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./@%+=:,~^-]+")  # no blank, no quote, no bracket: hardly a sentence
# Words that are run one after the other: no pipe, redirection, expansion, quote or background, in which a text would
# stand or go that is not shown.
_PLAIN_SCRIPT: Final = re.compile(r"(?:[A-Za-z0-9_./@%+=:,^ \t\n;-]|&&)+")
_ADMINISTRATOR: Final = "administrator:"  # begins the rules of one who wants a person, which no group can hand on
_HANDLE: Final = "«secret:".encode()
_ANY: Final = frozenset({"*"})  # the first word may be any
_QUIET: Final = frozenset({"-q", "-v"})


class _Usual(msgspec.Struct, frozen=True):
    """How a program is used to build, test, format or add."""

    first: frozenset[str] = _ANY  # what its first word may be
    options: frozenset[str] = _QUIET


_USUAL: Final = {
    "make": _Usual(options=frozenset({"-j", "-j2", "-j4", "-j8", "-k"})),
    "ninja": _Usual(options=frozenset({"-v", "-j2", "-j4", "-j8"})),
    "cargo": _Usual(frozenset({"build", "check", "clippy", "doc", "fmt", "test"}), _QUIET | {"--release", "--all"}),
    "go": _Usual(frozenset({"build", "fmt", "test", "vet"}), frozenset({"-v"})),
    "npm": _Usual(frozenset({"test"})),
    "pnpm": _Usual(frozenset({"test"})),
    "yarn": _Usual(frozenset({"test"})),
    "mvn": _Usual(frozenset({"compile", "package", "test", "verify"}), frozenset({"-q"})),
    "gradle": _Usual(frozenset({"build", "check", "test"}), frozenset({"-q"})),
    "dotnet": _Usual(frozenset({"build", "format", "test"}), frozenset()),
    "pytest": _Usual(options=_QUIET | {"-x", "-s"}),
    "mypy": _Usual(options=frozenset({"--strict"})),
    "ruff": _Usual(frozenset({"check", "format"}), frozenset({"--fix", "--check"})),
    "black": _Usual(options=_QUIET | {"--check"}),
    "isort": _Usual(options=_QUIET),
    "mkdir": _Usual(options=frozenset({"-p"})),
    "touch": _Usual(options=frozenset()),
    "git": _Usual(frozenset({"add", "commit", "init"}), _QUIET | {"-a", "-m", "-am", "-A"}),
}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One call as the aux model sees it."""

    call: str  # the host's id of it, which is not shown
    shown: dict[str, Any]  # plain JSON


def case_of(registered: Registered, call: Call, ruling: Ruling, *, reaching: bool) -> Case | None:
    """Return what the aux model may be asked; None: only a person may answer.

    `reaching` says that commands have a way beyond the machine, so that any of them might send something.
    """
    if not (_low_risk(registered, call, ruling) and _within(registered, call)):
        return None
    shown: dict[str, Any] = {
        "tool": registered.passport.name,
        "class": registered.passport.effect.value,
        "what_may_happen": ruling.may_happen,
    }
    arguments = cast("dict[str, Any]", msgspec.to_builtins(registered.arguments))
    if registered.passport.command:
        commands = None if reaching else _commands(registered, arguments.pop(registered.passport.command))
        if commands is None:
            return None
        shown["commands"] = commands
    for name in registered.passport.paths:
        if arguments.get(name) and not _plain(str(arguments[name])):
            return None
    told = {name: value if name in registered.passport.paths else _told(value) for name, value in arguments.items()}
    return Case(call=registered.requested.call, shown={**shown, "arguments": told})


def _low_risk(registered: Registered, call: Call, ruling: Ruling) -> bool:
    """Say whether the class of the call, and why it is asked about, leave it to anyone but a person."""
    if ruling.rule.startswith((_ADMINISTRATOR, PERHAPS)) or call.floor or call.once_only or call.unclear or call.bare:
        return False  # POL-9 among them: raising rights, running a download
    match registered.passport.effect:
        case Effect.PURE | Effect.READ:
            return True
        case Effect.WRITE:
            return registered.passport.reversible
        case Effect.EXECUTE:
            return registered.analysis is not None  # programs of other tools are not known by their commands
        case _:
            return False  # send, spend, destroy, and whatever class comes later


def _within(registered: Registered, call: Call) -> bool:
    """Say whether the call stays on this machine and the group's lists (BOX-6), is no person's word and no secret's."""
    passport = registered.passport
    outward = call.crossing or registered.destination or registered.hosts or registered.package or passport.network
    return not (outward or passport.server or passport.person_waits or _HANDLE in registered.canonical)


def _commands(registered: Registered, text: str) -> list[list[str]] | None:
    """Return the words of each command of a shell text; None where one of them is not for the aux model."""
    analysis = registered.analysis
    if analysis is None or not 0 < len(analysis.commands) <= _MOST_COMMANDS or not _PLAIN_SCRIPT.fullmatch(text):
        return None
    if not all(map(_is_usual, analysis.commands)):
        return None
    return [[word.text for word in command.words] for command in analysis.commands]


def _is_usual(command: Command) -> bool:
    if not command.known or command.where or command.writes or command.assignments or not command.words:
        return False
    name, *rest = (word.text for word in command.words)
    if len(rest) >= _MOST_WORDS or not all(map(_plain, (name, *rest))) or "/" in name:
        return False  # a program of the workspace is a text that is not shown
    if command.effect is Effect.READ:
        return True
    usual = _USUAL.get(name)
    if usual is None or not {word for word in rest if word.startswith("-")} <= usual.options:
        return False
    return usual.first is _ANY or not usual.first.isdisjoint(rest[:1])


def _plain(text: str) -> bool:
    return len(text) <= _MOST_PATH and _PLAIN.fullmatch(text) is not None


def _told(value: object) -> Any:  # noqa: ANN401 - a JSON value
    """Return an argument without its words."""
    match value:
        case str():
            return {"text_not_shown_characters": len(value)}
        case dict():
            return {"object_not_shown_entries": len(cast("dict[str, object]", value))}
        case list() | tuple():
            return {"list_not_shown_entries": len(cast("list[object]", value))}
        case _:
            return value  # a number, a switch
