"""TLS files on a real disk: what cannot serve is refused with its key and file, and what is copied is no secret."""

from pathlib import Path

import pytest

from host.config.home import Home
from host.config.tls import check_pair, trust
from host.errors import SettingsError
from tests.acceptance.certificates import made


def test_a_certificate_with_its_own_key_is_accepted(tmp_path: Path) -> None:
    """Also when an authority issued it and the chain follows."""
    authority = made(tmp_path, "authority")
    issued = made(tmp_path, "issued", issuer=authority)
    check_pair(authority.certificate, authority.key)
    check_pair(issued.certificate, issued.key)
    with pytest.raises(SettingsError, match="is not the unencrypted PEM key"):
        check_pair(issued.certificate, authority.key)


def test_files_that_cannot_serve_are_named_with_their_key(tmp_path: Path) -> None:
    """Missing, unreadable, no certificate, and a key that would ask for a password."""
    pair = made(tmp_path, "own")
    locked = made(tmp_path, "locked", password="SHIBBOLETH")
    with pytest.raises(SettingsError, match=r"tls_certificate: .*/none\.pem cannot be read \(No such file"):
        check_pair(tmp_path / "none.pem", pair.key)
    with pytest.raises(SettingsError, match=f"tls_key: {tmp_path} cannot be read"):
        check_pair(pair.certificate, tmp_path)
    with pytest.raises(SettingsError, match=r"tls_certificate: .*/own\.key holds no certificate"):
        check_pair(pair.key, pair.key)
    with pytest.raises(SettingsError, match=r"tls_key: .*/locked\.key is not the unencrypted"):
        check_pair(locked.certificate, locked.key)


def test_only_the_hosts_own_certificate_is_copied_and_a_stale_copy_goes(tmp_path: Path) -> None:
    """A key in the same file stays where it is; so does the authority, whose other customers are not this host."""
    issued = made(tmp_path, "issued", issuer=made(tmp_path, "authority"))
    own, _, _chain = issued.certificate.read_text().partition("-----END CERTIFICATE-----")
    issued.certificate.write_text(issued.key.read_text() + issued.certificate.read_text())
    home = Home(root=tmp_path / "home")
    home.prepare()
    home.keep_certificate(issued.certificate)
    assert home.certificate.read_text() == own + "-----END CERTIFICATE-----\n"
    assert len(trust(home.certificate).get_ca_certs()) <= 1
    home.keep_certificate(None)
    home.keep_certificate(None)
    assert not home.certificate.exists()


def test_a_damaged_copy_is_told_with_the_way_out(tmp_path: Path) -> None:
    """A command line that met half a file says what writes it anew."""
    (tmp_path / "copy.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    with pytest.raises(SettingsError, match="start the host again"):
        trust(tmp_path / "copy.pem")
