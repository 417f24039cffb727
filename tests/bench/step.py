"""What one full step costs: Elis with its gate and its fsynced journal against a bare loop and three peers without.

`python -m tests.bench.step [--json] [--no-peers] [--rounds N] [--folder DIR]` prints a table and asserts nothing about
time (turns.md, Speed). A step is one inference that asks for one call (`read_file` of a tiny file) and that call; its
time is what passes between two requests at the model server, which is the same for all. Contenders take turns.
"""

import argparse
import itertools
import json
import os
import select
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.bench.peers.environment import NoEnvironment, peers_python
from tests.bench.peers.worker import STEPS, write_notes
from tests.bench.spread import Spread
from tests.bench.table import Column, show

ROOT: Final = Path(__file__).resolve().parents[2]
WARM_UP: Final = 2  # rounds that are not counted
ROUNDS: Final = 12  # × 20 steps = 240 steps a contender
ANSWER_SECONDS: Final = 120  # the longest a turn, or the start of a contender, may take
FLOOR: Final = "raw httpx2 loop (floor)"
ELIS: Final = "Elis"
QUIET: Final = {  # nothing but the model server may hear of the peers
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OTEL_SDK_DISABLED": "true",
    "DO_NOT_TRACK": "1",
}
COLUMNS: Final = (
    Column("", "what"),
    Column("steps", "steps"),
    Column("median ms", "median_ms", ".2f"),
    Column("p95 ms", "p95_ms", ".2f"),
    Column("x floor", "ratio_to_floor", ".2f"),
    Column("Elis / it", "elis_to_this", ".2f"),
)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One contender."""

    what: str
    steps: int
    median_ms: float
    p95_ms: float
    ratio_to_floor: float
    elis_to_this: float | None  # Elis's median as a share of this one's


class Child:
    """A process that answers each line with a line."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._shown = " ".join(command[:4])
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                cwd=ROOT,
                env=dict(environment),
            )

    def line(self) -> str:
        """Return its next line; raise RuntimeError with what it said when it has ended or is stuck."""
        assert self._process.stdout is not None
        if select.select([self._process.stdout], [], [], ANSWER_SECONDS)[0]:
            if line := self._process.stdout.readline():
                return line
            problem = "ended"
        else:
            problem = f"did not answer within {ANSWER_SECONDS} s"
        message = f"`{self._shown} …` {problem}: {self.said() or 'it said nothing'}"
        raise RuntimeError(message)

    def said(self) -> str:
        """Return what it wrote to stderr."""
        return self._log.read_text(encoding="utf-8", errors="replace").strip()

    def ask(self, line: str = "") -> str:
        """Send a line and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self.line()

    def close(self) -> None:
        """Let it end, or kill it after a while."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Bench:
    """The contenders of one run and the server they share."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._workspace = folder / "workspace"
        self._workspace.mkdir()
        write_notes(self._workspace)
        self._environment = _environment(folder)
        self._server = self._child([sys.executable, "-m", "tests.bench.step_server"], "server")
        self._base_url = self._server.line().strip()
        self._contenders: dict[str, Child] = {}

    def add(self, what: str, python: Path | str, module: str, folder: Path | None = None, *options: str) -> None:
        """Start a contender; raise RuntimeError when it does not come up."""
        model = f"model-{len(self._contenders)}"
        command = [str(python), "-m", f"tests.bench.{module}", self._base_url, model, str(folder or self._workspace)]
        child = self._child([*command, *options], model)
        child.line()  # it is ready
        self._contenders[what] = child

    def round(self) -> dict[str, list[float]]:
        """Let each contender run one turn; return the milliseconds of each step."""
        times: dict[str, list[float]] = {}
        for index, (what, child) in enumerate(self._contenders.items()):
            answer: dict[str, Any] = json.loads(child.ask())
            arrivals: list[int] = json.loads(self._server.ask(f"model-{index}"))
            if "error" in answer or len(arrivals) != STEPS + 1:
                problem = answer.get("error", f"{len(arrivals)} requests instead of {STEPS + 1}")
                message = f"{what}: {problem}\n{child.said()}"
                raise RuntimeError(message)
            times[what] = [(after - before) / 1e6 for before, after in itertools.pairwise(arrivals)]
        return times

    def _child(self, command: Sequence[str], name: str) -> Child:
        child = Child(command, self._environment, self._folder / f"{name}.log")
        self._stack.callback(child.close)
        return child


def _environment(folder: Path) -> dict[str, str]:
    """Return a bare environment: no keys, no proxies, no home that is anybody's."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return kept | {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"} | QUIET


