"""Where the panel may listen and what a Host header may say."""

from pathlib import Path

import pytest

from host.errors import SettingsError
from host.panel.listen import TlsFiles, check_listen, host_name

pytestmark = pytest.mark.clause("PAN-2")

TLS = TlsFiles(certificate=Path("cert.pem"), key=Path("key.pem"))


@pytest.mark.parametrize("address", ["127.0.0.1:8700", "127.8.8.8:0", "[::1]:8700", "localhost:8700", "LOCALHOST:0"])
def test_loopback_needs_nothing(address: str) -> None:
    """On loopback the panel listens as it is, without TLS."""
    site = check_listen(address)
    assert "localhost" in site.names
    assert not site.is_secure("localhost:8700")


@pytest.mark.parametrize(
    "address", ["0.0.0.0:8700", "[::]:8700", "192.0.2.1:80", "elis.example.org:443", "localhost.evil:1"]
)
def test_beyond_loopback_is_refused_without_tls_or_proxy(address: str) -> None:
    """The error names the address and the three ways out."""
    with pytest.raises(SettingsError, match="tls_certificate") as raised:
        check_listen(address)
    assert address in raised.value.message
    assert "proxy_url" in raised.value.message


def test_beyond_loopback_is_allowed_with_tls() -> None:
    """With a certificate cookies are secure and origins https."""
    site = check_listen("192.0.2.1:8700", tls=TLS)
    assert "192.0.2.1" in site.names
    assert site.origin("192.0.2.1:8700") == "https://192.0.2.1:8700"


def test_a_reverse_proxy_adds_its_name_and_is_secure_under_it_alone() -> None:
    """Who comes through the proxy comes by TLS; who comes by loopback does not."""
    site = check_listen("0.0.0.0:8700", proxy_url="https://elis.example.org/")
    assert "elis.example.org" in site.names
    assert site.is_secure("elis.example.org")
    assert not site.is_secure("127.0.0.1:8700")
    assert site.link_origin("127.0.0.1:8700") == "https://elis.example.org"


@pytest.mark.parametrize("url", ["http://elis.example.org", "elis.example.org", "https://a.b/path", "https://u@a.b"])
def test_a_proxy_is_an_https_origin(url: str) -> None:
    """Anything else would promise what it does not keep."""
    with pytest.raises(SettingsError, match="proxy_url"):
        check_listen("127.0.0.1:8700", proxy_url=url)


@pytest.mark.parametrize("address", ["8700", "127.0.0.1", "::1:8700", "127.0.0.1:x", "127.0.0.1:70000", ":8700", ""])
def test_an_unclear_address_is_refused(address: str) -> None:
    """Nobody guesses what an address means."""
    with pytest.raises(SettingsError, match="not an address and a port"):
        check_listen(address)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("127.0.0.1:8700", "127.0.0.1"),
        ("LocalHost", "localhost"),
        ("localhost.:80", "localhost"),
        ("[::1]:8700", "::1"),
        ("a@localhost", ""),
        ("localhost/x", ""),
        ("localhost:x", ""),
        ("[::1", ""),
        ("", ""),
    ],
)
def test_a_host_header_is_read_strictly(header: str, name: str) -> None:
    """What is no plain name with a port counts as none."""
    assert host_name(header) == name


@pytest.mark.parametrize("address", ["0.0.0.0:8700", "[::]:8700"])
def test_a_wildcard_with_tls_of_its_own_is_refused(address: str) -> None:
    """It says no name, so every other machine would be turned away; behind a proxy the proxy's name is known."""
    with pytest.raises(SettingsError, match="name that the certificate is for") as raised:
        check_listen(address, tls=TLS)
    assert address in raised.value.message
    assert "elis.example.org" in check_listen(address, tls=TLS, proxy_url="https://elis.example.org").names


def test_the_name_that_is_listened_on_is_answered_in_any_case() -> None:
    """Browsers send names in lower case, whatever the settings say."""
    for listen in ("Elis.Example.org:443", "elis.example.org.:443"):
        assert host_name("ELIS.example.org:443") in check_listen(listen, tls=TLS).names


@pytest.mark.parametrize(
    ("listen", "asked_under", "origin"),
    [
        ("elis.example.org:0", "127.0.0.1:8700", "https://elis.example.org:8700"),
        ("elis.example.org:443", "192.0.2.1", "https://elis.example.org"),
        ("192.0.2.1:8700", "192.0.2.1:8700", "https://192.0.2.1:8700"),
        ("[::1]:8700", "[::1]:8700", "https://[::1]:8700"),
    ],
)
def test_with_tls_a_link_names_what_the_certificate_is_for(listen: str, asked_under: str, origin: str) -> None:
    """The command line asks under the address that was bound; the browser is sent to the name in the settings."""
    assert check_listen(listen, tls=TLS).link_origin(asked_under) == origin
