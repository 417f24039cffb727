"""The settings keep to the host what discovery reads: the two lists are one."""

import pytest

from host.config.rules import FOUND_KEYS
from host.models.discovery import find_model


@pytest.mark.clause("SEC-1", "SEC-3")
@pytest.mark.parametrize("variable", FOUND_KEYS)
async def test_a_model_found_by_looking_uses_a_key_that_settings_keep_from_tools(variable: str) -> None:
    """A variable of the list is where its key comes from."""
    found = await find_model({variable: "x"})
    assert found.settings.api_key == f"env:{variable}"