@contextmanager
def a_bench(folder: Path | None) -> Generator[tuple[Bench, Path]]:
    """Start the server; end every process and remove every file at the end."""
    with tempfile.TemporaryDirectory(prefix="elis-step-", dir=folder) as name, ExitStack() as stack:
        yield Bench(Path(name), stack), Path(name)


def add_own(bench: Bench, folder: Path) -> None:
    """Start the floors and Elis."""
    own, raw = sys.executable, "peers.raw_loop"
    bench.add(FLOOR, own, raw)
    bench.add("raw loop, streamed", own, raw, None, "--stream")
    commits = ("--stream", "--commits", str(folder / "commits.db"))
    bench.add("raw loop, streamed, 4 fsynced commits", own, raw, None, *commits)
    for what, options in ((ELIS, ()), ("Elis, one session for all turns", ("--session",))):
        place = folder / ("elis-session" if options else "elis")
        place.mkdir()
        bench.add(what, own, "step_elis", place, *options)


def add_peers(bench: Bench, folder: Path) -> None:
    """Start the peers; raise NoEnvironment."""
    python = peers_python()
    bench.add("pydantic-ai, not durable", python, "peers.with_pydantic_ai")
    bench.add("openai-agents, not durable", python, "peers.with_openai_agents")
    bench.add("LangGraph, not durable", python, "peers.with_langgraph")
    saved = ("--checkpoints", str(folder / "checkpoints.db"))
    bench.add("LangGraph, SQLite checkpointer", python, "peers.with_langgraph", None, *saved)


def measure(folder: Path | None, rounds: int, *, peers: bool) -> tuple[list[Row], list[str]]:
    """Run the rounds; return the rows and what has to be said about them."""
    notes: list[str] = []
    times: defaultdict[str, list[float]] = defaultdict(list)
    with a_bench(folder) as (bench, place):
        add_own(bench, place)
        if peers:
            try:
                add_peers(bench, place)
            except NoEnvironment as error:
                notes.append(f"THE PEERS WERE NOT MEASURED: {error}")
        for number in range(WARM_UP + rounds):
            for what, taken in bench.round().items():
                if number >= WARM_UP:
                    times[what] += taken
    return rows_of(times), notes


def rows_of(times: Mapping[str, Sequence[float]]) -> list[Row]:
    """Sum up the milliseconds of each contender's steps."""
    spreads = {what: Spread.of(taken) for what, taken in times.items()}
    floor, elis = spreads[FLOOR].median, spreads[ELIS].median
    return [
        Row(
            what=what,
            steps=spread.count,
            median_ms=round(spread.median, 3),
            p95_ms=round(spread.p95, 3),
            ratio_to_floor=round(spread.median / floor, 2),
            elis_to_this=None if what == ELIS else round(elis / spread.median, 2),
        )
        for what, spread in spreads.items()
    ]


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.step", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-peers", action="store_true", help="measure Elis and the floor only")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns of {STEPS} steps each contender runs")
    parser.add_argument("--folder", type=Path, help="where journals are written; default: the temporary folder")
    options = parser.parse_args()
    rows, notes = measure(options.folder, options.rounds, peers=not options.no_peers)
    if any(note.startswith("THE PEERS") for note in notes) and options.json:
        print(*notes, sep="\n", file=sys.stderr)
    show("step", COLUMNS, rows, notes=notes, as_json=options.json)


if __name__ == "__main__":
    main()
