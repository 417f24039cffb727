"""The form of references to secrets."""

from pathlib import Path

import pytest

from host.errors import SecretMissing, SettingsError, Unsupported
from host.vault.references import parse, resolve


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("raw", ["sk-abcdef0123456789", "", "hunter2", "http://x", "env:", "file: ", "env:sk-abc-1"])
def test_a_raw_value_is_refused_and_not_repeated(raw: str) -> None:
    """What was written in place of a reference may be a secret; the message tells what to write instead."""
    with pytest.raises(SettingsError) as caught:
        parse(raw)
    assert "env:NAME" in caught.value.message
    inside = raw.removeprefix("env:").removeprefix("file:").strip()
    assert not inside or inside not in caught.value.message


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("kind", ["keyring", "op", "bw", "pass"])
def test_a_later_kind_is_unsupported_and_says_which_part_brings_it(kind: str) -> None:
    """It is not taken for a raw value."""
    with pytest.raises(Unsupported, match="part 2"):
        parse(f"{kind}:elis/github")


@pytest.mark.clause("SEC-1", "SEC-2")
def test_a_variable_that_is_not_set_names_reference_and_cause() -> None:
    """A set one gives its value; an empty one is as good as none."""
    base = Path("/")
    assert resolve("env:KEY", {"KEY": "value"}, base=base) == "value"
    for environment in ({}, {"KEY": ""}):
        with pytest.raises(SecretMissing, match=r"env:KEY yields no secret: .*not set"):
            resolve("env:KEY", environment, base=base)
