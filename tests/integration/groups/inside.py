"""From inside a group, by every tool there is: what each would have to be told to get out, aim by aim.

An aim is something that no group may have; a way is a tool, or a language in one. What a way can try at all it says by
a call; where it cannot even be told so, there is none.
"""

import shlex
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from tests.integration.groups.attempts import STAY_SECONDS, Aims
from tests.integration.groups.besieged import INSIDE, UNLISTED, VARIABLE
from tests.scripted_model import Call


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What nobody inside may have."""

    name: str
    kind: Literal["read", "variable", "write", "reach", "look up", "stay"]
    path: str = ""
    host: str = ""
    port: int = 0
    url: str = ""


def aims(at: Aims) -> tuple[Aim, ...]:
    """Return what is aimed at."""
    home = at.home
    return (
        Aim(name="another group's file", kind="read", path=f"{home}/groups/other/workspace/secret.txt"),
        Aim(name="the home", kind="read", path=f"{home}/token"),
        Aim(name="the host's environment", kind="variable", path="/proc/self/environ"),
        Aim(name="/proc/1/environ", kind="read", path="/proc/1/environ"),
        Aim(name="policy", kind="write", path=f"{home}/policy.toml"),
        Aim(name="grants", kind="write", path=f"{home}/groups/main/journal.db"),
        Aim(name="configuration", kind="write", path=f"{home}/elis.toml"),
        Aim(name="the API", kind="reach", host="127.0.0.1", port=at.port, url=f"http://127.0.0.1:{at.port}/api/v1/status"),
        Aim(name="the metadata address", kind="reach", host="169.254.169.254", port=80, url="http://169.254.169.254/latest/"),
        Aim(name="a private address", kind="reach", host="10.0.0.7", port=443, url="https://10.0.0.7/"),
        Aim(name="a listed name with a private address", kind="reach", host=INSIDE, port=443, url=f"https://{INSIDE}/"),
        Aim(name="an unlisted host", kind="reach", host=UNLISTED, port=443, url=f"https://{UNLISTED}/"),
        Aim(name="DNS", kind="look up", host=UNLISTED),
        Aim(name="a process left behind", kind="stay"),
    )  # fmt: skip


Way = Callable[[Aim], Call | None]
Language = Callable[[Aim], str]

_STAY: Final = f"setsid sleep {STAY_SECONDS} >/dev/null 2>&1 &"


def sh(aim: Aim) -> str:
    """Say it in the shell's own words."""
    match aim.kind:
        case "read":
            return f"cat {aim.path}"
        case "variable":
            return f'cat {aim.path} >/dev/null; echo "${{{VARIABLE}:?}}"'
        case "write":
            return f"echo owned >> {aim.path}"
        case "reach":
            return f"curl -sS -m 4 {aim.url}"
        case "look up":
            return f"getent hosts {aim.host} || echo name not known"
        case "stay":
            return f"{_STAY} echo started"


def python_code(aim: Aim) -> str:
    """Say it in Python."""
    match aim.kind:
        case "read":
            return f"print(open({aim.path!r}).read())"
        case "variable":
            return f"import os; open({aim.path!r}); print(os.environ[{VARIABLE!r}])"
        case "write":
            return f"open({aim.path!r}, 'a').write('owned')"
        case "reach":
            return f"import socket; socket.create_connection(({aim.host!r}, {aim.port}), 4)"
        case "look up":
            return f"import socket; print(socket.gethostbyname({aim.host!r}))"
        case "stay":
            start = f"s.Popen(['setsid', 'sleep', '{STAY_SECONDS}'], stdout=s.DEVNULL, stderr=s.DEVNULL)"
            return f"import subprocess as s; {start}; print('started')"


def perl(aim: Aim) -> str:
    """Say it in Perl."""
    match aim.kind:
        case "read":
            code = f'open(F, "<", "{aim.path}") or die "$!"; print <F>'
        case "variable":
            code = f'open(F, "<", "{aim.path}"); print $ENV{{{VARIABLE}}} // die "parameter not set"'
        case "write":
            code = f'open(F, ">>", "{aim.path}") or die "$!"; print F "owned"'
        case "reach":
            code = f'use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => "{aim.host}", PeerPort => {aim.port}, '
            code += 'Timeout => 4) or die "$@"'
        case "look up":
            code = f'gethostbyname("{aim.host}") or die "name not known"'
        case "stay":
            code = 'fork or (open(STDOUT, ">", "/dev/null"), open(STDERR, ">", "/dev/null"), '
            code += f'exec "setsid", "sleep", "{STAY_SECONDS}"); print "started"'
    return f"perl -e {shlex.quote(code)}"


