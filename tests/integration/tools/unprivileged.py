"""What a sandbox does for an ordinary user, told as JSON; run by test_bwrap_unprivileged.py in a process of its own."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from browser.network import Network, Streams
from host.tools import cgroups
from host.tools.bwrap import BwrapSandbox
from host.tools.egress import Egress, Outside
from host.tools.jail import Jail
from host.tools.limits import Limits

LIMITS = Limits(memory_bytes=256 << 20, processes=60, file_bytes=8 << 20)
BOMB = """python3 -c '
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0: time.sleep(20); os._exit(0)
        n += 1
except OSError: print(n)'"""
HOLD = "python3 -c 'x = bytearray(100 << 20); import time; time.sleep(3); print(1)'"
COMMANDS = {
    "identity": "id -u; id -g; pwd; echo made > made; cat made",
    "status": "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status",
    "root": "ls /; ls -A /root /home 2>/dev/null | head -3",
    "etc": "cat /etc/shadow",
    "mount": "mount -t tmpfs none /tmp",
    "unshare": "unshare --user true",
    "nested": "bwrap --ro-bind / / true",
    "netlink": "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'",
    "route": "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'",
    "switch": ": >> /proc/sys/kernel/core_pattern",
    "bomb": BOMB,
    "memory": " ".join([f"{HOLD} &"] * 8) + " wait",
}


async def _through_the_door(jail: Jail) -> list[Any]:
    """Run a command with a list of hosts in a world of one server; return what it wrote, and the verdicts told."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        writer.close()

    async def resolve(_host: str) -> list[str]:
        return ["203.0.115.7"]

    async def connect(_address: str, _port: int) -> Streams:
        return await asyncio.open_connection(*server.sockets[0].getsockname())

    told: list[str] = []
    outside = Outside(network=Network(resolve=resolve, connect=connect))
    egress = Egress(
        ("example.org",), group="main", on_connection=lambda made: told.append(made.verdict.value), outside=outside
    )
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        command = "curl -sS http://files.example.org/; curl -sS http://evil.example/; curl -sS http://203.0.115.7/"
        sandbox = BwrapSandbox(jail.roots, limits=LIMITS, egress=egress)
        finished = await sandbox.run(command, cwd=".", timeout_seconds=60, environment={}, caller="t1:1.0")
    egress.close()
    return [finished.output, told]


async def main(workspace: Path) -> dict[str, Any]:
    """Run everything and say what came of it."""
    jail = Jail.open(workspace, {})
    sandbox = BwrapSandbox(jail.roots, limits=LIMITS)
    report: dict[str, Any] = {"check": sandbox.check().text, "groups": cgroups.find() is not None}
    for name, command in COMMANDS.items():
        finished = await sandbox.run(command, cwd=".", timeout_seconds=60, environment={})
        report[name] = [finished.exit_code, finished.output, list(finished.notes)]
    report["door"] = await _through_the_door(jail)
    begun = asyncio.Event()
    command = "setsid nohup sleep 67 & echo x; sleep 67"
    running = asyncio.ensure_future(
        sandbox.run(command, cwd=".", timeout_seconds=60, environment={}, on_output=lambda _: begun.set())
    )
    await asyncio.wait_for(begun.wait(), 30)
    began = time.monotonic()
    running.cancel()
    await asyncio.wait([running])
    report["cancelled"] = [running.cancelled(), time.monotonic() - began]
    jail.close()
    return report


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(Path(sys.argv[1])))))
