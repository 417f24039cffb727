"""The broker: lends a secret at the moment of execution, to a tool that may have it, and keeps nothing (SEC-2).

A model writes `«secret:NAME»` and never sees the value. Only secrets of `[secrets]` can be lent, and none that the host
itself uses: neither by its reference, nor by its value under another reference, nor out of the host's own folders
(SEC-1, SEC-3). A secret that is bound to hosts goes only with a call whose passport says where it goes.
"""

import asyncio
import contextlib
import re
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from host.config.references import identity, kept_by_host
from host.config.settings import SecretSettings
from host.errors import ElisError, PolicyViolation, SecretMissing
from host.passport import Passport
from host.vault.literals import likely
from host.vault.masking import Masker
from host.vault.references import is_slow, resolve
from host.vault.towards import host_of, may_all_get, may_get

HANDLE: Final = re.compile(r"«secret:([^«»]{1,64})»")
_SIGN: Final = "«secret:"

_PROVIDER_KEY: Final = "provider-key"
"""The kind of mask that stands for what the host itself uses."""

_SHORTEST: Final = 4
"""Characters of a value that is lent: a shorter one is a part of ordinary words, and is not masked inside of them."""

_FIRST_LOOK_SECONDS: Final = 30.0
"""How long a first turn waits for slow vaults to tell what an earlier process may have lent."""


class Broker:
    """Lends the secrets of one group's settings. Its methods may hold the calling thread while a vault answers."""

    def __init__(  # noqa: PLR0913 - what it lends, to whom, and what it must not
        self,
        secrets: Mapping[str, SecretSettings],
        masker: Masker,
        environment: Mapping[str, str],
        *,
        base: Path,
        reserved: Collection[str] = (),
        reaches: Mapping[str, Collection[str]] | None = None,
        of_servers: Collection[str] = (),
    ) -> None:
        """`base` is the host's home, where relative `file:` references start; `reserved` are the host's own references.

        `reaches` says which hosts a tool may reach that cannot say where one call goes: the shell's list ("*": any).
        `of_servers` names the secrets that the settings lend to tool servers. Every value lent is masked from then on.
        """
        self._of_servers = frozenset(of_servers)
        self._secrets = secrets
        self._masker = masker
        self._environment = environment
        self._base = base
        self._reserved = tuple(reserved)
        self._reaches = reaches or {}
        self._looked = threading.Event()
        self._looked.set()

    def arm(self, plain: Any, passport: Passport, admitted: Collection[str] = ()) -> Any:  # noqa: ANN401 - plain data
        """Return plain arguments with values where handles stood; the same object where none stood.

        `admitted` are hosts that this call may reach beside those that its tool always may. Raises SecretMissing (no
        such secret, or no value behind it) and PolicyViolation (this tool, or this host, may not have it).
        """
        if not names_secret(plain):
            return plain
        return self._armed(plain, _Loan(self, passport, host_of(plain, passport.towards), admitted))

    async def armed(
        self,
        plain: Any,  # noqa: ANN401 - plain data
        passport: Passport,
        admitted: Collection[str] = (),
    ) -> Any:  # noqa: ANN401 - plain data
        """Do as `arm` without holding the event loop: a vault's program may take seconds."""
        if not names_secret(plain):
            return plain
        if not any(
            is_slow(reference) for reference in (*(each.ref for each in self._secrets.values()), *self._reserved)
        ):
            return self.arm(plain, passport, admitted)
        return await asyncio.to_thread(self.arm, plain, passport, admitted)

    def check(self, plain: Any, passport: Passport, admitted: Collection[str] = ()) -> None:  # noqa: ANN401 - plain data
        """Raise what `arm` would raise of a secret that this call may not have; no value is looked up."""
        host = host_of(plain, passport.towards)
        for name in _names(plain):
            self._lendable(name, passport, host, admitted)

    def mask_from_the_start(self) -> None:
        """Mask what an earlier process may have lent and a tool may have kept in a file since, and the host's own keys.

        Secrets that cannot be had now are passed over: whoever asks for one is told then. Vaults that take their time
        are asked in a thread of their own; `ready` waits for it.
        """
        for reference in self._reserved:
            if not is_slow(reference):
                self._conceal(reference)
        lendable = [
            (name, secret.ref) for name, secret in self._secrets.items() if secret.tools or name in self._of_servers
        ]
        slow = [each for each in lendable if is_slow(each[1])]
        self._mask([each for each in lendable if each not in slow])
        if slow:
            self._looked.clear()
            threading.Thread(target=self._mask_slowly, args=(slow,), name="vaults", daemon=True).start()

    async def ready(self) -> None:
        """Wait, within a bound, until `mask_from_the_start` has asked every vault."""
        if not self._looked.is_set():
            await asyncio.to_thread(self._looked.wait, _FIRST_LOOK_SECONDS)

    def lend(self, name: str, passport: Passport, host: str | None, admitted: Collection[str] = ()) -> str:
        """Return the value of the secret `name` for a call of `passport` that goes to `host` (None: nobody knows).

        `admitted` are further hosts that this call may reach.
        """
        value = self._value(name, self._lendable(name, passport, host, admitted).ref)
        self._masker.lend(name, value)
        return value

    def _lendable(self, name: str, passport: Passport, host: str | None, admitted: Collection[str]) -> SecretSettings:
        secret = self._secrets.get(name)
        if secret is None:
            known = ", ".join(f"«secret:{each}»" for each in sorted(self._secrets)) or "none"
            message = f"There is no secret {name!r}; the secrets of this host are: {known}."
            raise SecretMissing(message)
        if not passport.lendable or passport.name not in secret.tools:
            may = ", ".join(secret.tools) or "no tool"
            message = f"The secret {name!r} may not be lent to {passport.name}; its settings name: {may}."
            raise PolicyViolation(message)
        self._check_host(name, secret, passport, host, admitted)
        return secret

    def lend_to_server(self, name: str) -> str:
        """Return the value of a secret that the entry of a tool server names, for the environment of that server.

        The entry is the operator's word that this server may have it; raise SecretMissing or PolicyViolation.
        """
        secret = self._secrets.get(name) if name in self._of_servers else None
        if secret is None:
            message = f"There is no secret {name!r} for tool servers."
            raise SecretMissing(message)
        value = self._value(name, secret.ref)
        self._masker.lend(name, value)
        return value

    def _check_host(
        self, name: str, secret: SecretSettings, passport: Passport, host: str | None, admitted: Collection[str]
    ) -> None:
        may = ", ".join(secret.hosts)
        reaches = (*self._reaches.get(passport.name, ()), *admitted)
        others = [other for other in reaches if not may_all_get(other, secret.hosts)]
        if secret.hosts and others:
            also = "any host" if "*" in others else ", ".join(others)
            message = (
                f"The secret {name!r} is bound to hosts ({may}), and {passport.name} may reach {also} as well. An entry"
                " of a list admits subdomains too, unless = stands before it."
            )
            raise PolicyViolation(message)
        if not secret.hosts or not passport.network:
            return
        if host is None:
            message = (
                f"The secret {name!r} is bound to hosts ({may}), and {passport.name} cannot say where it would go."
            )
            raise PolicyViolation(message)
        if not may_get(host, secret.hosts):
            message = f"The secret {name!r} may not go to {host or 'that address'}; its settings name: {may}, by https."
            raise PolicyViolation(message)

    def _armed(self, plain: Any, loan: "_Loan") -> Any:  # noqa: ANN401 - plain data
        match plain:
            case str():
                return HANDLE.sub(lambda found: loan.value(found.group(1)), plain) if _SIGN in plain else plain
            case dict():
                fields = cast("dict[object, object]", plain)
                return {key: self._armed(value, loan) for key, value in fields.items()}
            case list() | tuple():
                items = cast("Sequence[object]", plain)
                return [self._armed(value, loan) for value in items]
            case _:
                return plain

    def _mask(self, secrets: Sequence[tuple[str, str]]) -> None:
        for name, reference in secrets:
            try:
                self._masker.lend(name, self._value(name, reference))
            except ElisError:
                continue

    def _conceal(self, reference: str) -> None:
        with contextlib.suppress(ElisError):  # whoever uses it says that it is missing
            self._masker.conceal(_PROVIDER_KEY, resolve(reference, self._environment, base=self._base))

    def _mask_slowly(self, secrets: Sequence[tuple[str, str]]) -> None:
        try:
            self._mask(secrets)
        finally:
            self._looked.set()

    def _value(self, name: str, reference: str) -> str:
        own = {identity(each, self._base) for each in self._reserved}
        if identity(reference, self._base) in own or kept_by_host(reference, self._base):
            raise _own(name)
        try:
            value = resolve(reference, self._environment, base=self._base)
        except ElisError as error:
            message = f"The secret {name!r} cannot be had. {error.message}."
            raise SecretMissing(message) from error
        if any(own_value in value for own_value in self._own_values()):
            raise _own(name)
        if len(value) < _SHORTEST:
            message = (
                f"The secret {name!r} cannot be lent: a value of fewer than {_SHORTEST} characters cannot be kept from "
                "being shown. Keep a longer one there."
            )
            raise SecretMissing(message)
        return value

    def _own_values(self) -> list[str]:
        values: list[str] = []
        for reference in self._reserved:
            try:
                value = resolve(reference, self._environment, base=self._base)
            except ElisError:
                continue  # what cannot be had cannot be in another; whoever uses it says that it is missing
            if likely(value.encode("utf-8", "surrogatepass")):  # a local model's key is a plain word
                values.append(value)
        return values