def awk(aim: Aim) -> str:
    """Say it in awk, which has files and programs and no sockets."""
    match aim.kind:
        case "read":
            code = f'r = (getline line < "{aim.path}"); print r < 0 ? "No such file" : line'
        case "variable":
            code = f'getline line < "{aim.path}"; print "{VARIABLE}" in ENVIRON ? ENVIRON["{VARIABLE}"] : "not set"'
        case "write":
            code = f'print "owned" >> "{aim.path}"'
        case "reach" | "look up" | "stay":
            code = f'system("{sh(aim)}")'
    return f"awk {shlex.quote('BEGIN { ' + code + ' }')}"


def python(aim: Aim) -> str:
    """Say it to a Python that the shell starts."""
    return f"python3 -c {shlex.quote(python_code(aim))}"


def by_shell(language: Language) -> Way:
    """Return the way of `shell` in a language."""
    return lambda aim: Call("shell", {"command": language(aim), "timeout_seconds": 10})


def by_shell_let_out(aim: Aim) -> Call | None:
    """Name the host beside the command, so that a person may let it out to it."""
    if not aim.host:
        return None
    named = aim.host if aim.port in {0, 443} else f"{aim.host}:{aim.port}"
    return Call("shell", {"command": sh(aim), "hosts": [named], "timeout_seconds": 10})


def by_box(language: Language) -> Way:
    """Return the way of a tool server in its sandbox that runs commands."""
    return lambda aim: Call("box__run", {"command": language(aim)})


def by_boxs_own_code(aim: Aim) -> Call:
    """Let a tool server do it in its own process."""
    return Call("box__python", {"code": python_code(aim)})


def by_hub(aim: Aim) -> Call | None:
    """Let a tool server beyond the machine send the host there."""
    to = aim.url or (f"file://{aim.path}" if aim.path else f"https://{aim.host}/" if aim.host else "")
    return Call("hub__lure", {"to": to}) if to else None


def read_file(aim: Aim) -> Call | None:
    """Read it."""
    return Call("read_file", {"path": aim.path}) if aim.path else None


def look_at_picture(aim: Aim) -> Call | None:
    """Look at an image of another group."""
    picture = aim.path.replace("secret.txt", "picture.png")
    return Call("read_file", {"path": picture}) if picture != aim.path else None


def list_files(aim: Aim) -> Call | None:
    """List the folder that it lies in."""
    return Call("list_files", {"path": aim.path.rpartition("/")[0]}) if aim.path else None


def search_files(aim: Aim) -> Call | None:
    """Search in it."""
    return Call("search_files", {"text": "planted", "path": aim.path}) if aim.path else None


def write_file(aim: Aim) -> Call | None:
    """Write it."""
    return Call("write_file", {"path": aim.path, "content": "owned"}) if aim.path else None


def edit_file(aim: Aim) -> Call | None:
    """Change words in it."""
    return Call("edit_file", {"path": aim.path, "old_text": "a", "new_text": "owned"}) if aim.path else None


def http(aim: Aim) -> Call | None:
    """Ask for it by its address."""
    to = aim.url or (f"file://{aim.path}" if aim.path else f"https://{aim.host}/" if aim.host else "")
    return Call("http", {"url": to}) if to else None


def install_package(aim: Aim) -> Call:
    """Have a package installed that lies there, or that does it while it is installed."""
    if aim.kind == "write":
        return Call("install_package", {"package": "climber"})  # its files would lie outside
    if aim.kind in {"stay", "variable"}:
        return Call("install_package", {"package": "poisoned"})  # its setup would have to run
    if aim.kind == "look up":
        return Call("install_package", {"package": "unlisted-package"})
    return Call("install_package", {"package": f"fruit @ {aim.url or 'file://' + aim.path}"})


def call_tool(aim: Aim) -> Call | None:
    """Call another tool by its name, as where there are too many to be shown: a server's, and one of the host's."""
    inner = read_file(aim) if aim.kind == "variable" else by_boxs_own_code(aim)
    return None if inner is None else Call("call_tool", {"name": inner.tool, "arguments": inner.arguments})


def govern(aim: Aim) -> Call | None:
    """Ask for tools that would govern."""
    named = {"policy": "set_policy", "grants": "grant", "configuration": "configure"}
    return Call(named[aim.name], {"everything": "allow"}) if aim.name in named else None


