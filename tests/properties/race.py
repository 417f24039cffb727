"""A process that swaps links, folders and files as fast as it can, and file tools that try to be led astray (PATH-1).

`python -m tests.properties.race [--tries 10000] [--seed N]` makes that many tries by `openat2` and as many by the walk
by hand, and tells what came of each. A race that nobody could win shows nothing: so the same tries are also made in
the way that the jail avoids, by a look at the real path and a use of the path after it, and that one is beaten.
"""

import argparse
import collections
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final, Literal

from host.errors import PathViolation, ToolFailed
from host.tools.jail import Jail, Missing, Present

SECRET: Final = "planted outside"
MINE: Final = "inside"
ELSEWHERE: Final = "elsewhere"  # a name that only the folder outside has
BOUND: Final = 10.0  # seconds
_BEATEN: Final = "careless read: OUTSIDE"
_MOST: Final = 200_000  # careless tries; one in ten is beaten on a machine at rest, one in a thousand on a busy one

Deed = Literal["read", "write", "list"]
Try = tuple[Deed, str]

READS: Final = (
    "door/secret", "name", "deep/moved/up", "moved/up", "door/../door/secret", "chain", "chain2/secret", "roam/up",
)  # fmt: skip
WRITES: Final = ("door/secret", "name", "door/../door/secret", "door/new/file", "chain2/secret", "chain2/fresh")
LISTS: Final = ("door", "chain2", "door/new")
TRIES: Final[tuple[Try, ...]] = (
    *(("read", path) for path in READS), *(("write", path) for path in WRITES), *(("list", path) for path in LISTS),
)  # fmt: skip

# Exchanges `door` (a folder) with a link to the folder outside and `name` (a file) with a link to the secret, each in
# one step of the kernel, so that no try finds nothing there; moves `moved` between two depths and `roam` out of the
# workspace and back, so that a ".." in a link leads somewhere else than when it was looked at.
_SWAPPER: Final = """
import ctypes, os, select, sys
ws = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(ws)
def exchange(one, other):
    if libc.renameat2(-100, one, -100, other, 2):
        raise OSError(ctypes.get_errno(), "renameat2")
def move(here, there):
    try:
        os.rename(here, there)
    except OSError:
        pass
def mend():
    if not os.path.islink("name") and not os.path.islink("name.link"):  # a write had the link's place
        os.symlink("../outside/secret", "name.new")
        os.rename("name.new", "name.link")
exchange(b"door", b"door.link")
print("ready", flush=True)
turn = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    turn += 1
    for _ in range(4):
        exchange(b"door", b"door.link")
        exchange(b"name", b"name.link")
    mend()
    move("deep/moved", "moved") if turn % 2 else move("moved", "deep/moved")
    move("roam", "../roam") if turn % 2 else move("../roam", "roam")
print(turn, flush=True)
"""


