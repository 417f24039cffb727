"""The forms of references to secrets, and when two of them mean one secret."""

from pathlib import Path

import pytest

from host.config.references import identity, kept_by_host
from host.errors import SecretMissing, SettingsError
from host.vault.references import parse, resolve

BASE = Path("/h")


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
@pytest.mark.parametrize(
    "text",
    ["keyring:elis/github", "op://Work/GitHub/token", "op:Work/GitHub/s/token", "bw:github", "bw:notes/x", "pass:a/b"],
)
def test_every_kind_is_read_and_keeps_its_words(text: str) -> None:
    """What stands in the settings stands in messages."""
    assert parse(text).text == text


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize(
    "text",
    ["keyring:elis", "keyring:/x", "op://Work/GitHub", "op:x", "bw:--session", "pass:../x", "pass:-x", "file:a\nb"],
)
def test_a_reference_that_names_no_secret_is_refused_with_the_form(text: str) -> None:
    """Nothing that a program could take for an option or a way out of its store gets to it."""
    with pytest.raises(SettingsError, match=f"{text.partition(':')[0]}:"):
        parse(text)


SAME = [
    ("file:token-1", "file:/h/token-1"),
    ("file:/h/x/../token-1", "file:token-1"),
    ("keyring:elis/github", "keyring:elis /github"),
    ("op://Work/GitHub/token", "op:work/github/TOKEN"),
    ("op://My%20Vault/i/f", "op:My Vault/i/f/"),
    ("bw:github", "bw:password/GitHub"),
    ("pass:a/b", "pass:/a//b/"),
]


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_of_one_secret_are_one(one: str, other: str) -> None:
    """So that what the host uses cannot be lent under another spelling."""
    assert identity(one, BASE) == identity(other, BASE)


@pytest.mark.clause("SEC-1")
def test_different_secrets_are_told_apart() -> None:
    """Variables differ by case, kinds differ, parts of an item differ."""
    texts = ["env:KEY", "env:key", "file:KEY", "keyring:a/KEY", "op:a/b/KEY", "bw:KEY", "bw:notes/KEY", "pass:KEY"]
    assert len({identity(text, BASE) for text in texts}) == len(texts)


@pytest.mark.clause("SEC-1", "SEC-3")
@pytest.mark.parametrize(
    "text",
    [
        "env:OP_SERVICE_ACCOUNT_TOKEN",
        "env:OP_SESSION_work",
        "env:BW_SESSION",
        "keyring:elis-host/main",
        "file:token",
        "file:keys/ray",
        "file:/h/x/../host.db",
    ],
)
def test_what_the_host_opens_vaults_and_speaks_with_is_its_own(text: str) -> None:
    """Whoever had it would have everything behind it."""
    assert kept_by_host(text, BASE)
    assert not kept_by_host("env:GITHUB_TOKEN", BASE)
    assert not kept_by_host("keyring:elis/github", BASE)


@pytest.mark.clause("SEC-1", "SEC-2")
def test_a_variable_that_is_not_set_names_reference_and_cause() -> None:
    """A set one gives its value; an empty one is as good as none."""
    assert resolve("env:KEY", {"KEY": "value"}, base=BASE) == "value"
    for environment in ({}, {"KEY": ""}):
        with pytest.raises(SecretMissing, match=r"env:KEY yields no secret: .*not set"):
            resolve("env:KEY", environment, base=BASE)
