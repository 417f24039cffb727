"""The process of one contender: runs a turn for every line on stdin and answers each with a JSON line.

Every contender of the bench runs in it, Elis too, so that none has an advantage. It needs nothing but Python, because
peers run in an environment of their own. It refuses to let the process speak to anything but this machine.
"""

import asyncio
import ipaddress
import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

STEPS: Final = 20  # calls in one turn
INSTRUCTIONS: Final = "You work in a folder. Read the files you are asked about with read_file, then answer."
TASK: Final = "Read the twenty notes one after the other, then say that you are done."
READ_FILE: Final = "Read a text file of the folder and return its content."
FINAL_REPLY: Final = "All twenty notes are read."

_LOCAL_NAMES: Final = frozenset({None, "", "localhost", b"localhost"})


def note(number: int) -> str:
    """Return the name of the file that step `number` reads."""
    return f"note-{number:02}.txt"


def write_notes(folder: Path) -> None:
    """Write the tiny files."""
    for number in range(STEPS):
        (folder / note(number)).write_text(f"Note {number}: nothing to report.\n", encoding="utf-8")


def serve(turn: Callable[[], Awaitable[str]]) -> None:
    """Run `turn`, which returns the final reply, for each line on stdin; a wrong reply or an error is told."""
    sys.addaudithook(only_this_machine)
    asyncio.run(_serve(turn))


async def _serve(turn: Callable[[], Awaitable[str]]) -> None:
    _say({"ready": True})
    while await asyncio.to_thread(sys.stdin.readline):
        try:
            reply = await turn()
        except Exception as error:  # noqa: BLE001 - whatever a library raises, the bench is told why it has no number
            traceback.print_exc()
            _say({"error": f"{type(error).__name__}: {error}"})
        else:
            _say({} if reply == FINAL_REPLY else {"error": f"the final reply was {reply!r}"})


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def only_this_machine(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections and name look-ups that leave the machine; an audit hook of the interpreter."""
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        host: Any = "" if isinstance(address, str | bytes) else address[0]  # a path is local
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in _LOCAL_NAMES and not _is_loopback(host):
        message = f"the bench speaks to this machine only, not to {host!r}"
        raise PermissionError(message)


def _is_loopback(host: Any) -> bool:
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host).is_loopback
    except ValueError:
        return False