class Race:
    """A jail whose workspace another process is swapping about, what lies outside, and what came of each try."""

    def __init__(self, top: Path, *, kernel: bool) -> None:
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.breaches: list[str] = []
        self.swaps = 0  # rounds of the swapper; known at the end
        self._top = top
        self._ws, self._outside = top / "ws", top / "outside"
        self._number = 0
        self._lay_out()
        self._jail = Jail.open(self._ws, {}, kernel=kernel)

    def _lay_out(self) -> None:
        ws, outside = self._ws, self._outside
        for folder in (ws / "door", ws / "deep" / "moved", ws / "roam", outside):
            folder.mkdir(parents=True)
        for file in (ws / "door" / "secret", ws / "plain", ws / "name"):
            file.write_text(MINE)
        (ws / "door.link").symlink_to(outside)
        (ws / "name.link").symlink_to(outside / "secret")
        (ws / "chain").symlink_to("name")
        (ws / "chain2").symlink_to("door")
        (ws / "deep" / "moved" / "up").symlink_to("../../plain")  # one level too high while it is moved
        (ws / "roam" / "up").symlink_to("../plain")  # the other one while it is outside
        (self._top / "plain").write_text(SECRET)
        (outside / "secret").write_text(SECRET)
        (outside / ELSEWHERE).write_text(SECRET)

    @contextlib.contextmanager
    def on(self) -> Generator["Race"]:
        """Let the swapper run meanwhile."""
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SWAPPER, str(self._ws)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as swapper:
            assert swapper.stdout is not None
            assert swapper.stdin is not None
            assert swapper.stdout.readline() == b"ready\n"
            try:
                yield self
            finally:
                swapper.stdin.close()
                self.swaps = int(swapper.stdout.readline() or b"0")
                swapper.wait(BOUND)
                self._jail.close()

    def attempt(self, deed: Deed, path: str) -> None:
        """Make one try by the jail and count what came of it."""
        self._number += 1
        try:
            came = self._done(deed, path)
        except PathViolation as error:
            came = "led out, refused" if "leads out" in str(error) else "moved about, refused"
        except Missing:
            came = "not there"
        except ToolFailed:
            came = "failed otherwise"
        self.outcomes[f"{deed}: {came}"] += 1

    def _done(self, deed: Deed, path: str) -> str:
        match deed:
            case "write":
                self._jail.write(path, b"written %d" % self._number, key=f"t:{self._number}", admit=_anything)
                return MINE
            case "read":
                leaked = SECRET.encode() in self._jail.read(path, 1 << 20).data
            case "list":
                with self._jail.folder(path) as (descriptor, _):
                    leaked = ELSEWHERE in os.listdir(descriptor)  # noqa: PTH208 - a descriptor has no path
        if leaked:
            self.breaches.append(f"{deed} of {path} got what lies outside")
        return "OUTSIDE" if leaked else MINE

    def attempt_carelessly(self, path: str) -> None:
        """Make the try that the jail is there to avoid: look where the path leads, then use the path."""
        came = "led out, refused"
        with contextlib.suppress(OSError):
            file = self._ws / path
            if file.resolve().is_relative_to(self._ws):
                came = "OUTSIDE" if SECRET in file.read_text() else MINE
        self.outcomes[f"careless read: {came}"] += 1

    def beats_the_careless(self, tries: int = 0) -> bool:
        """Make so many careless tries, and more until one was beaten; return whether one was."""
        for number in range(_MOST):
            if number >= tries and self.outcomes[_BEATEN]:
                break
            self.attempt_carelessly(READS[number % len(READS)])
        return self.outcomes[_BEATEN] > 0

    def changed_outside(self) -> list[str]:
        """Return what of the outside is not as it was; called while nothing is swapped, or what is looked at rests."""
        wrong = [
            f"{file.name} outside was written"
            for file in (self._outside / "secret", self._outside / ELSEWHERE, self._top / "plain")
            if file.read_text() != SECRET
        ]
        wrong += [f"{name} was made outside" for name in set(os.listdir(self._outside)) - {"secret", ELSEWHERE}]  # noqa: PTH208 - names
        wrong += [f"{name} was made beside" for name in set(os.listdir(self._top)) - {"ws", "outside", "plain", "roam"}]  # noqa: PTH208 - names
        return wrong

    def won(self, deed: Deed) -> tuple[int, int]:
        """Return how many tries of a kind ended inside, and how many met a way out."""
        refused = sum(count for came, count in self.outcomes.items() if came.startswith(deed) and "refused" in came)
        return self.outcomes[f"{deed}: {MINE}"], refused


def _anything(_shown: str, _present: Present | None) -> None:
    """Admit every write."""


def main() -> int:
    """Run it alone and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311 - an order to try things in
    wrong: list[str] = []
    print(f"seed {arguments.seed}; {arguments.tries} tries each way")  # noqa: T201 - a command of its own
    for kernel in (True, False):
        with tempfile.TemporaryDirectory(prefix="elis-jail-") as folder:
            race = Race(Path(folder), kernel=kernel)
            with race.on():
                for _ in range(arguments.tries):
                    race.attempt(*chance.choice(TRIES))
                if not race.beats_the_careless(arguments.tries):
                    wrong.append("the careless way was never beaten: this race shows nothing")
            wrong += race.breaches + race.changed_outside()
        print(f"by {'openat2' if kernel else 'the walk'}, the swapper's rounds: {race.swaps}")  # noqa: T201
        print("\n".join(f"  {came}: {count}" for came, count in sorted(race.outcomes.items())))  # noqa: T201
    print("\n".join(wrong) or "no byte was read or written outside")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
