"""The broker: lends a secret at the moment of execution, to a tool that may have it, and keeps nothing (SEC-2).

A model writes `«secret:NAME»` and never sees the value. Only secrets of `[secrets]` can be lent, and none that the host
itself uses: neither by its reference, nor by its value under another reference, nor out of the host's own folders
(SEC-1, SEC-3). Where a value may be sent is the tool's own wall.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from host.config.settings import SecretSettings
from host.errors import ElisError, PolicyViolation, SecretMissing
from host.passport import Passport
from host.vault.masking import Masker
from host.vault.references import parse, resolve

HANDLE: Final = re.compile(r"«secret:([^«»]{1,64})»")

_OWN: Final = ("token", "keys", "nats", "run", "host.db", "elis.toml")
"""What of the host's home no tool is lent, whatever a reference says."""


class Broker:
    """Lends the secrets of one group's settings."""

    def __init__(
        self,
        secrets: Mapping[str, SecretSettings],
        masker: Masker,
        environment: Mapping[str, str],
        *,
        base: Path,
        reserved: Collection[str] = (),
    ) -> None:
        """`base` is the host's home, where relative `file:` references start; `reserved` are the host's own references.

        Every value lent is masked from then on.
        """
        self._secrets = secrets
        self._masker = masker
        self._environment = environment
        self._base = base
        self._reserved = tuple(reserved)

    def arm(self, plain: Any, passport: Passport) -> Any:  # noqa: ANN401 - plain data
        """Return plain arguments with values where handles stood; the same object where none stood.

        Raises SecretMissing (no such secret, or no value behind it) and PolicyViolation (this tool may not have it).
        """
        match plain:
            case str():
                return self._filled(plain, passport) if "«secret:" in plain else plain
            case dict():
                fields = cast("dict[object, object]", plain)
                filled = {key: self.arm(value, passport) for key, value in fields.items()}
                return fields if all(filled[key] is value for key, value in fields.items()) else filled
            case list() | tuple():
                items = cast("Sequence[object]", plain)
                armed = [self.arm(value, passport) for value in items]
                return items if all(one is other for one, other in zip(armed, items, strict=True)) else armed
            case _:
                return plain

    def mask_from_the_start(self) -> None:
        """Mask what an earlier process may have lent and a tool may have kept in a file since (MASK-1).

        Secrets that cannot be had now are passed over: whoever asks for one is told then.
        """
        for name, secret in self._secrets.items():
            if secret.tools:
                try:
                    self._masker.lend(name, self._value(name, secret.ref))
                except ElisError:
                    continue

    def _filled(self, text: str, passport: Passport) -> str:
        filled = HANDLE.sub(lambda found: self._lend(found.group(1), passport), text)
        return text if filled == text else filled

    def _lend(self, name: str, passport: Passport) -> str:
        secret = self._secrets.get(name)
        if secret is None:
            known = ", ".join(f"«secret:{each}»" for each in sorted(self._secrets)) or "none"
            message = f"There is no secret {name!r}; the secrets of this host are: {known}."
            raise SecretMissing(message)
        if not passport.lendable or passport.name not in secret.tools:
            may = ", ".join(secret.tools) or "no tool"
            message = f"The secret {name!r} may not be lent to {passport.name}; its settings name: {may}."
            raise PolicyViolation(message)
        if secret.hosts and passport.network:
            message = f"The secret {name!r} is bound to hosts, and {passport.name} cannot say where it would go."
            raise PolicyViolation(message)
        value = self._value(name, secret.ref)
        self._masker.lend(name, value)
        return value

    def _value(self, name: str, reference: str) -> str:
        try:
            self._refuse_own(name, reference)
            value = resolve(reference, self._environment, base=self._base)
        except ElisError as error:
            if isinstance(error, PolicyViolation):
                raise
            message = f"The secret {name!r} cannot be had. {error.message}."
            raise SecretMissing(message) from error
        if any(value == own for own in self._own_values()):
            raise _own(name)
        return value

    def _refuse_own(self, name: str, reference: str) -> None:
        if reference in self._reserved:
            raise _own(name)
        parsed = parse(reference)
        if parsed.kind != "file":
            return
        # Links are followed first: the file is what it is, not what it is called.
        path = (self._base / Path(parsed.name).expanduser()).resolve()
        home = self._base.resolve()
        if any(path.is_relative_to(home / own) for own in _OWN):
            raise _own(name)

    def _own_values(self) -> list[str]:
        values: list[str] = []
        for reference in self._reserved:
            try:
                values.append(resolve(reference, self._environment, base=self._base))
            except ElisError:
                continue  # what cannot be had cannot be equal; whoever uses it says that it is missing
        return values


def _own(name: str) -> PolicyViolation:
    message = f"The secret {name!r} is one of the host's own and cannot be lent to any tool."
    return PolicyViolation(message)
