"""The command line and a host that listens with TLS: the certificate it trusts, and files that cannot serve (PAN-2)."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from host.app.doctor import Finding
from host.config.home import Home
from host.panel.app import build_app
from host.panel.listen import TlsFiles, check_listen
from host.panel.server import PanelServer
from host.panel.sessions import Sessions
from host.record.host_record import HostMemory
from tests.acceptance.certificates import Pair, made
from tests.acceptance.command import elis
from tests.integration.panel.conftest import TOKEN, now_us
from tests.integration.panel.fake_directory import FakeDirectory
from tests.integration.panel.fake_group import FakeGroup


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a prepared home."""
    found = Home(root=tmp_path / "home")
    found.prepare()
    found.token_file.write_text(TOKEN)
    return found


@asynccontextmanager
async def serving(home: Home, pair: Pair) -> AsyncGenerator[PanelServer]:
    """Run a panel with a certificate and leave its address in the home."""
    record = HostMemory(now_us)
    site = check_listen("127.0.0.1:0", tls=TlsFiles(certificate=pair.certificate, key=pair.key))
    directory = FakeDirectory(FakeGroup("main"))
    app = build_app(directory, Sessions(record, now_us), token=TOKEN, site=site, record=record, now_us=now_us)
    server = PanelServer(app, site, drain_seconds=1)
    await server.start()
    home.write_address(f"https://{server.address}")
    try:
        yield server
    finally:
        await server.stop()


@pytest.mark.clause("PAN-2")
async def test_the_copied_certificate_is_trusted_under_any_name_and_from_any_issuer(home: Home, tmp_path: Path) -> None:
    """Self-signed or with a chain: commands and doctor reach the host of their home."""
    authority = made(tmp_path, "authority")
    for pair in (made(tmp_path, "own"), made(tmp_path, "issued", issuer=authority)):
        home.keep_certificate(pair.certificate)
        async with serving(home, pair) as server:
            ran = await elis(home, "panel", "--json")
            with home.hold():
                doctor = await elis(home, "doctor", "--json")
        assert (ran.code, ran.err) == (0, "")
        assert ran.json()["url"].startswith(f"https://{server.address}/login?code=")
        groups = next(finding for finding in doctor.json() if finding["name"] == "groups")
        assert groups == {"name": "groups", "ok": True, "detail": "1 of 1 awake", "fix": ""}
        assert set(groups) == set(Finding.__struct_fields__)


@pytest.mark.clause("PAN-2")
async def test_another_certificate_of_the_same_issuer_is_not_trusted(home: Home, tmp_path: Path) -> None:
    """The token goes to the host of this home or nowhere; the words do not say that no host runs."""
    authority = made(tmp_path, "authority")
    home.keep_certificate(made(tmp_path, "issued", issuer=authority).certificate)
    async with serving(home, made(tmp_path, "other", issuer=authority)):
        ran = await elis(home, "status", "--json")
    assert (ran.code, ran.out) == (15, "")
    assert "shows another certificate" in ran.err


@pytest.mark.clause("PAN-2")
async def test_a_name_beyond_this_machine_without_tls_ends_the_start_with_one_line(home: Home) -> None:
    """Exit 1 before anything is bound; the line names the setting and the ways out, and doctor says the same."""
    home.settings.write_text('[host]\nlisten = "elis.example.org:0"\n[groups.main]\n')
    up, doctor = await elis(home, "up", "--json"), await elis(home, "doctor", "--json")
    assert (up.code, up.out) == (1, "")
    assert "host.listen: reaches beyond this machine" in up.err
    assert "tls_certificate" in up.err
    assert "Traceback" not in up.err
    found = {finding["name"]: finding["detail"] for finding in doctor.json()}
    assert "reaches beyond this machine" in found["settings"]


@pytest.mark.clause("PAN-2", "OPS-2")
async def test_doctor_finds_tls_files_that_cannot_serve_before_a_start_does(home: Home, tmp_path: Path) -> None:
    """With the words of the start."""
    home.settings.write_text(
        f'[host]\nlisten = "localhost:0"\ntls_certificate = "{tmp_path}/no.pem"\ntls_key = "{tmp_path}/no.key"\n'
        '[models.main]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n[groups.main]\n'
    )
    found = {finding["name"]: finding for finding in (await elis(home, "doctor", "--json")).json()}
    assert not found["address"]["ok"]
    assert f"[host] tls_certificate: {tmp_path}/no.pem cannot be read" in found["address"]["detail"]


@pytest.mark.clause("PAN-2")
async def test_tls_files_that_cannot_serve_end_the_start_with_one_line(home: Home, tmp_path: Path) -> None:
    """Exit 1, the key of the settings and the file are named; no trace, and no other home is harmed."""
    pair = made(tmp_path, "own")
    home.settings.write_text(
        f'[host]\nlisten = "127.0.0.1:0"\ntls_certificate = "{pair.certificate}"\ntls_key = "{tmp_path}/no.key"\n'
        '[models.main]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n[groups.main]\n'
    )
    ran = await elis(home, "up", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert f"[host] tls_key: {tmp_path}/no.key cannot be read" in ran.err
    assert "Traceback" not in ran.err
