"""A disk without room, for this process alone: no file may grow beyond what the journal's log holds now."""

import contextlib
import resource
from collections.abc import Generator

from tests.integration.groups.stage import Stage


@contextlib.contextmanager
def full_disk(stage: Stage) -> Generator[None]:
    """Let the journal take nothing more until the block ends; small files can still be written."""
    log = stage.root / "groups" / "main" / "journal.db-wal"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
