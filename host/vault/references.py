"""References to secrets: what may stand in the settings where a value must not (SEC-1), and how one becomes a value.

Above it are the broker and whoever builds a provider. It keeps nothing and knows nothing of tools; no message of it
repeats what was written in place of a reference.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from host.errors import SecretMissing, SettingsError, Unsupported

KINDS: Final = ("env", "file")
LATER_KINDS: Final = ("keyring", "op", "bw", "pass")  # they come with part 2
LARGEST_BYTES: Final = 16 * 1024  # a key file has some 3 KiB; masking looks for every encoding of a lent value

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OTHERS: Final = 0o077  # mode bits for group and others


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a secret is kept."""

    kind: str  # env | file
    name: str  # a variable, or a path

    @property
    def text(self) -> str:
        """The reference as it stands in the settings."""
        return f"{self.kind}:{self.name}"


def parse(reference: str) -> Reference:
    """Read a reference; raise SettingsError for a raw value (without echo) and Unsupported for a later kind."""
    kind, colon, name = reference.partition(":")
    if not colon or kind not in KINDS + LATER_KINDS:
        message = (
            'a raw value stands where a reference to a secret belongs; keep the value elsewhere and write "env:NAME"'
            ' or "file:PATH", and treat the value that stood here as known to others'
        )
        raise SettingsError(message)
    if kind in LATER_KINDS:
        message = (
            f"references of the kind {kind}: come with part 2 and cannot be resolved yet;"
            ' use "env:NAME" or "file:PATH" until then'
        )
        raise Unsupported(message)
    if not name.strip() or (kind == "env" and not _VARIABLE.match(name)):
        message = (
            f"what follows {kind}: names no {'variable' if kind == 'env' else 'file'};"
            ' write "env:NAME" or "file:PATH", never the value itself'
        )
        raise SettingsError(message)
    return Reference(kind=kind, name=name)


def resolve(reference: str, environment: Mapping[str, str], *, base: Path) -> str:
    """Return the value behind `reference`; a relative `file:` path starts at `base`.

    Raises SecretMissing naming reference and cause, and what `parse` raises.
    """
    parsed = parse(reference)
    if parsed.kind == "env":
        value = environment.get(parsed.name, "")
        if not value:
            raise _missing(parsed, f"the variable {parsed.name} is not set for the host; set it and start again")
    else:
        value = _file(parsed, base / _expanded(parsed))
    if len(value.encode()) > LARGEST_BYTES:
        raise _missing(parsed, f"the value is longer than {LARGEST_BYTES} bytes; keep a smaller one there")
    return value


def _expanded(reference: Reference) -> Path:
    try:
        return Path(reference.name).expanduser()
    except RuntimeError:
        raise _missing(reference, "it begins with the home folder of a user who does not exist here") from None


def _file(reference: Reference, path: Path) -> str:
    """Read a secret's file. What was checked is what is read: both go through one descriptor."""
    try:
        # Without O_NONBLOCK a FIFO would hold the caller until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        cause = f"{path} cannot be read ({os.strerror(error.errno or 0)})"
        raise _missing(reference, cause) from None
    except ValueError:
        raise _missing(reference, "it cannot be a path") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _missing(reference, f"{path} is no file")
        if status.st_mode & _OTHERS:
            mode = stat.S_IMODE(status.st_mode)
            cause = f"{path} has the mode {mode:04o}, so others may read it; run: chmod 600 {path}"
            raise _missing(reference, cause)
        data = os.read(descriptor, LARGEST_BYTES + 3)  # with a line break, and one byte to tell that it is too much
    finally:
        os.close(descriptor)
    try:
        value = data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _missing(reference, f"{path} holds no UTF-8 text") from None
    if not value:
        raise _missing(reference, f"{path} is empty")
    return value


def _missing(reference: Reference, cause: str) -> SecretMissing:
    return SecretMissing(f"{reference.text} yields no secret: {cause}")
