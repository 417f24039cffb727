"""A process that fills its disk: `python -m tests.integration.memory.full PATH (limit | ballast)`.

It writes until a write fails, frees space, and writes again, printing what happened as one JSON object. `limit` lowers
its own file-size limit; `ballast` expects PATH on a small file system and deletes a file that stands beside it.
"""

import json
import resource
import sys
from pathlib import Path

from memory.errors import JournalUnwritable
from memory.journal import Journal
from tests.integration.memory.said import BOUND_SECONDS, Note, NoteCodec, Said, ticking

LIMIT_BYTES = 1_000_000
TEXT = "a sentence that takes room " * 100


def fill(journal: Journal[Note]) -> dict[str, object]:
    """Append until it fails; each confirmed event is counted, and both units of the failing batch are heard."""
    confirmed = 0
    while True:
        futures = [journal.append(Said(text=TEXT)), journal.append(Said(text=TEXT))]
        errors = [future.exception(BOUND_SECONDS) for future in futures]
        confirmed += errors.count(None)
        if failed := [error for error in errors if error is not None]:
            return {
                "confirmed": confirmed,
                "unwritable": all(isinstance(error, JournalUnwritable) for error in failed),
                "message": str(failed[0]),
            }


def main() -> None:
    """Fill, free, go on, verify."""
    path, how = Path(sys.argv[1]), sys.argv[2]
    ballast = path.with_name("ballast")
    if how == "ballast":
        ballast.write_bytes(bytes(LIMIT_BYTES))
    with Journal[Note].open(path, NoteCodec(), ticking()) as journal:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        if how == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, hard))
        report = fill(journal)
        readable = len(journal.read(limit=100_000))
        if how == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        else:
            ballast.unlink()
        (later,) = journal.append(Said(text="after")).result(BOUND_SECONDS)
        verdict = journal.verify()
        sys.stdout.write(json.dumps(report | {"readable": readable, "later": later, "ok": verdict.ok}))


if __name__ == "__main__":
    main()
