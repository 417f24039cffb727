"""The models of a group as turns use them: provider, price, key.

The key is fetched when a turn starts, and a missing one ends that turn, not the group.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from host.config.settings import ModelSettings
from host.groups.blueprint import Blueprint
from host.groups.masked_provider import MaskedProvider
from host.models.provider import provider_for
from host.turn.budget import Price
from host.turn.kit import Aux, ModelKit
from host.vault.masking import Masker
from host.vault.references import fetch


class GroupModel:
    """One model of one group."""

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        masker: Masker,
        *,
        base: Path,
        embedded_key: str,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`base` is where relative `file:` references start; `embedded_key` opens the embedded model."""
        self.name = name  # in the settings
        self._settings = settings
        self._masker = masker
        self._base = base
        self._embedded_key = embedded_key
        self._environment = environment
        self._made: tuple[str | None, ModelKit] | None = None

    async def kit(self) -> ModelKit:
        """Return the model for a turn; raise SecretMissing or SettingsError."""
        key = await self._key()
        if self._made is None or self._made[0] != key:
            self._made = (key, self._new_kit(key))
        return self._made[1]

    async def leave(self) -> None:
        """Release the connections that belong to the running loop."""
        if self._made is not None:
            await self._made[1].provider.aclose()

    async def _key(self) -> str | None:
        if self._settings.provider == "embedded":
            return self._embedded_key or None
        if self._settings.api_key is None:
            return None
        key = await fetch(self._settings.api_key, self._environment, base=self._base)
        self._masker.conceal("provider-key", key)
        return key

    def _new_kit(self, key: str | None) -> ModelKit:
        settings = self._settings
        price = settings.price
        return ModelKit(
            name=self.name,
            provider=MaskedProvider(provider_for(settings, key), self._masker.lent_tree, self._masker.text),
            price=Price(
                input=price.input if price else 0.0,
                output=price.output if price else 0.0,
                cache_read=price.cache_read if price else None,
                known=price is not None,
            ),
            tools="tools" in settings.capabilities,
            context_tokens=settings.context_tokens,
            output_tokens=settings.output_tokens,
        )


class GroupModels:
    """The model of a group's turns and its aux model; where none is named, that of its turns serves as both."""

    def __init__(self, blueprint: Blueprint, masker: Masker, *, base: Path) -> None:
        """`base` is where relative `file:` references start."""
        key = blueprint.embedded_key
        self.main = self._aux = GroupModel(blueprint.model_name, blueprint.model, masker, base=base, embedded_key=key)
        if blueprint.aux is not None and blueprint.aux_name != blueprint.model_name:
            self._aux = GroupModel(blueprint.aux_name, blueprint.aux, masker, base=base, embedded_key=key)
        self._assisted = blueprint.settings.approvals.assisted

    @property
    def adviser(self) -> Aux | None:
        """The model that may answer before a person is asked; None where the group did not say so (APR-6)."""
        return Aux(name=self._aux.name, kit=self._aux.kit) if self._assisted else None

    async def leave(self) -> None:
        """Release the connections that belong to the running loop."""
        await self.main.leave()
        if self._aux is not self.main:
            await self._aux.leave()