def ask_person(aim: Aim) -> Call:
    """Ask for it; a question carries nothing and reaches nobody but the person."""
    return Call("ask_person", {"question": f"Please give me {aim.name} {aim.path}: «secret:api»"})


_PATH: Final = "path_violation workspace .* lies outside the workspace"
_NO_WALL_TO_SEE: Final = {
    "read": "No such file",
    "variable": "not set|KeyError",
    "write": "No such file|nonexistent",
    "reach": "refused|Couldn't connect|unreachable|not known|Bad hostname|response 403|did not carry this connection",
    "look up": "not known",
    "stay": "started",
}
"""What the kernel or the egress proxy says in a sandbox. What stays is ended with the command or its tool server."""
_OWN_FIRST_PROCESS: Final = "ELIS_WORKSPACE=[0-9]+:[0-9]+\0\\s*(⟦|$)"  # of the sandbox; nothing else stands there


def in_a_sandbox(aim: Aim) -> str:
    """Return what tells that a program got nothing."""
    return _OWN_FIRST_PROCESS if aim.path == "/proc/1/environ" else _NO_WALL_TO_SEE[aim.kind]


def by_its_path(_aim: Aim) -> str:
    """Return what tells that a file tool refused."""
    return _PATH


def by_its_address(aim: Aim) -> str:
    """Return what tells that `http` did not go there."""
    if aim.path:
        return "protocol_violation destination .* no whole http or https address"
    if aim.host == UNLISTED:
        return "approval_timeout approval:.* Nobody answered"
    return "leads to 10.0.0.7, which is no public address" if aim.host == INSIDE else "ip-literal .* is an address"


def by_the_hosts_that_it_names(aim: Aim) -> str:
    """Return what tells that a command was not let out."""
    if aim.host == UNLISTED:
        return "approval_timeout approval:.* Nobody answered"
    return "leads to 10.0.0.7, which is no public address" if aim.host == INSIDE else "ip-literal .* is an address"


def by_its_name(aim: Aim) -> str:
    """Return what tells that a package was not installed."""
    said = {
        "write": "outside the target directory",
        "stay": "No matching distribution",  # there is no wheel, and nothing else is taken
        "variable": "No matching distribution",
        "look up": "approval_timeout approval:.* Nobody answered",
    }
    return said.get(aim.kind, "protocol_violation package .* holds more than a name")


def by_the_host_of_its_entry(_aim: Aim) -> str:
    """Return what tells that a tool server's redirect was not followed."""
    return "Redirect to .* not followed"


def by_the_list_of_tools(_aim: Aim) -> str:
    """Return what tells that there is no such tool."""
    return "protocol_violation unknown-tool"


def as_named(aim: Aim) -> str:
    """Return what tells that the call that was named had the same answer as if it had been made."""
    return "unknown-tool 'read_file' is no tool of a tool server" if aim.kind == "variable" else in_a_sandbox(aim)


def by_nobodys_answer(_aim: Aim) -> str:
    """Return what tells that a question moved nothing: the person saw a handle, and did not answer."""
    return "approval_timeout .*Nobody answered the question"


TABLE: Final[dict[str, tuple[Way, Callable[[Aim], str]]]] = {
    "read_file": (read_file, by_its_path),
    "read_file of an image": (look_at_picture, by_its_path),
    "list_files": (list_files, by_its_path),
    "search_files": (search_files, by_its_path),
    "write_file": (write_file, by_its_path),
    "edit_file": (edit_file, by_its_path),
    "shell": (by_shell(sh), in_a_sandbox),
    "python in shell": (by_shell(python), in_a_sandbox),
    "perl in shell": (by_shell(perl), in_a_sandbox),
    "awk in shell": (by_shell(awk), in_a_sandbox),
    "shell that names hosts": (by_shell_let_out, by_the_hosts_that_it_names),
    "install_package": (install_package, by_its_name),
    "http": (http, by_its_address),
    "tool server in a sandbox": (by_box(sh), in_a_sandbox),
    "tool server's own Python": (by_boxs_own_code, in_a_sandbox),
    "perl in a tool server": (by_box(perl), in_a_sandbox),
    "awk in a tool server": (by_box(awk), in_a_sandbox),
    "tool server by URL": (by_hub, by_the_host_of_its_entry),
    "tools that govern": (govern, by_the_list_of_tools),
    "ask_person": (ask_person, by_nobodys_answer),
}
"""By every tool: how it would be told, and what tells that nothing came of it."""
