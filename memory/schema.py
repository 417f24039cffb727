"""The journal's file: opening connections to it and bringing its tables to the newest schema.

Below it the SQL in `sql/schema.sql` and `sql/migrations`; above it writer and reader. It knows nothing of events.

The file is never opened but through SQLite: closing any other descriptor of it would drop this process's locks.
"""

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from memory.errors import JournalDamaged, JournalTooNew, JournalUnwritable
from memory.statements import query, split

APPLICATION_ID: Final = 0x456C6973  # "Elis", so that another program's file is not taken for a journal
_READABLE: Final = query("schema", "readable")
_OBJECTS: Final = query("schema", "objects")
_BUSY_SECONDS: Final = 5.0  # another program may look into the file for a moment
_CHECKPOINT_PAGES: Final = 2_000  # 8 MB of log between checkpoints: rarer stalls than SQLite's 1,000, still soon read
_LOG_BYTES: Final = 64 * 1024 * 1024  # what a burst may leave of the log file

_PRIMARY: Final = 0xFF  # an extended result code holds its primary code in the low byte
_REMEDIES: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "the disk reports an error; check it and the system's log",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; make both writable",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that it is there and its folder is writable",
    sqlite3.SQLITE_PERM: "the file may not be opened; check its permissions",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; verify it and restore a backup",
    sqlite3.SQLITE_NOTADB: "the file is not a journal; restore a backup",
    sqlite3.SQLITE_NOMEM: "memory ran out; end something else",
    sqlite3.SQLITE_BUSY: "another program holds a lock on the file; end it",
    sqlite3.SQLITE_PROTOCOL: "the locks of the file do not work; keep it on a local disk",
}
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def code_of(error: BaseException) -> int:
    """Return SQLite's primary result code behind an exception, 0 where there is none."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & _PRIMARY if isinstance(code, int) else 0


def is_disk_failure(error: BaseException) -> bool:
    """Whether it is the file that failed, not the statement."""
    return isinstance(error, sqlite3.Error) and code_of(error) in _REMEDIES


def is_damage(error: BaseException) -> bool:
    """Whether the file's content does not read as a database."""
    return code_of(error) in _DAMAGE


def unwritable(path: Path, error: BaseException) -> JournalUnwritable:
    """Translate a failed write, with the remedy."""
    return JournalUnwritable(f"{path}: {_REMEDIES.get(code_of(error), 'the write failed')} ({error})")


def create(path: Path) -> None:
    """Make an empty file that only its owner reads, unless there is one; SQLite's side files take over its mode."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def connect(path: Path) -> sqlite3.Connection:
    """Open an existing file for writing: WAL, every commit fsynced; raise sqlite3.Error."""
    connection = _open(path, "rw")
    try:
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
            f"journal_size_limit = {_LOG_BYTES}",
            "temp_store = MEMORY",  # what a savepoint would restore is kept there
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open an existing file for reading; raise sqlite3.Error.

    A folder that nobody may write holds no log beside the file, so the file is read as it stands.
    """
    connection = _open(path, "ro")
    try:
        connection.execute(_READABLE).fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        log = path.with_name(path.name + "-wal")
        if code_of(error) != sqlite3.SQLITE_CANTOPEN or not path.exists() or log.exists():
            raise
        return _open(path, "ro&immutable=1")
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, path: Path, scripts: Sequence[str]) -> None:
    """Bring the file to the newest schema, with a copy made first of one that holds something (OPS-4).

    Raises:
        JournalTooNew: a newer program wrote the file.
        JournalDamaged: the file is another program's.
    """
    found = version_of(connection, path, len(scripts))
    if found == len(scripts):
        return
    if found:
        _copy(connection, path.with_name(f"{path.name}.version-{found}"))
    connection.execute("BEGIN IMMEDIATE")
    for script in scripts[found:]:
        for statement in split(script):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(scripts)}")
    connection.execute("COMMIT")


def version_of(connection: sqlite3.Connection, path: Path, known: int) -> int:
    """Return the schema version of the file, 0 for an empty one; raise JournalTooNew or JournalDamaged."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute(_OBJECTS).fetchone()[0])
    if application != APPLICATION_ID and tables:
        message = f"{path} is a database of another program; give the journal a path of its own"
        raise JournalDamaged(message)
    if found > known:
        message = f"{path} has schema version {found}, this program knows up to {known}; use the newer program"
        raise JournalTooNew(message, found=found, known=known)
    return found


def _open(path: Path, mode: str) -> sqlite3.Connection:
    # The mode never creates: a file that vanished under a running host must not come back empty.
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions are begun and ended in words
        check_same_thread=False,  # connections change hands, one holder at a time
    )


def _copy(connection: sqlite3.Connection, target: Path) -> None:
    create(target)
    with contextlib.closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)
