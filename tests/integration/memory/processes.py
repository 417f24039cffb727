"""Writing processes for the tests: started, listened to line by line, killed."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.memory.said import BOUND_SECONDS


class Scribe:
    """A process that writes a journal, see `scribe.py`."""

    def __init__(self, process: subprocess.Popen[str], generation: int) -> None:
        self.process = process
        self.generation = generation

    def acked(self) -> int:
        """Return the next sequence it told to be durable, 0 when it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return int(line.split()[1]) if line.endswith("\n") and line.startswith("ACKED ") else 0

    def rest(self) -> list[int]:
        """Return all further sequences it told, after it has ended."""
        found: list[int] = []
        while seq := self.acked():
            found.append(seq)
        return found

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(BOUND_SECONDS)


@contextmanager
def scribe(path: Path, *options: str) -> Generator[Scribe]:
    """Start a scribe and wait until it has opened the journal; it is gone afterwards."""
    command = [sys.executable, "-m", "tests.integration.memory.scribe", str(path), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            opened = process.stdout.readline().split()
            assert opened[:1] == ["open"], opened
            yield Scribe(process, int(opened[1]))
        finally:
            process.kill()
