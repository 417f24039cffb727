"""What can go wrong in a group's memory. The docstring of an error is its default message.

JournalError
├── JournalBusy           another process holds the journal for writing
├── JournalDamaged        the file does not read or its chain does not fit; names the first bad row
├── JournalTooNew         a newer program wrote the file
├── JournalUnwritable     a write failed: disk full, read-only, input/output error
│   ├── JournalSuperseded a later generation took the journal over
│   └── JournalClosed     the journal was closed here
├── QueryRefused          a read was asked that cannot be run
├── SearchError           a search that cannot be answered; never an empty answer instead
│   └── BadQuery          there is nothing, or too much, to look for
├── MissingBody           no body with that hash (also a KeyError)
└── UnitMisused           a unit of work left its bounds

Errors of SQLite, zstandard and the operating system are translated to these inside `memory/` and go no further.
"""


class JournalError(Exception):
    """Something went wrong in a journal."""

    def __init__(self, message: str | None = None) -> None:
        """Take `message`, which says what to do next; without one the docstring speaks."""
        super().__init__(message or (type(self).__doc__ or "").strip())

    def __str__(self) -> str:
        """Return the message alone, also where another base class would quote it."""
        return str(self.args[0])


class JournalBusy(JournalError):
    """Another process holds this journal for writing; wait until it ends, or end it."""


class JournalDamaged(JournalError):
    """The journal is damaged; restore a backup, or read what precedes the damage."""

    def __init__(self, message: str | None = None, *, first_bad_seq: int | None = None) -> None:
        """Take the sequence of the first row that does not fit, None where no row can be named."""
        super().__init__(message)
        self.first_bad_seq = first_bad_seq


class JournalTooNew(JournalError):
    """A newer program wrote this journal; use that program or a later one."""

    def __init__(self, message: str | None = None, *, found: int = 0, known: int = 0) -> None:
        """Take the schema version of the file and the latest one this program knows."""
        super().__init__(message)
        self.found = found
        self.known = known


class JournalUnwritable(JournalError):
    """The journal cannot be written; nothing of this unit was kept."""


class JournalSuperseded(JournalUnwritable):
    """A later writer took this journal over; this process may only read it."""


class JournalClosed(JournalUnwritable):
    """This journal is closed; open it again to write."""


class QueryRefused(JournalError):
    """The statement cannot be run as a read."""


class SearchError(JournalError):
    """The search could not be carried out."""


class BadQuery(SearchError):
    """What is looked for makes no search."""


class MissingBody(JournalError, KeyError):
    """The journal holds no body with this hash."""


class UnitMisused(JournalError):
    """A unit of work is used only by its own function, on its own thread, while it runs."""
