"""Running a command at the far end: it is handed to a warden, and its output is passed on as it comes."""

import contextlib
import json
import os
import pwd
import select
import subprocess
from typing import Any, Final

from host.tools.far.children import Children, hush, say
from host.tools.far.jobs import PIECE_BYTES, Job
from host.tools.far.wire import Message
from host.tools.jail import Jail
from host.tools.paths import BARE_HOME
from host.tools.trash import make_home

_DRAINED: Final = 1 << 20  # at most what a pipe holds
_KILLED: Final = 137


def run(job: Job, jail: Jail, children: Children, asked: Message) -> Message:
    """Run a command to its end; raise what the jail does for a folder that it cannot start in."""
    with jail.folder(asked["cwd"]) as (folder, _):
        reading, writing = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                warden = children.start("host.tools.far.warden", (folder, writing))
                told = {
                    "command": asked["command"],
                    "folder": folder,
                    "output": writing,
                    "environment": _variables(jail) | children.mark | asked["environment"],
                    "seconds": asked["seconds"],
                    "limits": asked["limits"],
                }
                with contextlib.suppress(BrokenPipeError):
                    say(warden, json.dumps(told).encode() + b"\n")
            finally:
                os.close(writing)
            try:
                job.endable_by(lambda: hush(warden))
                told_at_end = _attend(job, warden, reading)
            finally:
                children.end(warden)
            return _ended(told_at_end)
        finally:
            os.close(reading)


def _attend(job: Job, warden: "subprocess.Popen[bytes]", reading: int) -> bytes:
    """Pass on the output until the warden has ended; return what it told."""
    assert warden.stdout is not None  # noqa: S101 - it was asked for
    telling = warden.stdout.fileno()
    told = b""
    poll = select.poll()
    for descriptor in (reading, telling):
        poll.register(descriptor, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if reading in ready:
            if piece := os.read(reading, PIECE_BYTES):
                job.send_piece(piece)
            else:
                poll.unregister(reading)
        if telling in ready:
            part = os.read(telling, PIECE_BYTES)
            told += part
            if not part:
                break
    os.set_blocking(reading, False)
    left = _DRAINED
    with contextlib.suppress(BlockingIOError):  # a survivor may hold the pipe open
        while left > 0 and (piece := os.read(reading, PIECE_BYTES)):
            job.send_piece(piece)
            left -= len(piece)
    return told


def _ended(told: bytes) -> Message:
    if not told:
        note = "the process that ran the command was ended, and with it all that it had started"
        return {"exit_code": _KILLED, "timed_out": False, "notes": [note]}
    ended: Message = json.loads(told)
    return ended


def _variables(jail: Jail) -> dict[str, Any]:
    """Return the built environment: nothing of the login session's."""
    make_home(jail.roots[0].descriptor)
    user = pwd.getpwuid(os.getuid()).pw_name
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME": f"{jail.roots[0].real_path()}/{BARE_HOME}",
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
