"""How records look to a person at a terminal. JSON is not made here: it is the records themselves.

Words of models and people are printed as they are, never as markup of the terminal library.
"""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from host.cli.following import Answer
from host.cli.shapes import HostState
from host.groups.port import ApprovalView, EventView, Found, GroupView, LaneView, Queued, Verified

_STYLES: Final = {
    "success": "green",
    "partial": "yellow",
    "failed": "red",
    "parked": "yellow",
    "running": "cyan",
    "awake": "green",
    "restarting": "yellow",
    "starting": "cyan",
}
_SHORT: Final = 100  # characters of a text that stands for something longer


def styled(word: str) -> Text:
    """Return a state or outcome in its colour."""
    return Text(word, style=_STYLES.get(word, ""))


def short(text: str, limit: int = _SHORT) -> str:
    """Return the beginning of `text` in one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def plain(console: Console, text: str) -> None:
    """Print `text` as it is."""
    console.print(Text(text))


def table(console: Console, columns: tuple[str, ...], rows: Iterable[tuple[str | Text, ...]], empty: str) -> None:
    """Print rows under their columns, or `empty` when there are none."""
    grid = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    if grid.row_count:
        console.print(grid)
    else:
        plain(console, empty)


def status(console: Console, state: HostState) -> None:
    """Print the host with its services and groups."""
    host = state.host
    plain(
        console, f"{host.name} at {host.address}, version {host.version}, process {host.pid}, since {host.started_at}"
    )
    for service in host.services:
        plain(console, f"  {service.name}: {service.state}{' - ' + service.detail if service.detail else ''}")
    groups(console, tuple(card.view for card in state.groups))


def groups(console: Console, views: tuple[GroupView, ...]) -> None:
    """Print the groups, a line each."""
    rows = (
        (
            view.name,
            styled(view.state),
            ", ".join(_lane(lane) for lane in view.lanes if lane.state != "idle" or lane.queued or lane.held) or "idle",
            str(view.approvals or ""),
            _money(view),
            view.model,
            view.problem,
        )
        for view in views
    )
    table(console, ("group", "state", "lanes", "questions", "today", "model", ""), rows, "no groups")


def group(console: Console, view: GroupView, instructions: dict[str, str]) -> None:
    """Print one group with what its model is told before anything else (CTX-8)."""
    groups(console, (view,))
    for name, text in instructions.items():
        console.rule(Text(name), align="left")
        plain(console, text.strip() or "(none)")


def _lane(lane: LaneView) -> str:
    words = [f"{lane.name} {lane.state}"]
    if lane.state != "idle":
        words.append(f"{lane.running_seconds:.0f} s")
    if lane.queued:
        words.append(f"{lane.queued} queued")
    if lane.held:
        words.append(f"{lane.held} held")
    return " ".join(words)


def _money(view: GroupView) -> str:
    cap = f" of ${view.daily_cost_usd:.2f}" if view.daily_cost_usd is not None else ""
    return f"${view.today_cost_usd:.4f}{cap}, {view.today_tokens} tokens"


def approvals(console: Console, questions: tuple[ApprovalView, ...]) -> None:
    """Print the questions that wait, each with how to answer it."""
    if not questions:
        plain(console, "no questions wait")
    for question in questions:
        until = f", until {question.expires_at}" if question.expires_at else ""
        plain(console, f"{question.id}  {question.group}: {question.tool} ({question.effect}){until}")
        for line in question_lines(question.question, question.arguments, question.what_may_happen, question.doing):
            plain(console, f"    {line}")
        plain(console, f"    {how_to_answer(question.id, question.question)}")


def question_lines(kind: str, arguments: dict[str, object], what_may_happen: str, doing: str) -> list[str]:
    """Return what a person needs to know to answer."""
    lines = [f"{name}: {value}" for name, value in arguments.items()]
    if kind == "approval" and what_may_happen:
        lines.append(f"what may happen: {what_may_happen}")
    if doing:
        lines.append(f"the model said: {short(doing)}")
    return lines


def how_to_answer(approval: str, kind: str) -> str:
    """Return the commands that answer a question."""
    if kind == "answer":
        return f'answer with: elis approve {approval} --answer "…"'
    return f"answer with: elis approve {approval}   or: elis deny {approval} --reason …"


def queue(console: Console, messages: tuple[Queued, ...]) -> None:
    """Print the messages that have not run."""
    rows = (
        (message.id, message.state, message.priority, str(message.position or ""), message.at, short(message.text))
        for message in messages
    )
    table(console, ("message", "state", "priority", "position", "at", "text"), rows, "nothing waits")


def event_line(event: EventView) -> Text:
    """Return an event in a line."""
    facts = " ".join(f"{name}={short(str(value), 60)}" for name, value in event.data.items() if value not in ("", None))
    return Text.assemble((f"{event.seq:>7} ", "dim"), (event.at + " ", "dim"), (event.kind, "bold"), " ", facts)


def found(console: Console, hits: tuple[Found, ...]) -> None:
    """Print what a search found."""
    rows = ((str(hit.seq), hit.at, hit.turn, hit.kind, short(hit.snippet)) for hit in hits)
    table(console, ("seq", "at", "turn", "kind", ""), rows, "nothing found")


def verified(console: Console, verdict: Verified) -> None:
    """Print whether the journal holds."""
    if verdict.ok:
        plain(console, f"the journal holds: {verdict.events} events, each bound to the one before")
    else:
        plain(console, f"the journal does not verify from event {verdict.first_bad_seq} on: {verdict.detail}")


def answer(out: Console, err: Console, result: Answer) -> None:
    """Print the reply as the answer, and how the turn went beside it."""
    if result.reply:
        out.print(Markdown(result.reply) if out.is_terminal else Text(result.reply))
    usage = result.usage
    words = [
        result.outcome if result.reason is None else f"{result.outcome} ({result.reason.value})",
        f"{usage.steps} steps",
        f"{usage.tokens_in}+{usage.tokens_out} tokens",
        f"${usage.cost_usd:.4f}{' estimated' if usage.estimated else ''}",
        f"{usage.seconds:.1f} s",
        f"turn {result.turn}" if result.turn else "no turn",
    ]
    err.print(Text(" · ".join(words), style="dim" if result.reason is None else "yellow"))
