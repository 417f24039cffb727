"""References to secrets become values (SEC-1): one door for all six kinds.

Above it are the broker and whoever builds a provider; below it one module for each place where secrets are kept. It
keeps nothing and knows nothing of tools; no message of it repeats what was written in place of a reference, or a value.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from host.config.references import Reference, Wrong, keyring_entry, path_of, read
from host.errors import SettingsError
from host.vault import files, keychain, programs
from host.vault.missing import LARGEST_BYTES, missing

SECONDS: Final = 20.0
"""How long one look-up may take: a person may have to unlock a keyring, and Bitwarden's program needs three."""

_AT_ONCE: Final = frozenset({"env", "file"})


def parse(reference: str) -> Reference:
    """Read a reference; raise SettingsError for a raw value, without echo."""
    found = read(reference)
    if isinstance(found, Wrong):
        message = f"the setting {found.wrong}; {found.remedy}"
        raise SettingsError(message)
    return found


def is_slow(reference: str) -> bool:
    """Tell whether resolving takes a program or a message to another process, so that no event loop should wait."""
    return parse(reference).kind not in _AT_ONCE


def resolve(reference: str, environment: Mapping[str, str], *, base: Path, seconds: float = SECONDS) -> str:
    """Return the value behind `reference`; a relative `file:` path starts at `base`.

    Holds the calling thread for up to `seconds`. Raises SecretMissing naming reference, cause and remedy, and what
    `parse` raises.
    """
    parsed = parse(reference)
    match parsed.kind:
        case "env":
            value = environment.get(parsed.name, "").rstrip("\r\n")
            if not value.strip():
                raise missing(parsed, f"the variable {parsed.name} is not set for the host; set it and start again")
        case "file":
            value = files.read(parsed, path_of(parsed, base))
        case "keyring":
            value = keychain.get(parsed, *keyring_entry(parsed), environment, seconds)
        case _:
            value = programs.ask(parsed, environment, seconds)
    if len(value.encode("utf-8", "surrogateescape")) > LARGEST_BYTES:
        raise missing(parsed, f"the value is longer than {LARGEST_BYTES} bytes; keep a smaller one there")
    return value


async def fetch(reference: str, environment: Mapping[str, str], *, base: Path) -> str:
    """Return what `resolve` does, without holding the event loop."""
    if not is_slow(reference):
        return resolve(reference, environment, base=base)
    return await asyncio.to_thread(resolve, reference, environment, base=base)
