"""What each group is told about itself when it is launched: its settings, its models, its folders.

A model that was found by looking is used and shown, not written down (the contract, Set-up).
"""

import os
from collections.abc import Mapping
from typing import Final

import msgspec

from host.config.home import Home
from host.config.settings import GroupSettings, ModelSettings, ServerSettings, Settings
from host.errors import SettingsError
from host.faults import VARIABLE as FAULTS_VARIABLE
from host.groups.blueprint import Blueprint
from host.models.discovery import FoundModel

MAIN_MODEL: Final = "main"


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """The models of the host: those of the settings, and the one that was found when there are none."""

    found: FoundModel | None

    def table(self, settings: Settings) -> dict[str, ModelSettings]:
        """Return all models by name."""
        if self.found is None or settings.models:
            return settings.models
        return {MAIN_MODEL: self.found.settings}

    def of_group(self, name: str, settings: Settings) -> ModelSettings:
        """Return the model of a group; raise SettingsError."""
        return self._named(name, "model", settings.groups[name].model, settings)

    def aux_of_group(self, name: str, settings: Settings) -> ModelSettings | None:
        """Return the aux model of a group, None where it names none; raise SettingsError."""
        aux = settings.groups[name].aux_model
        return None if aux is None else self._named(name, "aux_model", aux, settings)

    def _named(self, group: str, key: str, named: str, settings: Settings) -> ModelSettings:
        table = self.table(settings)
        model = table.get(named)
        if model is None:
            known = ", ".join(table) or "none"
            raise SettingsError(f"[groups.{group}] {key} = {named!r} is no entry of [models]; there are: {known}")
        return model

    def need_embedded(self, settings: Settings) -> bool:
        """Whether any group uses the embedded model."""
        table = self.table(settings)
        return any(
            model is not None and model.provider == "embedded"
            for group in settings.groups.values()
            for model in (table.get(group.model), table.get(_aux_in_use(group)))
        )


def blueprint_for(
    name: str, home: Home, settings: Settings, models: Models, embedded_url: str, embedded_key: str
) -> Blueprint:
    """Return what the process of group `name` needs; raise SettingsError."""
    aux = models.aux_of_group(name, settings)
    return Blueprint(
        name=name,
        root=str(home.group(name).root),
        run=str(home.run),
        settings=_placed(settings.groups[name]),
        model_name=settings.groups[name].model,
        model=_reached(models.of_group(name, settings), embedded_url),
        aux_name=settings.groups[name].aux_model or "",
        aux=None if aux is None else _reached(aux, embedded_url),
        embedded_key=embedded_key,
        secrets=settings.secrets,
        reserved=reserved(settings, models),
        faults=faults_text(os.environ),
        servers=servers_of(name, settings),
        settings_file=str(home.settings),
    )


def _aux_in_use(group: GroupSettings) -> str:
    """Return the aux model where something is asked of it, else the group's own."""
    return group.aux_model if group.aux_model and group.approvals.assisted else group.model


def _placed(group: GroupSettings) -> GroupSettings:
    """Return the group's settings with its folders where they are: what becomes a link later on is not followed."""
    folders = {
        name: msgspec.structs.replace(folder, path=os.path.realpath(folder.path))
        for name, folder in group.folders.items()
    }
    return msgspec.structs.replace(group, folders=folders)


def _reached(model: ModelSettings, embedded_url: str) -> ModelSettings:
    return msgspec.structs.replace(model, base_url=embedded_url) if model.provider == "embedded" else model


def reserved(settings: Settings, models: Models) -> tuple[str, ...]:
    """Return the references that the host itself uses: the keys of all models, whichever group uses them."""
    return tuple(model.api_key for model in models.table(settings).values() if model.api_key is not None)


def secret_references(settings: Settings, models: Models) -> dict[str, str]:
    """Return every reference of the settings: lendable secrets by their name, a model's key as models.NAME."""
    keys = {f"models.{name}": model.api_key for name, model in models.table(settings).items()}
    return {
        **{name: secret.ref for name, secret in settings.secrets.items()},
        **{name: key for name, key in keys.items() if key is not None},
    }


def faults_text(environment: Mapping[str, str]) -> str:
    """Return what is armed from outside."""
    return environment.get(FAULTS_VARIABLE, "")


def servers_of(name: str, settings: Settings) -> dict[str, ServerSettings]:
    """Return the tool servers whose entries name a group."""
    return {server: entry for server, entry in settings.mcp.items() if name in entry.groups}
