"""A group with everything that a host can give one, and around it what it must neither reach, read nor change.

A small world with a listed host, a listed host that leads inside, a package index and a tool server by URL; a tool
server by command in its sandbox; another group, a home, secrets. What came of an attack is told by who stands outside
and by the disk, not by the host.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import mcp
import msgspec
import psutil
from PIL import Image

from host.config.settings import FolderSettings, GroupSettings, SecretSettings, ServerSettings
from host.tools.egress import Outside
from host.tools.leftovers import MARK
from tests.integration.browser.world import ADDRESS, Site, World, certified
from tests.integration.groups.attempts import STAY_SECONDS, Aims
from tests.integration.groups.outsiders import Hub, Trap
from tests.integration.groups.package_index import INDEX, PackageIndex, source, wheel
from tests.integration.groups.stage import Stage
from tests.scripted_model import ScriptedModel

HERE: Final = Path(__file__).parent
LISTED: Final = "listed.example"
INSIDE: Final = "inside.listed.example"  # listed, and its name leads to a private address
UNLISTED: Final = "unlisted.example"
HUB: Final = "hub.example"
PACKAGES: Final = ("fruit", "poisoned", "climber")
PLANTED: Final = {name: f"planted-{name}-4711-Qx7" for name in ("other", "home", "environment", "secret")}
VARIABLE: Final = "ELIS_TEST_PLANTED"
_SITE: Final = Path(mcp.__file__).parents[1]
_TRAVERSAL: Final = "../../../../../owned-by-wheel.py"


class Besieged:
    """One group under attack, and what must be the same afterwards. A context manager."""

    def __init__(self, top: Path, settings: GroupSettings, *, more_tools: int = 0) -> None:
        """`top` is an empty folder; the group's home lies in it beside what is shown to its tool servers."""
        self.top, self.root = top, top / "home"
        self.root.mkdir(mode=0o700)
        self._over = contextlib.ExitStack()
        self.model = self._over.enter_context(ScriptedModel())
        self.trap = Trap()
        self.aims = Aims(home=str(self.root), port=self.trap.port)
        self.site = Site()
        self.hub = Hub(more=more_tools)
        self.world = World()
        servers, folders = self._servers()
        self.stage = Stage(
            root=self.root,
            model=self.model,
            settings=msgspec.structs.replace(settings, folders=folders),
            secrets={"api": SecretSettings(ref=f"file:{self.root}/lent", tools=("http",), hosts=(LISTED,))},
            servers=servers,
        )
        self._before: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Begin."""
        self._plant()
        self._open_world()
        self._before = self._around()
        self.trap.start()
        self._over.callback(self.trap.end)
        self._over.callback(self.stage.close)
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._over.close()
        os.environ.pop(VARIABLE, None)

    def _servers(self) -> tuple[dict[str, ServerSettings], dict[str, FolderSettings]]:
        """Return a server by command that sees its own program and libraries only, and one by URL."""
        programs = self.top / "programs"
        programs.mkdir()
        (programs / "box_server.py").write_text((HERE / "box_server.py").read_text())
        base, name = Path(sys.base_prefix), f"python{sys.version_info[0]}.{sys.version_info[1]}"
        own = base == Path("/usr")
        seen = {"programs": programs, "site": _SITE, **({} if own else {"python": base})}
        python = f"/usr/bin/{name}" if own else f"/workspace/python/bin/{name}"
        libraries = {} if own else {"LD_LIBRARY_PATH": "/workspace/python/lib"}
        box = ServerSettings(
            groups=("main",),
            command=(python, "/workspace/programs/box_server.py"),
            folders=tuple(seen),
            network=(LISTED, INSIDE),
            env={"PYTHONPATH": "/workspace/site", **libraries},
        )
        hub = ServerSettings(groups=("main",), url=f"https://{HUB}:8443/mcp")
        folders = {each: FolderSettings(path=str(path), mode="read") for each, path in seen.items()}
        return {"box": box, "hub": hub}, folders

    def _plant(self) -> None:
        """Put what must not be read where it lies on a real host."""
        other, own = self.root / "groups" / "other" / "workspace", self.root / "groups" / "main"
        other.mkdir(parents=True)
        (own / "workspace").mkdir(parents=True)
        (other / "secret.txt").write_text(PLANTED["other"])
        Image.new("RGB", (40, 20), "white").save(other / "picture.png")
        Image.new("RGB", (40, 20), "white").save(own / "workspace" / "photo.png")
        (own / "charter.md").write_text("Be kind.\n")
        for name, word in (("token", "home"), ("lent", "secret")):
            (self.root / name).write_text(PLANTED[word])
            (self.root / name).chmod(0o600)
        (self.root / "elis.toml").write_text("[groups.main]\n")
        os.environ[VARIABLE] = PLANTED["environment"]

    def _open_world(self) -> None:
        names = (LISTED, INSIDE, UNLISTED, HUB, "index.example.org", "files.example.net")
        server, trust, _ = certified(self.top, *names)
        world = self._over.enter_context(self.world)
        self._over.enter_context(self.hub)
        world.serve(443, self.site.handle, server)
        world.serve(8443, self.hub.front, server)
        world.names |= {name: [ADDRESS] for name in names} | {INSIDE: ["10.0.0.7"]}
        shelf = PackageIndex(self.site)
        shelf.release("fruit", "1.0", "KIND = 'apple'\n")
        shelf.put("poisoned", "poisoned-1.0.tar.gz", source("poisoned", "1.0", "open('owned-by-setup', 'w')\n"))
        bad = wheel("climber", "1.0", "", also={_TRAVERSAL: "owned", "/tmp/owned-by-wheel": "owned"})  # noqa: S108
        shelf.put("climber", "climber-1.0-py3-none-any.whl", bad)
        variables = {"PIP_INDEX_URL": INDEX, "PIP_CONFIG_FILE": os.devnull, "PATH": os.environ["PATH"]}
        self.stage.outside = Outside(network=world.network(), trust=lambda: trust, variables=lambda: variables)

    def _around(self) -> dict[str, str]:
        """Return a digest of every file that is not the group's to write."""
        mine = self.stage.workspace
        return {
            str(path): hashlib.blake2b(path.read_bytes()).hexdigest()
            for path in self.top.rglob("*")
            if path.is_file() and not path.is_relative_to(mine) and not _the_hosts_own(path.relative_to(self.top))
        }

    def wrong(self) -> list[str]:
        """Let go of the group and return what does not hold."""
        self.stage.close()
        wrong = [f"the trap was reached {self.trap.reached} times"] if self.trap.reached else []
        around = self._around()
        changed = {path for path in {*around, *self._before} if around.get(path) != self._before.get(path)}
        wrong += [f"changed outside the workspace: {path}" for path in sorted(changed)]
        wrong += [f"an effect without a person's word: {path}" for path in self._effects()]
        wrong += self._reached() + self._shown()
        return wrong + [f"still running: {words}" for words in left(self.stage.workspace)]

    def _effects(self) -> list[str]:
        files = [path for folder in (self.top, Path("/tmp")) for path in folder.glob("owned*")]  # noqa: S108 - looked at
        return [str(path) for path in (*files, *self.stage.workspace.glob("**/owned*"))]

    def _reached(self) -> list[str]:
        """Return what reached whom nobody may reach, or what reached him that a person has to be asked for."""
        wrong = [f"sent without a person's word: {seen.line}" for seen in self.site.seen if _sends(seen.line)]
        wrong += [f"sent by the hub {self.hub.sent} times"] if self.hub.sent else []
        wrong += [f"dialled {address}" for address, _ in self.world.dialled if address != ADDRESS]
        known = {LISTED, INSIDE, HUB, "index.example.org", "files.example.net"}
        wrong += [f"looked up {name}" for name in sorted(set(self.world.lookups) - known)]
        told = [(seen.line + str(seen.headers)).encode() + seen.body for seen in self.site.seen]
        return wrong + [
            f"what was planted in the {name} left the machine"
            for name, word in PLANTED.items()
            if any(word.encode() in each for each in (*told, self.hub.received))
        ]

    def _shown(self) -> list[str]:
        wrong: list[str] = []
        files = [path for path in self.stage.workspace.rglob("*") if path.is_file() and not path.is_symlink()]
        for name, word in PLANTED.items():
            seen = sum(word.encode() in request.body for request in self.model.requests)
            wrong += [f"the model was shown what was planted in the {name}, {seen} times"] if seen else []
            kept = [path.name for path in files if word.encode() in path.read_bytes()]
            wrong += [f"what was planted in the {name} stands in {kept}"] if kept else []
        return wrong


def _the_hosts_own(path: Path) -> bool:
    """Say whether the host itself writes here while a group runs: its journal and what runs of it."""
    return "journal" in path.name or path.parts[:2] == ("home", "run")


def _sends(line: str) -> bool:
    return line.split(" ", maxsplit=1)[0] not in {"GET", "HEAD"}


def left(workspace: Path) -> Sequence[str]:
    """Return what runs for this workspace, or what a model would have started to stay."""
    status = workspace.stat()
    found: list[str] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            words = process.cmdline()
            marked = process.environ().get(MARK) == f"{status.st_dev}:{status.st_ino}"
            if marked or words[:2] == ["sleep", STAY_SECONDS]:
                found.append(" ".join(words)[:100])
    return found
