"""The system's `ssh` as a command line, what it is told, and what its words mean when it fails.

Keys, known hosts, ports and jumps are the operator's own configuration of ssh. What is fixed here: nothing is asked,
an unknown host is refused, nothing is forwarded, no terminal is made.
"""

import shutil
from collections.abc import Mapping
from typing import Final

from host.errors import Unsupported
from host.excerpts import ending
from host.tools.far.loading import BOOT, OPTIONS

_OPTIONS: Final = (
    "BatchMode=yes", "StrictHostKeyChecking=yes", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes",
    "Tunnel=no", "GSSAPIDelegateCredentials=no", "PermitLocalCommand=no", "ControlMaster=no", "ControlPath=none",
    "RequestTTY=no", "EscapeChar=none", "LogLevel=ERROR", "ConnectTimeout=10", "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
)  # fmt: skip
_PASSED: Final = ("HOME", "PATH", "USER", "LOGNAME", "SSH_AUTH_SOCK")  # for ssh itself; it sends none of them on
_LAST_CHARS: Final = 300


def command_line(host: str, search_path: str | None) -> list[str]:
    """Return the command line that starts the far end's Python; raise Unsupported where there is no ssh."""
    program = shutil.which("ssh", path=search_path)
    if program is None:
        message = "there is no ssh on this machine. Fix: apt-get install -y openssh-client"
        raise Unsupported(message)
    options = [part for option in _OPTIONS for part in ("-o", option)]
    return [program, "-T", *options, "--", host, f"exec python3 {' '.join(OPTIONS)} -c '{BOOT}'"]


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return what ssh needs of the host's environment."""
    return {name: own[name] for name in _PASSED if name in own}


def why_not(host: str, said: str) -> str:
    """Say why the far end did not begin, in the words of ssh or of that machine, and what to do about it."""
    words = ending(" ".join(said.split()), _LAST_CHARS) or "it ended without a word"
    low = said.lower()
    fix = next((fix for signs, fix in _REMEDIES if any(sign in low for sign in signs)), _TRY)
    return f"{host} cannot be used ({words}). Fix: {fix.format(host=host)}"


_TRY: Final = "see to it that `ssh -o BatchMode=yes {host} python3 --version` works for the user that Elis runs as"
_REMEDIES: Final = (
    (("host identification has changed",), "its key is another than before: find out why before you trust it; then "
     "`ssh-keygen -R {host}`, and once by hand `ssh {host}`"),
    (("host key verification failed", "host key is known"), "as the user that Elis runs as, connect once by hand, "
     "`ssh {host}`, and compare the key's fingerprint with that machine's before you say yes"),
    (("permission denied", "too many authentication"), "let the user that Elis runs as in by a key without a question: "
     "`ssh -o BatchMode=yes {host} true` must work"),
    (("could not resolve", "connection refused", "timed out", "no route", "unreachable", "did not answer"),
     "see to it that the machine runs sshd and can be reached, and that sandbox.host names it as ~/.ssh/config does"),
    (("python3: not found", "python3: command not found", "no such file or directory: python3", "python3: no such file",
      "unknown command: python3", "is too old"),
     "install Python 3.11 or newer as python3 on {host}: the file tools and the reaper of commands run in it"),
)  # fmt: skip
