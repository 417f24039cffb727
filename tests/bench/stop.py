"""How long a Stop takes, from the API's receipt to the durable final event, in every state a turn can be in (STOP-2).

`python -m tests.bench.stop [--runs 200] [--state NAME …] [--json]` starts real hosts (Ray, API, sandbox) and a
scripted model. A time is how long `POST …/stop` took for its client, which is more than receipt to final event: the
answer leaves when that event is durable. It asserts nothing about time, but that each turn ended `interrupted`, once.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.bench.running_host import GROUP, WAIT_SECONDS, RunningHost
from tests.bench.spread import Spread
from tests.bench.table import Column, show
from tests.scripted_model import Call, Reply, ScriptedModel, Step

RUNS: Final = 200
WARM_UP: Final = 5
NOTES: Final = 150  # more steps than any turn lives to see; each reads another file, so that nothing repeats
SPREAD_SECONDS: Final = 0.04  # a Stop comes up to so long after its state was reached: at any point of a step
BLOCKED_SECONDS: Final = 3
LIMIT_MS: Final = 100.0
BLOCKED_LIMIT_MS: Final = 250.0
GONE_LIMIT_MS: Final = 1000.0
MARK: Final = f"90.0{os.getpid()}"  # seconds to sleep; the digits find the processes again
LONG_TEXT: Final = "word " * 4000

SETTINGS: Final = """
[host]
listen = "127.0.0.1:0"
default_group = "{group}"
[models.scripted]
provider = "openai"
base_url = "{base_url}"
model = "scripted"
[groups.{group}]
model = "scripted"
[groups.{group}.budget]
tokens = inf
cost_usd = inf
steps = inf
"""

COLUMNS: Final = (
    Column("Stop …", "state"),
    Column("runs", "runs"),
    Column("p50 ms", "p50_ms", ".1f"),
    Column("p95 ms", "p95_ms", ".1f"),
    Column("p99 ms", "p99_ms", ".1f"),
    Column("max ms", "max_ms", ".1f"),
    Column("p99 limit", "limit_ms", ".0f"),
    Column("x floor", "ratio_to_floor", ".1f"),
    Column("lanes replaced", "replaced"),
    Column("children gone p99 ms", "gone_p99_ms", ".1f"),
    Column("max ms", "gone_max_ms", ".1f"),
)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One state."""

    state: str
    runs: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    limit_ms: float | None  # what the specification asks of the p99
    ratio_to_floor: float  # medians; the floor is a Stop of an idle group
    replaced: int | None = None  # Stops after which the lane had to be replaced
    gone_p99_ms: float | None = None  # until no process of the call is left, from the same instant
    gone_max_ms: float | None = None


class Stop(msgspec.Struct, frozen=True):
    """One Stop; times in milliseconds."""

    answered: float
    gone: float | None
    replaced: bool  # the lane did not end the turn by itself, so its thread was abandoned


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A state in which a turn is stopped."""

    name: str
    answer: Callable[[dict[str, Any], int], Step]  # what the model says
    reach: Callable[[RunningHost, str], None]  # returns once the turn is in the state
    faults: str = ""
    limit_ms: float = LIMIT_MS
    has_children: bool = False


# ---- what the model says


def at_length(_request: dict[str, Any], _index: int) -> Step:
    """Reply for a minute, a piece every 15 ms."""
    return Reply(LONG_TEXT, chunks=4000, chunk_delay=0.015)


def step_by_step(_request: dict[str, Any], index: int) -> Step:
    """Ask for one small call after the other."""
    return Reply(calls=[Call("read_file", {"path": f"note-{index % NOTES}.txt"})])


def by_shell(_request: dict[str, Any], _index: int) -> Step:
    """Ask for two sleeping processes, one of them in a session of its own."""
    return Reply(calls=[Call("shell", {"command": f"touch up; setsid nohup sleep {MARK} & sleep {MARK}"})])


# ---- how the state is reached


def streaming(host: RunningHost, turn: str) -> None:
    """Wait until text of the reply is on the operator's screen."""
    host.events.wait(turn, "draft")


def calling(host: RunningHost, turn: str) -> None:
    """Wait until a call has ended."""
    host.events.wait(turn, "call_finished")


def asked(host: RunningHost, turn: str) -> None:
    """Wait until the question stands."""
    host.events.wait(turn, "approval_asked")


def sleeping(host: RunningHost, turn: str) -> None:
    """Allow the call and wait until both processes are there."""
    question = host.events.wait(turn, "approval_asked")
    host.post(f"/approvals/{question['data']['approval']}", verdict="allow", group=GROUP)
    until = time.monotonic() + WAIT_SECONDS
    while len(list(sleepers())) < 2:
        if time.monotonic() > until:
            message = f"the sandboxed processes of turn {turn} did not come up"
            raise TimeoutError(message)
        time.sleep(0.002)


def blocked(host: RunningHost, turn: str) -> None:
    """Wait until the turn has begun; its lane's loop is blocked right after."""
    host.events.wait(turn, "turn_started")
    time.sleep(SPREAD_SECONDS)


