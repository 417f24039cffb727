"""The session of a group: the time in which charter and tool list, and so the stable prefix, stay the same (CTX-2)."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from host.context.prefix import DEFAULT_CHARTER, INVARIANTS, system_text, tool_specs
from host.errors import SettingsError
from host.ids import SESSION, new_id
from host.models.conversation import Provider, ToolSpec
from host.passport import Passport
from host.record.events import GroupEvent, SessionStarted
from host.record.record import Record
from memory.journal import Unit


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    id: str
    head: bytes  # the rendered stable prefix


class Sessions:
    """Finds the session in force, and starts a new one when the prefix has changed."""

    def __init__(self, record: Record, charter: Path, passports: Iterable[Passport]) -> None:
        self._record = record
        self._charter = charter
        self._tools: tuple[ToolSpec, ...] = tool_specs(passports)

    def show(self, passports: Iterable[Passport]) -> None:
        """Show these tools from the next session on; where they are the same as before it is the same session."""
        self._tools = tool_specs(passports)

    def instructions(self) -> dict[str, str]:
        """Return the invariants and the charter as the model gets them."""
        return {"invariants": INVARIANTS, "charter": self._charter_text()}

    async def current(self, provider: Provider, admit: Callable[[], None]) -> Session:
        """Return the session whose prefix `provider` renders now; a change of any part starts a new one."""
        head = provider.head(system_text(self._charter_text()), self._tools)
        found = self._record.journal.read(kinds={"session_started"}, newest_first=True, limit=1)
        last = found[0].event if found else None

        def unit(unit: Unit[GroupEvent]) -> str:
            prefix = unit.body(head)
            if isinstance(last, SessionStarted) and last.prefix == prefix:
                return last.session
            session = new_id(SESSION, self._record.now_us())
            unit.append(SessionStarted(session=session, prefix=prefix, why="changed" if last else "first"))
            return session

        return Session(id=await self._record.commit(unit, admit), head=head)

    def _charter_text(self) -> str:
        """Return the charter; raise SettingsError, which names the file and the way out."""
        try:
            raw = self._charter.read_bytes()
        except FileNotFoundError:
            return DEFAULT_CHARTER
        except OSError as error:
            message = (
                f"the charter {self._charter} cannot be read ({error.strerror}); make it a file that Elis may read"
            )
            raise SettingsError(message) from error
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            message = f"the charter {self._charter} is not UTF-8 (line {line}); save it as UTF-8 and ask again"
            raise SettingsError(message) from error
