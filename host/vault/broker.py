"""The broker: lends a secret at the moment of execution, to a tool that may have it, and keeps nothing (SEC-2).

A model writes `«secret:NAME»` and never sees the value. Only secrets of `[secrets]` can be lent; keys of providers
and tokens of the host are not among them and so cannot be. Where a value may be sent is the tool's own wall.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from host.config.settings import SecretSettings
from host.errors import PolicyViolation, SecretMissing
from host.vault.masking import Masker
from host.vault.references import resolve

HANDLE: Final = re.compile(r"«secret:([^«»]{1,64})»")


class Broker:
    """Lends the secrets of one group's settings."""

    def __init__(
        self, secrets: Mapping[str, SecretSettings], masker: Masker, environment: Mapping[str, str], *, base: Path
    ) -> None:
        """`base` is where relative `file:` references start; every value lent is masked from then on."""
        self._secrets = secrets
        self._masker = masker
        self._environment = environment
        self._base = base

    def arm(self, plain: Any, tool: str, *, lendable: bool) -> Any:  # noqa: ANN401 - plain data
        """Return plain arguments with values where handles stood.

        Raises SecretMissing (no such secret, or no value behind it) and PolicyViolation (this tool may not have it).
        """
        match plain:
            case str():
                return HANDLE.sub(lambda found: self._lend(found.group(1), tool, lendable=lendable), plain)
            case dict():
                return {key: self.arm(value, tool, lendable=lendable) for key, value in plain.items()}
            case list() | tuple():
                return [self.arm(value, tool, lendable=lendable) for value in plain]
            case _:
                return plain

    def _lend(self, name: str, tool: str, *, lendable: bool) -> str:
        secret = self._secrets.get(name)
        if secret is None:
            known = ", ".join(sorted(self._secrets)) or "none"
            raise SecretMissing(f"there is no secret {name!r}; the secrets of this host are: {known}")
        if not lendable or tool not in secret.tools:
            may = ", ".join(secret.tools) or "no tool"
            raise PolicyViolation(f"the secret {name!r} may not be lent to {tool}; it may be lent to: {may}")
        value = resolve(secret.ref, self._environment, base=self._base)
        self._masker.lend(name, value)
        return value