class _Loan:
    """What one call is lent: each value is fetched once, however often its handle stands there."""

    def __init__(self, broker: Broker, passport: Passport, host: str | None, admitted: Collection[str]) -> None:
        self._broker = broker
        self._passport = passport
        self._host = host
        self._admitted = admitted
        self._values: dict[str, str] = {}

    def value(self, name: str) -> str:
        if name not in self._values:
            self._values[name] = self._broker.lend(name, self._passport, self._host, self._admitted)
        return self._values[name]


def names_secret(plain: Any) -> bool:  # noqa: ANN401 - plain data
    """Tell whether a handle stands in any string of `plain`."""
    match plain:
        case str():
            return _SIGN in plain and HANDLE.search(plain) is not None
        case dict():
            return any(names_secret(value) for value in cast("dict[object, object]", plain).values())
        case list() | tuple():
            return any(names_secret(value) for value in cast("Sequence[object]", plain))
        case _:
            return False


def _names(plain: Any) -> set[str]:  # noqa: ANN401 - plain data
    """Return the names of the secrets whose handles stand in strings of `plain`."""
    match plain:
        case str():
            return set(HANDLE.findall(plain)) if _SIGN in plain else set()
        case dict():
            return {name for value in cast("dict[object, object]", plain).values() for name in _names(value)}
        case list() | tuple():
            return {name for value in cast("Sequence[object]", plain) for name in _names(value)}
        case _:
            return set()


def _own(name: str) -> PolicyViolation:
    message = f"The secret {name!r} is one of the host's own and cannot be lent to any tool."
    return PolicyViolation(message)
