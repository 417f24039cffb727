"""Secrets: whether each can be had, and storing one. No answer carries a value, and nothing here is journaled."""

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody

from host.panel.parts import TheDirectory
from host.vault.safe import SecretStatus


class NewValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value to be stored."""

    value: str

    def __repr__(self) -> str:
        """Say nothing: whatever shows its arguments must not show this."""
        return "NewValue(…)"


@get("/secrets", summary="Which secrets can be had")
async def secret_status(directory: TheDirectory) -> tuple[SecretStatus, ...]:
    """Return every secret of the settings as present or missing; asks the vaults, so it may take some seconds."""
    return await directory.secrets()


@put("/secrets/{name:str}", summary="Store a secret's value")
async def set_secret(name: FromPath[str], data: JSONBody[NewValue], directory: TheDirectory) -> SecretStatus:
    """Store the value in the file or the keyring that the secret refers to. Needs the token."""
    return await directory.set_secret(name, data.value)
