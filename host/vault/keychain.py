"""Secrets in the system's keyring, by the library `keyring`, which is imported here and nowhere else.

The library talks to other processes over D-Bus and may wait there for a person, so it runs in a child process with a
bound: this file is both what the host calls and what the child runs. The child gets a value to keep on its standard
input and gives one back on its standard output; it imports the library, the host's side does not.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from host.config.references import Reference
from host.errors import SecretMissing
from host.vault.command import TooSlow, run
from host.vault.missing import missing

PASSES: Final = (
    "HOME",  # backends keep their files beneath it
    "USER",
    "PATH",
    "LANG",
    "DBUS_SESSION_BUS_ADDRESS",  # where the keyring is reached
    "XDG_RUNTIME_DIR",  # where the bus lies if the line above is not set
    "XDG_CONFIG_HOME",  # which backend the person chose: keyringrc.cfg
    "XDG_DATA_HOME",
    "PYTHON_KEYRING_BACKEND",  # the same by a variable
)
"""What the child may see of the host's environment."""

_SLACK_SECONDS: Final = 5  # the child ends itself that much later, should its host be gone
_UNSAID: Final = "its keyring failed"
_CAUSES: Final = {
    "none": "this machine has no keyring for the host's user; start one (gnome-keyring, KWallet) with the session bus,"
    " or keep the secret elsewhere",
    "locked": "the keyring is locked; unlock it as the user who runs the host",
    "absent": "the keyring has no such entry; `elis secrets set NAME` stores one",
    "empty": "the entry of the keyring is empty; `elis secrets set NAME` stores a value",
}


def get(reference: Reference, service: str, name: str, environment: Mapping[str, str], seconds: float) -> str:
    """Return what the keyring keeps; raise SecretMissing."""
    answer = _ask(reference, ("get", service, name), environment, seconds)
    value = answer.get("value")
    if not isinstance(value, str):
        raise missing(reference, _CAUSES["absent"])
    if not value:
        raise missing(reference, _CAUSES["empty"])
    return value


def put(
    reference: Reference, service: str, name: str, value: str, environment: Mapping[str, str], seconds: float
) -> None:
    """Have the keyring keep `value`; raise SecretMissing."""
    _ask(reference, ("put", service, name), environment, seconds, value.encode())


def _ask(
    reference: Reference, words: tuple[str, ...], environment: Mapping[str, str], seconds: float, given: bytes = b""
) -> dict[str, Any]:
    # Isolated: what lies in the working folder or in PYTHONPATH is not imported beside a secret.
    argv = (sys.executable, "-I", "-m", "host.vault.keychain", str(int(seconds) + _SLACK_SECONDS), *words)
    try:
        finished = run(argv, environment_for(environment), seconds, given)
    except TooSlow:
        cause = f"the keyring did not answer within {seconds:g} s; unlock it, or see whether it waits for somebody"
        raise missing(reference, cause) from None
    except OSError as error:
        cause = f"{sys.executable} cannot be started ({error.strerror})"
        raise missing(reference, cause) from None
    try:
        answer: dict[str, Any] = json.loads(finished.out)
    except ValueError:
        cause = f"{_UNSAID} (exit {finished.code}); `elis doctor` may tell more"
        raise missing(reference, cause) from None
    if "error" in answer:
        raise _failed(reference, str(answer["error"]))
    return answer


def _failed(reference: Reference, what: str) -> SecretMissing:
    return missing(reference, _CAUSES.get(what) or f"the keyring failed ({what}); see whether its service runs")


def environment_for(host: Mapping[str, str]) -> dict[str, str]:
    """Return what the child may see (SEC-3); a session bus at its usual place is named where nothing names one."""
    passed = {name: host[name] for name in PASSES if host.get(name)}
    runtime = Path(passed.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}"))
    if "DBUS_SESSION_BUS_ADDRESS" not in passed and (runtime / "bus").is_socket():
        passed["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={runtime / 'bus'}"
    return passed


def main() -> None:
    """Be the child: `SECONDS get|put SERVICE NAME`."""
    seconds, action, service, name = sys.argv[1:]
    signal.alarm(int(seconds))
    try:
        answer = _act(action, service, name)
    except Exception as error:  # noqa: BLE001 - backends raise what they like; only the kind of it is told
        answer = {"error": _kind(error)}
    sys.stdout.write(json.dumps(answer))


def _act(action: str, service: str, name: str) -> dict[str, str | None]:
    import keyring  # noqa: PLC0415 - the host's side must not import it: it looks for backends, also over D-Bus

    if action == "put":
        keyring.set_password(service, name, sys.stdin.buffer.read().decode())
        return {}
    return {"value": keyring.get_password(service, name)}


def _kind(error: Exception) -> str:
    """Return which of our sentences fits; the library's own words may quote an entry."""
    match type(error).__name__:
        case "NoKeyringError":
            return "none"
        case "KeyringLocked" | "LockedException" | "PromptDismissedException":
            return "locked"
        case other:
            return other


if __name__ == "__main__":
    main()
