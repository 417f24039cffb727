"""A search at the far end: in a process of its own, ended when its time is up, as it is at home."""

import contextlib
import os
import threading

from host.tools.far.children import Children
from host.tools.far.jobs import Job
from host.tools.far.wire import Message
from host.tools.jail import Jail
from host.tools.searching import KEPT_BYTES, Sought, prepared


def search(job: Job, jail: Jail, children: Children, sought: Sought) -> tuple[Message, bytes]:
    """Look through files; return how it ended and what was told."""
    with prepared(jail, sought) as ready:
        child = children.start("host.tools.far.seeker", (ready.query, *ready.folders), str(ready.query))
    out_of_time = threading.Event()

    def time_is_up() -> None:
        out_of_time.set()
        child.kill()

    timer = threading.Timer(sought.seconds, time_is_up)
    timer.start()
    try:
        job.endable_by(child.kill)
        told = bytearray()
        assert child.stdout is not None  # noqa: S101 - it was asked for
        while part := os.read(child.stdout.fileno(), 1 << 16):
            told += part[: KEPT_BYTES - len(told)]
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        children.end(child)
    return {"timed_out": out_of_time.is_set(), "exit_code": child.returncode}, bytes(told)
