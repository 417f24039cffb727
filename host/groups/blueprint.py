"""What the process of a group is told at its start: written by `host.app`, built by `host.groups.assembly`."""

import msgspec

from host.config.administrator import ADMINISTRATOR_FILE
from host.config.settings import GroupSettings, ModelSettings, SecretSettings, ServerSettings


class Blueprint(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the process of a group has to know."""

    name: str
    root: str  # the group's folder
    run: str  # the host's run folder
    settings: GroupSettings
    model_name: str  # its key in the settings
    model: ModelSettings
    aux_name: str = ""  # the aux model's key in the settings; empty: the group's model serves
    aux: ModelSettings | None = None
    embedded_key: str  # what the embedded model's process asks for; empty for other models
    secrets: dict[str, SecretSettings]
    reserved: tuple[str, ...] = ()  # references that the host itself uses and no tool is lent (SEC-3)
    faults: str  # what ELIS_FAULTS held when the host was started
    servers: dict[str, ServerSettings] = {}  # the tool servers whose entries name this group
    settings_file: str = ""  # elis.toml, whose policy holds as it stands at each call; empty: `settings` never change
    administrator_file: str = str(ADMINISTRATOR_FILE)
