"""Secrets from the programs of 1Password, Bitwarden and the password store: what is asked, what an answer means."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from host.errors import SecretMissing
from host.tools.child import readable_within
from host.vault.references import resolve
from tests.integration.vault.stand_ins import install

VALUE: Final = "s3cr3t-Value/42+x=="
BOUND: Final = 30.0
NOT_SIGNED_IN: Final = "[ERROR] 2026/11/30 12:00:00 You are not currently signed in. Please run `op signin --help`\n"
NO_ITEM: Final = (
    '[ERROR] 2026/11/30 12:00:00 could not read secret op://Work/X/token: could not get item Work/X: "X" isn\'t an item'
)
ASKED: Final = [
    ("op://Work/GitHub/token", "op", ["read", "--no-newline", "op://Work/GitHub/token"]),
    ("op:Work/GitHub/token", "op", ["read", "--no-newline", "op://Work/GitHub/token"]),
    ("bw:github", "bw", ["--nointeraction", "--raw", "get", "password", "github"]),
    ("bw:notes/github", "bw", ["--nointeraction", "--raw", "get", "notes", "github"]),
    ("pass:web/github", "pass", ["show", "web/github"]),
]


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize(("reference", "program", "arguments"), ASKED)
def test_a_program_is_asked_as_it_is_documented(
    tmp_path: Path, reference: str, program: str, arguments: list[str]
) -> None:
    """Without a shell, with its input closed, and its answer is the value."""
    told = install(tmp_path, program, out=f"{VALUE}\n")
    assert resolve(reference, {"PATH": str(tmp_path)}, base=tmp_path) == VALUE
    given = json.loads(told.read_text())
    assert given["arguments"] == arguments
    assert given["stdin"] == ""


@pytest.mark.clause("SEC-3")
def test_a_program_sees_what_it_needs_of_the_host_s_environment_and_nothing_else(tmp_path: Path) -> None:
    """Its own variables and where things lie; no key of a provider, nothing of another vault, no option."""
    needed = {"HOME": "/home/me", "OP_SERVICE_ACCOUNT_TOKEN": "t", "OP_SESSION_work": "s", "HTTPS_PROXY": "http://p"}
    other = {"OPENAI_API_KEY": "k", "BW_SESSION": "b", "OP_FORMAT": "json", "LD_PRELOAD": "x", "ELIS_HOME": "/e"}
    told = install(tmp_path, "op", out=VALUE)
    resolve("op:a/b/c", {**needed, **other, "PATH": str(tmp_path)}, base=tmp_path)
    seen = json.loads(told.read_text())["environment"]
    assert needed.items() <= seen.items()
    assert not other.keys() & seen.keys()
    assert seen["LC_ALL"] == "C.UTF-8"


@pytest.mark.clause("SEC-1")
def test_gpg_is_told_that_nobody_can_type_a_passphrase(tmp_path: Path) -> None:
    """What the operator set for gpg stays."""
    told = install(tmp_path, "pass", out=VALUE)
    environment = {"PATH": str(tmp_path), "PASSWORD_STORE_GPG_OPTS": "--no-throw-keyids", "GNUPGHOME": "/g"}
    resolve("pass:x", environment, base=tmp_path)
    seen = json.loads(told.read_text())["environment"]
    assert seen["PASSWORD_STORE_GPG_OPTS"] == "--no-throw-keyids --pinentry-mode=error"
    assert seen["GNUPGHOME"] == "/g"


FAILURES: Final = [
    ("op:a/b/c", "op", "", NOT_SIGNED_IN, 1, "not signed in; .*OP_SERVICE_ACCOUNT_TOKEN"),
    ("op:a/b/c", "op", "", "[ERROR] No accounts configured for use with 1Password CLI.", 1, "not signed in"),
    ("op:a/b/c", "op", "", "[ERROR] error initializing client: authorization prompt dismissed", 1, "app is locked"),
    ("op:a/b/c", "op", "", NO_ITEM, 1, "no such vault, item or field"),
    ("op:a/b/c", "op", VALUE, "panic", 2, "ended with code 2; run it by hand"),
    ("bw:x", "bw", "", "You are not logged in.", 1, "not logged in; run `bw login`"),
    ("bw:x", "bw", "", "Vault is locked.", 1, "locked; run `bw unlock`.*BW_SESSION"),
    ("bw:x", "bw", "", "Not found.", 1, "no such item"),
    ("bw:x", "bw", "", "More than one result was found. Try getting a specific object by `id`", 1, "write the id"),
    ("bw:x", "bw", "", "", 0, "answered with nothing"),
    ("pass:x", "pass", "", "Error: x is not in the password store.\n", 1, "no such entry"),
    ("pass:x", "pass", "", 'Error: password store is empty. Try "pass init".\n', 1, "no password store"),
    ("pass:x", "pass", "", "gpg: decryption failed: No secret key\n", 2, "gpg cannot decrypt it.*locked or not there"),
    ("pass:x", "pass", "\nuser: me\n", "", 0, "answered with nothing"),
    ("pass:web", "pass", "web\n├── github\n└── mail\n", "", 0, "a folder of the password store"),
    ("pass:x", "pass", "x" * 20_000, "", 0, "longer than"),
    ("op:a/b/c", "op", "x" * 1_000_000, "", 0, "more than any secret holds"),
]


@pytest.mark.clause("SEC-1", "SEC-2")
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: f"{failure[1]}: {failure[5][:20]}")
def test_each_way_to_fail_has_a_sentence_of_its_own_with_the_remedy(
    tmp_path: Path, failure: tuple[str, str, str, str, int, str]
) -> None:
    """It names the reference and repeats nothing of what the program wrote."""
    reference, program, out, err, code, cause = failure
    install(tmp_path, program, out=out, err=err + VALUE, code=code)
    with pytest.raises(SecretMissing, match=f"{reference} yields no secret: .*{cause}") as caught:
        resolve(reference, {"PATH": str(tmp_path)}, base=tmp_path)
    assert VALUE not in caught.value.message
    assert ";" in caught.value.message


@pytest.mark.clause("SEC-1", "SEC-2")
def test_a_program_that_is_missing_or_cannot_be_started_is_named(tmp_path: Path) -> None:
    """The remedy is to install it, or to mend it."""
    with pytest.raises(SecretMissing, match="`bw` is not installed, or not on the host's PATH"):
        resolve("bw:x", {"PATH": str(tmp_path)}, base=tmp_path)
    (tmp_path / "bw").write_text("#!/nowhere\n")
    (tmp_path / "bw").chmod(0o755)
    with pytest.raises(SecretMissing, match="`bw` cannot be started"):
        resolve("bw:x", {"PATH": str(tmp_path)}, base=tmp_path)


@pytest.mark.clause("SEC-1", "SEC-2")
def test_a_program_that_waits_is_ended_at_the_bound(tmp_path: Path) -> None:
    """A prompt that nobody sees does not hold a turn."""
    install(tmp_path, "op", out=VALUE, seconds=600)
    began = time.monotonic()
    with pytest.raises(SecretMissing, match=r"did not answer within 1 s; .*unlock"):
        resolve("op:a/b/c", {"PATH": str(tmp_path)}, base=tmp_path, seconds=1)
    assert time.monotonic() - began < BOUND


@pytest.mark.clause("SEC-1")
def test_a_program_ends_with_a_host_that_is_killed(tmp_path: Path) -> None:
    """Nothing that knows a secret stays behind."""
    told = tmp_path / "pid"
    waits = tmp_path / "waits"
    waits.write_text(f"#!/bin/sh\necho $$ >{told}.new; mv {told}.new {told}; exec sleep 4713\n")
    waits.chmod(0o755)
    code = f"from host.vault.command import run; run([{str(waits)!r}], {{'PATH': '/usr/bin:/bin'}}, 60)"
    host = subprocess.Popen([sys.executable, "-c", code])
    while not told.exists():
        assert host.poll() is None
        time.sleep(0.01)
    handle = os.pidfd_open(int(told.read_text()))
    host.kill()
    host.wait()
    assert readable_within(handle, 5.0)
    os.close(handle)


@pytest.mark.clause("SEC-1")
def test_what_a_program_leaves_running_does_not_hold_its_answer(tmp_path: Path) -> None:
    """Helpers such as gpg-agent may keep the output open."""
    script = tmp_path / "pass"
    script.write_text(f"#!/bin/sh\n/bin/sleep 5 &\necho {VALUE}\n")
    script.chmod(0o755)
    assert resolve("pass:x", {"PATH": f"{tmp_path}:/usr/bin:/bin"}, base=tmp_path, seconds=4) == VALUE


@pytest.mark.clause("SEC-1")
def test_a_key_of_several_lines_comes_whole_and_a_password_entry_s_further_lines_do_not(tmp_path: Path) -> None:
    """The password store's own rule: the first line is the password."""
    install(tmp_path, "op", out="-----BEGIN KEY-----\nabc\n-----END KEY-----\n")
    install(tmp_path, "pass", out=f"{VALUE}\nuser: me\nurl: https://x.example\n")
    environment = {"PATH": str(tmp_path)}
    assert resolve("op:a/b/c", environment, base=tmp_path) == "-----BEGIN KEY-----\nabc\n-----END KEY-----"
    assert resolve("pass:x", environment, base=tmp_path) == VALUE
