"""How records look to a person at a terminal. JSON is not made here: it is the records themselves.

Words of models and people are never markup of the terminal library; that they give no orders to the terminal either is
seen to by `host.cli.screen`, through which everything here is printed.
"""

from typing import Final

import msgspec

from host.cli.following import Answer
from host.cli.screen import Piece, Screen, one_line, visible
from host.cli.shapes import HostState
from host.groups.port import (
    ApprovalView,
    AssistedView,
    EventView,
    Found,
    GrantView,
    GroupView,
    LaneView,
    Queued,
    SuggestionView,
    Verified,
)

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


def styled(word: str) -> Piece:
    """Return a state or outcome in its colour."""
    return word, _STYLES.get(word, "")


def short(text: str, limit: int = _SHORT) -> str:
    """Return the beginning of `text` in one line."""
    return one_line(text, limit)


def status(screen: Screen, state: HostState) -> None:
    """Print the host with its services and groups."""
    host = state.host
    screen.line(f"{host.name} at {host.address}, version {host.version}, process {host.pid}, since {host.started_at}")
    for service in host.services:
        screen.line(f"  {service.name}: {service.state}{' - ' + service.detail if service.detail else ''}")
    groups(screen, tuple(card.view for card in state.groups))


def groups(screen: Screen, views: tuple[GroupView, ...]) -> None:
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
    screen.table(("group", "state", "lanes", "questions", "today", "model", ""), rows, "no groups")
    for view in views:
        if view.leak:
            screen.line(f"{view.name}: {view.leak}")


def group(screen: Screen, view: GroupView, instructions: dict[str, str]) -> None:
    """Print one group with what its model is told before anything else (CTX-8)."""
    groups(screen, (view,))
    for name, text in instructions.items():
        screen.rule(name)
        screen.line(text.strip() or "(none)")


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


def approvals(screen: Screen, questions: tuple[ApprovalView, ...]) -> None:
    """Print the questions that wait, each with how to answer it."""
    if not questions:
        screen.line("no questions wait")
    for question in questions:
        until = f", until {question.expires_at}" if question.expires_at else ""
        screen.line(f"{question.id}  {question.group}: {question.tool} ({question.effect}){until}")
        for line in question_lines(question.question, question.arguments, question.what_may_happen, question.doing):
            screen.line(f"    {line}")
        screen.line(f"    {how_to_answer(question.id, question.question)}")
        wider = [f"{scope} ({_reach(scope, covered)})" for scope, covered in question.covers.items()]
        if wider:
            screen.line(f"    with --scope it stands for later calls too: {'; '.join(wider)}")
        if question.proposed in question.covers:
            screen.line(f"    --scope {question.proposed} would have spared the last questions like this")


def _reach(scope: str, covered: tuple[str, ...]) -> str:
    """Return what an answer would cover; for commands "under" is no beginning of a line."""
    keys = ", ".join(covered)
    commands = scope == "under" and any(key.split(":")[1] == "command" for key in covered)
    return f"the same command and options with other plain operands: {keys}" if commands else keys


def assisted(screen: Screen, found: tuple[AssistedView, ...]) -> None:
    """Print what aux models let run without a person."""
    if not found:
        screen.line("no aux model let anything run")
    for each in found:
        screen.line(f"{each.at}  {each.group}: {each.tool} ({each.effect}), allowed by {each.by} in turn {each.turn}")
        for line in question_lines("approval", each.arguments, each.what_may_happen, ""):
            screen.line(f"    {line}")


def grants(screen: Screen, found: tuple[GrantView, ...]) -> None:
    """Print the standing answers."""
    rows = (
        (each.id, each.scope, "\n".join(each.covers), each.until or "it is revoked", each.given_at, each.given_by)
        for each in found
    )
    screen.table(("id", "scope", "covers", "until", "given at", "by"), rows, "no answers stand")


def suggestions(screen: Screen, found: tuple[SuggestionView, ...]) -> None:
    """Print the grants that would have spared questions."""
    rows = ((each.group, each.scope, "\n".join(each.covers), str(each.approvals)) for each in found)
    screen.table(("group", "scope", "would cover", "approvals"), rows, "nothing was approved often enough")


def question_lines(kind: str, arguments: dict[str, object], what_may_happen: str, doing: str) -> list[str]:
    """Return what a person needs to know to answer."""
    lines = [line for name, value in arguments.items() for line in _argument(name, value)]
    if kind == "approval" and what_may_happen:
        lines.append(f"what may happen: {what_may_happen}")
    if doing:
        lines.append(f"the model said: {short(doing)}")
    return lines


def _argument(name: str, value: object) -> list[str]:
    """Return an argument exactly. One of several lines is marked at each, so that none passes for something else."""
    shown = visible(value if isinstance(value, str) else msgspec.json.encode(value).decode())
    name = visible(name).replace("\n", r"\n")
    if "\n" not in shown:
        return [f"{name}: {shown}"]
    return [f"{name}:", *(f"| {line}" for line in shown.split("\n"))]


def how_to_answer(approval: str, kind: str) -> str:
    """Return the commands that answer a question."""
    if kind == "answer":
        return f'answer with: elis approve {approval} --answer "…"'
    return f"answer with: elis approve {approval}   or: elis deny {approval} --reason …"


def queue(screen: Screen, messages: tuple[Queued, ...]) -> None:
    """Print the messages that have not run."""
    rows = (
        (message.id, message.state, message.priority, str(message.position or ""), message.at, short(message.text))
        for message in messages
    )
    screen.table(("message", "state", "priority", "position", "at", "text"), rows, "nothing waits")


def event_line(event: EventView) -> tuple[Piece, ...]:
    """Return an event in a line."""
    facts = " ".join(
        f"{short(name, 60)}={short(str(value), 60)}" for name, value in event.data.items() if value not in ("", None)
    )
    return (f"{event.seq:>7} ", "dim"), (event.at + " ", "dim"), (event.kind, "bold"), f" {facts}"


def found(screen: Screen, hits: tuple[Found, ...]) -> None:
    """Print what a search found."""
    rows = ((str(hit.seq), hit.at, hit.turn, hit.kind, short(hit.snippet)) for hit in hits)
    screen.table(("seq", "at", "turn", "kind", ""), rows, "nothing found")


def verified(screen: Screen, verdict: Verified) -> None:
    """Print whether the journal holds."""
    if verdict.ok:
        screen.line(f"the journal holds: {verdict.events} events, each bound to the one before")
    elif verdict.first_bad_seq:
        screen.line(f"the journal does not verify from event {verdict.first_bad_seq} on: {verdict.detail}")
    else:
        screen.line(f"the journal does not verify: {verdict.detail}")


def answer(out: Screen, err: Screen, result: Answer) -> None:
    """Print the reply as the answer, and how the turn went beside it."""
    if result.reply:
        out.reply(result.reply)
    usage = result.usage
    words = [
        result.outcome if result.reason is None else f"{result.outcome} ({result.reason.value})",
        f"{usage.steps} steps",
        f"{usage.tokens_in}+{usage.tokens_out} tokens",
        f"${usage.cost_usd:.4f}{' estimated' if usage.estimated else ''}",
        f"{usage.seconds:.1f} s",
        f"turn {result.turn}" if result.turn else "no turn",
    ]
    err.line(" · ".join(words), style="dim" if result.reason is None else "yellow")
