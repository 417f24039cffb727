"""`elis.toml` as the host takes it at its start: accepted by its reader, and without a secret in a tool server's entry.

The reader lies below the vault, which knows the forms of secrets; here both have their say (SEC-1).
"""

from collections.abc import Collection
from pathlib import Path

from host.config.load import load
from host.config.settings import Settings
from host.vault.raw import check_settings


def read_settings(path: Path, tool_names: Collection[str]) -> Settings:
    """Return the settings; raise as `load` does, and SettingsError for a secret that stands in the file itself."""
    settings = load(path, tool_names)
    check_settings(settings, str(path))
    return settings
