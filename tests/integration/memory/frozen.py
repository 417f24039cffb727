"""A process that meets a journal on a read-only disk: `python -m tests.integration.memory.frozen PATH`."""

import sys
from pathlib import Path

from memory.errors import JournalError
from memory.journal import Journal
from tests.integration.memory.said import Note, NoteCodec, ticking


def main() -> None:
    """Try to write, then read."""
    path = Path(sys.argv[1])
    try:
        Journal[Note].open(path, NoteCodec(), ticking(), wait_seconds=0).close()
    except JournalError as error:
        sys.stdout.write(f"{type(error).__name__}: {error}\n")
    reader = Journal[Note].reader(path, NoteCodec())
    verdict = reader.verify()
    found = len(reader.search("says 3"))
    sys.stdout.write(f"{verdict.events} events, {'ok' if verdict.ok else verdict.detail}, found {found}\n")
    reader.close()


if __name__ == "__main__":
    main()
