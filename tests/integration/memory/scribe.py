"""A process that writes a journal until it is killed: `python -m tests.integration.memory.scribe PATH [OPTIONS]`.

It prints `open GENERATION`, then `ACKED SEQ` for each event after it is durable, so that a test knows what it must
find. Several threads write at once.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from memory.journal import Journal
from tests.integration.memory.said import Note, NoteCodec, Said, ticking


def killer(point: str, passing: int) -> Callable[[str], None]:
    """Return a fault that kills this process when `point` is passed for that many times."""
    passed = 0

    def fault(at: str) -> None:
        nonlocal passed
        if at == point:
            passed += 1
            if passed == passing:
                os.kill(os.getpid(), signal.SIGKILL)

    return fault


def write(journal: Journal[Note], name: str, count: int) -> None:
    """Append until `count` events, telling each one that is durable."""
    for number in range(count):
        (seq,) = journal.append(Said(text=f"{name} says {number}", turn=name)).result()
        sys.stdout.write(f"ACKED {seq}\n")
        sys.stdout.flush()


def main() -> None:
    """Write until the count is reached or the end comes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--kill", default="", help="a fault point")
    parser.add_argument("--passing", type=int, default=1)
    parser.add_argument("--hold", action="store_true", help="keep the journal open until standard input ends")
    options = parser.parse_args()
    fault = killer(options.kill, options.passing)
    journal = Journal[Note].open(options.path, NoteCodec(), ticking(), fault=fault)
    sys.stdout.write(f"open {journal.generation}\n")
    sys.stdout.flush()
    threads = [
        threading.Thread(target=write, args=(journal, f"w{n}", options.count), daemon=True)
        for n in range(options.writers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if options.hold:
        sys.stdin.read()
    journal.close()


if __name__ == "__main__":
    main()