STATES: Final = (
    State(name="during a stream", answer=at_length, reach=streaming),
    State(name="between calls", answer=step_by_step, reach=calling),
    State(name="during `sleep 90` in the shell", answer=by_shell, reach=sleeping, has_children=True),
    State(name="during a pending approval", answer=by_shell, reach=asked),
    State(
        name="chat loop busy in Python",
        answer=at_length,
        reach=blocked,
        faults=f"turn.chat=busy:{BLOCKED_SECONDS}",
        limit_ms=BLOCKED_LIMIT_MS,
    ),
    State(
        name="chat loop in a blocking call",
        answer=at_length,
        reach=blocked,
        faults=f"turn.chat=delay:{BLOCKED_SECONDS}",
        limit_ms=BLOCKED_LIMIT_MS,
    ),
)


def sleepers() -> Iterator[int]:
    """Yield the processes that carry the mark; they are seen from outside their sandbox."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if MARK.encode() in command:
                yield int(entry.name)


def stop_once(host: RunningHost, state: State, chance: random.Random) -> Stop:
    """Bring a turn into the state, stop it, and check what the journal says of it."""
    turn = host.say(f"Work. ({state.name})")
    state.reach(host, turn)
    time.sleep(chance.uniform(0, SPREAD_SECONDS))
    began = time.perf_counter()
    stopped = host.post(f"/groups/{GROUP}/stop")
    answered = time.perf_counter() - began
    gone = until_gone(began) if state.has_children else None
    if stopped["turns"] != [turn]:
        message = f"{state.name}: turn {turn} was to be stopped, the answer names {stopped['turns']}"
        raise AssertionError(message)
    events = host.get(f"/turns/{turn}")
    reasons = [event["data"]["reason"] for event in events if event["kind"] == "turn_ended"]
    if reasons != ["interrupted"]:
        message = f"{state.name}: turn {turn} has the final events {reasons} instead of one that says interrupted"
        raise AssertionError(message)
    return Stop(answered * 1000, gone, any(event["kind"] == "lane_replaced" for event in events))


def until_gone(began: float) -> float:
    """Return after how many milliseconds no marked process was left; raise TimeoutError."""
    while any(sleepers()):
        if time.perf_counter() - began > WAIT_SECONDS:
            message = f"processes {list(sleepers())} are left {WAIT_SECONDS:.0f} s after the Stop"
            raise TimeoutError(message)
        time.sleep(0.002)
    return (time.perf_counter() - began) * 1000


def floor(host: RunningHost, runs: int) -> Spread:
    """Stop the idle group: the API, Ray and one durable event."""
    taken: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        host.post(f"/groups/{GROUP}/stop")
        taken.append((time.perf_counter() - began) * 1000)
    return Spread.of(taken)


@contextmanager
def a_host(faults: str) -> Generator[tuple[RunningHost, ScriptedModel]]:
    """Start a model and a host that uses it."""
    with ScriptedModel() as model:
        settings = SETTINGS.format(group=GROUP, base_url=model.base_url)
        with RunningHost(settings, faults=faults) as host:
            for number in range(NOTES):
                note = host.home.group(GROUP).workspace / f"note-{number}.txt"
                note.write_text(f"Note {number}\n", encoding="utf-8")
            yield host, model


def measure(states: Sequence[State], runs: int) -> list[Row]:
    """Measure each state, those of one host after each other, and the floor first."""
    rows: list[Row] = []
    chance = random.Random(7)  # noqa: S311 - it spreads instants, the same in every run of the bench
    for faults in dict.fromkeys(state.faults for state in states):
        with a_host(faults) as (host, model):
            floor(host, WARM_UP)
            lowest = floor(host, runs)
            if not rows:
                rows.append(row_of("an idle group (floor)", lowest, lowest.median, None))
            for state in (state for state in states if state.faults == faults):
                model.respond(state.answer)
                stops = [stop_once(host, state, chance) for _ in range(WARM_UP + runs)][WARM_UP:]
                rows.append(summed_up(state, stops, lowest.median))
            verdict = host.get("/journal/verify")
            assert verdict["ok"], verdict
    return rows


def summed_up(state: State, stops: Sequence[Stop], lowest: float) -> Row:
    """Make the line of a state."""
    row = row_of(state.name, Spread.of([stop.answered for stop in stops]), lowest, state.limit_ms)
    row = msgspec.structs.replace(row, replaced=sum(stop.replaced for stop in stops))
    gone = [stop.gone for stop in stops if stop.gone is not None]
    if not gone:
        return row
    spread = Spread.of(gone)
    return msgspec.structs.replace(row, gone_p99_ms=round(spread.p99, 2), gone_max_ms=round(spread.most, 2))


def row_of(state: str, spread: Spread, lowest: float, limit_ms: float | None) -> Row:
    """Make a line of the table."""
    return Row(
        state=state,
        runs=spread.count,
        p50_ms=round(spread.median, 2),
        p95_ms=round(spread.p95, 2),
        p99_ms=round(spread.p99, 2),
        max_ms=round(spread.most, 2),
        limit_ms=limit_ms,
        ratio_to_floor=round(spread.median / lowest, 2),
    )


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stop", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=RUNS, help="Stops in each state")
    parser.add_argument("--state", action="append", help="only states whose name holds this; may be repeated")
    options = parser.parse_args()
    wanted: list[str] = options.state or [""]
    states = [state for state in STATES if any(part in state.name for part in wanted)]
    if not states:
        parser.error(f"no state is named so; the states are: {', '.join(state.name for state in STATES)}")
    rows = measure(states, options.runs)
    notes = [f"children: both sandboxed processes of the call must be gone within {GONE_LIMIT_MS:.0f} ms"]
    show("stop", COLUMNS, rows, notes=notes, as_json=options.json)


if __name__ == "__main__":
    main()
