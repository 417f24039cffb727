"""Another machine, as far as ssh can tell: a real sshd on loopback with keys and settings of its own, in one folder.

The account that logs in there is the test's own user. How it is reached is said by a file of settings for ssh, as an
operator would write it, which an `ssh` on a search path of its own reads.
"""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import psutil
import pytest

BOUND: Final = 20.0  # seconds; the one bound on every wait
HOST: Final = "far"  # as ssh's settings know it


class FarMachine(msgspec.Struct, frozen=True):
    """A running sshd."""

    top: Path
    port: int
    sshd: "subprocess.Popen[str]"

    @property
    def programs(self) -> Path:
        """A search path with an `ssh` that knows the machine."""
        return self.top / "programs"

    @property
    def root(self) -> Path:
        """The folder there that groups work in."""
        return self.top / "far" / "work"

    @property
    def known_hosts(self) -> Path:
        """The host keys that ssh trusts."""
        return self.top / "known_hosts"

    def sessions(self) -> list[psutil.Process]:
        """Return what sshd runs for those who are logged in, without what these run."""
        return [each for each in psutil.Process(self.sshd.pid).children(recursive=True) if each.name() == "sshd"]

    def agents(self) -> list[psutil.Process]:
        """Return the processes that the logged in run there."""
        return [each for each in psutil.Process(self.sshd.pid).children(recursive=True) if each.name() != "sshd"]

    def cut_all(self) -> None:
        """Cut every connection, as a broken line does."""
        for session in self.sessions():
            with suppress(psutil.NoSuchProcess):
                session.kill()


@contextmanager
def far_machine(top: Path) -> Generator[FarMachine]:
    """Start an sshd with everything of its own in `top`; end it and what it runs."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    assert sshd is not None, "sshd is missing: sh deploy/setup test, or apt-get install openssh-server"
    machine = _laid_out(top, sshd)
    try:
        yield machine
    finally:
        family = psutil.Process(machine.sshd.pid).children(recursive=True)
        machine.sshd.kill()
        machine.sshd.wait(BOUND)
        for process in family:
            with suppress(psutil.NoSuchProcess):  # it went with sshd
                process.kill()
        psutil.wait_procs(family, timeout=BOUND)
        if machine.sshd.stderr is not None:
            machine.sshd.stderr.close()


def _laid_out(top: Path, sshd: str) -> FarMachine:
    for folder in ("programs", "far/work"):
        (top / folder).mkdir(parents=True)
    for key in ("host_key", "user_key", "poor_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", top / key], check=True)
    # Who comes with the poor key finds no program there.
    poor = 'command="PATH=/nowhere; eval \\"$SSH_ORIGINAL_COMMAND\\"" ' + (top / "poor_key.pub").read_text()
    (top / "authorized_keys").write_text((top / "user_key.pub").read_text() + poor)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    (top / "known_hosts").write_text(f"[127.0.0.1]:{port} {(top / 'host_key.pub').read_text()}")
    (top / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {top}/host_key\nAuthorizedKeysFile {top}/authorized_keys\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\nLogLevel INFO\nAcceptEnv *\n"
    )
    (top / "ssh_config").write_text(
        f"Host {HOST}\n  HostName 127.0.0.1\n  Port {port}\n  User {pwd.getpwuid(os.getuid()).pw_name}\n"
        f"  IdentityFile {top}/user_key\n  IdentitiesOnly yes\n  UserKnownHostsFile {top}/known_hosts\n"
        "  GlobalKnownHostsFile none\n  SendEnv *\n  ForwardAgent yes\n"
    )
    client = top / "programs" / "ssh"
    client.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {top}/ssh_config "$@"\n')
    client.chmod(0o755)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd under root shuts its helper in
    process = subprocess.Popen([sshd, "-D", "-e", "-f", top / "sshd_config"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    while "listening on" not in said:
        line = process.stderr.readline()
        assert line, f"sshd ended: {said}"
        said += line
    return FarMachine(top, port, process)


def running(words: str) -> list[psutil.Process]:
    """Return the living processes whose command line is exactly `words`."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["cmdline"] == words.split() and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(BOUND):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FarMachine]:
    """Another machine, for the tests of a module."""
    with far_machine(tmp_path_factory.mktemp("machine")) as started:
        yield started


def halt(process: psutil.Process) -> None:
    """Let a process stand still, as if its line were cut without a word."""
    process.send_signal(signal.SIGSTOP)
