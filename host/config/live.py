"""A group's policy as the files say it now: read again when one has changed, so that it holds at the next call.

`everything` keeps the word it had at the start (POL-4). What a file that cannot be acted on means is for the policy
(POL-3): here it is only told.
"""

import os
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from host.config.administrator import ADMINISTRATOR_FILE, Administrator, load_administrator
from host.config.load import load
from host.config.settings import PolicySettings
from host.errors import ElisError

_Look = tuple[tuple[int, int, int] | str, ...]
_ABSENT: Final = ""
_DANGLING: Final = "a link that leads nowhere"


class PolicyNow(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for a group at this moment."""

    group: PolicySettings  # the newest that could be read
    administrator: Administrator = Administrator()
    broken: str = ""  # why elis.toml cannot be acted on; empty: it can
    unreadable: str = ""  # why the administrator's file cannot be acted on; empty: it can, or there is none


class LivePolicy:
    """The policy of one group. Thread-safe; a look at unchanged files costs some ten microseconds."""

    def __init__(
        self,
        group: str,
        start: PolicySettings,
        *,
        settings_file: Path | None,
        tool_names: Collection[str] | None,
        administrator: Path = ADMINISTRATOR_FILE,
    ) -> None:
        """Begin with `start`; `settings_file` None means that the group's own settings never change."""
        self._group = group
        self._file = settings_file
        self._tool_names = tool_names
        self._administrator = administrator
        self._start = start
        self._lock = threading.Lock()
        self._look: _Look | None = None
        self._now = PolicyNow(group=start)

    def now(self) -> PolicyNow:
        """Return what holds now."""
        with self._lock:
            look = tuple(_look(path) for path in (self._file, self._administrator) if path is not None)
            if look != self._look:
                self._now = self._read()
                self._look = look
            return self._now

    def _read(self) -> PolicyNow:
        group, broken = self._now.group, ""
        try:
            group = self._of_group() if self._file is not None else group
        except ElisError as error:
            broken = error.message
        try:
            administrator = load_administrator(self._administrator, self._tool_names)
        except ElisError as error:
            return PolicyNow(group=group, broken=broken, unreadable=error.message)
        return PolicyNow(group=group, administrator=administrator, broken=broken)

    def _of_group(self) -> PolicySettings:
        assert self._file is not None  # noqa: S101 - the caller has looked
        settings = load(self._file, self._tool_names, administrator=self._administrator)
        group = settings.groups.get(self._group)
        # A group that was just taken out of the file goes on as it is until its process is ended.
        policy = self._now.group if group is None else group.policy
        return msgspec.structs.replace(policy, everything=self._start.everything)


def _look(path: Path) -> tuple[int, int, int] | str:
    """Return what changes with the file's content, or the name of the error that keeps us from it."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path's own costs more, and this is on the way of every call
    except FileNotFoundError:
        return _DANGLING if path.is_symlink() else _ABSENT
    except OSError as error:
        return error.strerror or type(error).__name__
    return status.st_ctime_ns, status.st_size, status.st_ino  # of content and of rights
