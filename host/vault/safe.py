"""What an operator may do with secrets: see which are there, and store one (SEC-2, the contract's `elis secrets`).

It never gives a value away. Values are stored where references lead that Elis can write to, a file or the keyring;
other vaults have programs of their own for that.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from host.config.references import kept_by_host, keyring_entry, pass_name, path_of
from host.errors import ElisError, NotFound, PolicyViolation, ProtocolViolation, Unsupported
from host.vault import files, keychain
from host.vault.missing import LARGEST_BYTES
from host.vault.references import SECONDS, parse, resolve

_AT_ONCE: Final = 8  # vaults asked beside one another


class SecretStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a secret can be had; nothing of its value."""

    name: str
    status: str  # present | missing
    reference: str
    detail: str = ""  # for a missing one: why, and what to do


class Safe:
    """The secrets that settings refer to, by name. Its methods hold the calling thread while vaults answer."""

    def __init__(
        self, references: Mapping[str, str], environment: Mapping[str, str], *, base: Path, seconds: float = SECONDS
    ) -> None:
        """`base` is the host's home, where relative `file:` references start."""
        self._references = references
        self._environment = environment
        self._base = base
        self._seconds = seconds

    def status(self) -> tuple[SecretStatus, ...]:
        """Return every secret, in the order of the settings."""
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="vault") as pool:
            return tuple(pool.map(self._look, self._references))

    def put(self, name: str, value: str) -> SecretStatus:
        """Store `value` under the secret `name`; raise NotFound, ProtocolViolation, Unsupported or SecretMissing."""
        reference = self._references.get(name)
        if reference is None:
            known = ", ".join(self._references) or "none"
            message = f"there is no secret {name!r} in the settings; there are: {known}"
            raise NotFound(message)
        if not value.strip():
            message = "the value is empty; give it on standard input or at the prompt"
            raise ProtocolViolation(message)
        if "\0" in value or len(value.encode("utf-8", "surrogatepass")) > LARGEST_BYTES:
            message = f"the value is longer than {LARGEST_BYTES} bytes, or no text; store a smaller one"
            raise ProtocolViolation(message)
        self._put(name, reference, value)
        return self._look(name)

    def _put(self, name: str, reference: str, value: str) -> None:
        parsed = parse(reference)
        if kept_by_host(reference, self._base):
            message = f"{name} refers to something of the host itself, which is not written here; mend its reference"
            raise PolicyViolation(message)
        match parsed.kind:
            case "file":
                files.write(path_of(parsed, self._base), value)
            case "keyring":
                keychain.put(parsed, *keyring_entry(parsed), value, self._environment, self._seconds)
            case "env":
                how = f"set the variable {parsed.name} where the host is started, and start it again"
                raise _elsewhere(name, "a variable of the host's environment", how)
            case "op":
                raise _elsewhere(name, "an item of 1Password", "change it there, or with `op item edit`")
            case "bw":
                raise _elsewhere(name, "an item of Bitwarden", "change it there, or with `bw edit`, then `bw sync`")
            case _:
                how = f"store it with `pass insert {pass_name(parsed)}`"
                raise _elsewhere(name, "an entry of the password store", how)

    def _look(self, name: str) -> SecretStatus:
        reference = self._references[name]
        try:
            resolve(reference, self._environment, base=self._base, seconds=self._seconds)
        except ElisError as error:
            return SecretStatus(name=name, status="missing", reference=reference, detail=error.message)
        return SecretStatus(name=name, status="present", reference=reference)


def _elsewhere(name: str, what: str, how: str) -> Unsupported:
    message = f"the secret {name} is {what}, which Elis does not write to; {how}"
    return Unsupported(message)
