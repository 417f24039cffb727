"""Where a call goes, and whether a secret may go there."""

import pytest

from host.vault.towards import host_in, host_of, may_all_get, may_get

GOOD = [
    ("https://api.github.com/user", "api.github.com"),
    ("HTTPS://API.GitHub.com:443", "api.github.com"),
    ("https://api.github.com./x", "api.github.com"),
    ("https://api.github.com?x=https://evil.example", "api.github.com"),
    ("https://bücher.example/", "xn--bcher-kva.example"),
]
DOUBTFUL = [
    "api.github.com/user",
    "//api.github.com",
    "https://api.github.com@evil.example/",
    "https://me:«secret:x»@api.github.com/",
    "https://api.github.com\\@evil.example/",
    "https://api.github.com\t.evil.example/",
    "https://api.github.com:port/",
    "https://api%2egithub.com/",
    "https://[api.github.com/",
    " https://api.github.com/",
    "http://api.github.com/",
    "ftp://api.github.com/",
    "",
]


@pytest.mark.clause("SEC-2")
@pytest.mark.parametrize(("address", "host"), GOOD)
def test_the_host_of_an_address_has_one_spelling(address: str, host: str) -> None:
    """Case, port, a dot at the end and foreign letters make no difference."""
    assert host_in(address) == host


@pytest.mark.clause("SEC-2")
@pytest.mark.parametrize("address", DOUBTFUL)
def test_an_address_that_two_readers_could_read_differently_leads_nowhere(address: str) -> None:
    """No secret goes there."""
    assert not may_get(host_in(address), ["api.github.com"])


@pytest.mark.clause("SEC-2")
def test_the_names_are_exact() -> None:
    """Neither above nor below, nor what ends or begins alike."""
    assert may_get("api.github.com", ["=API.github.com."])
    for other in ("github.com", "x.api.github.com", "api.github.com.evil.example", "evilapi.github.com", ""):
        assert not may_get(other, ["api.github.com"])


@pytest.mark.clause("SEC-2")
def test_what_an_entry_of_a_list_admits_must_all_be_bound() -> None:
    """A name in a list has its subdomains with it, and whoever runs one may be somebody else."""
    for entry in ("=api.github.com", "=API.github.com.", "=api.github.com:8443"):
        assert may_all_get(entry, ["api.github.com"])
    for entry in ("api.github.com", "api.github.com:443", "=x.api.github.com", "=github.com", "*", "", "=10.0.0.1"):
        assert not may_all_get(entry, ["api.github.com"])


@pytest.mark.clause("SEC-2")
def test_a_call_without_an_address_is_told_from_one_that_names_none() -> None:
    """A tool that never says where it goes, and one that does but was given something else."""
    assert host_of({"url": "https://x.example/"}, "") is None
    assert host_of({"url": 7}, "url") == ""
    assert host_of({}, "url") == ""
