"""A turn from the journal as a conversation that a person can read (`elis journal GROUP show TURN`).

Pure: events in, lines out. Every line says whose words they are; the sequence numbers lead back to the events.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from host.cli.screen import Piece, visible
from host.groups.port import EventView

_RESULT_LINES: Final = 20  # of a result; the whole one is in the event


def conversation(events: Iterable[EventView]) -> Iterator[tuple[Piece, ...]]:
    """Yield the lines of a turn's conversation; events that nobody says anything with are left out."""
    for event in events:
        spoken = _spoken(event)
        if spoken is None:
            continue
        who, style, words = spoken
        first, *more = visible(words).removesuffix("\n").split("\n")
        yield (f"{event.seq:>6} ", "dim"), (f"{who}: ", style), first
        for line in more:
            yield (" " * 7 + line,)


def _spoken(event: EventView) -> tuple[str, str, str] | None:
    data = event.data
    match event.kind:
        case "message_received":
            return str(data["principal"]), "bold green", data["text"]
        case "message_entered":
            return "said meanwhile", "bold green", data["text"]
        case "request_sent":
            purpose = _purpose(data)
            return "request", "dim", f"{purpose}, attempt {data['attempt']}, to {data['model']} (--request {event.seq})"
        case "response_received":
            return _response(data) if data["purpose"] != "assist" else ("aux model", "yellow", data["text"])
        case "attempt_failed":
            return "attempt failed", "red", f"{data['reason']}: {data['detail']}"
        case _:
            return _call(event.kind, data) or _question(event.kind, data) or _around(event.kind, data)


def _call(kind: str, data: dict[str, Any]) -> tuple[str, str, str] | None:
    """Return what is said of a call that runs or does not."""
    match kind:
        case "call_started":
            return "runs", "cyan", f"{data['tool']} {_arguments(data['arguments'])}"
        case "call_finished":
            head = "result" if data["ok"] else f"failed ({data['reason']}: {data['detail']})"
            return head, "cyan" if data["ok"] else "red", _cut(data["result"])
        case "call_refused":
            return f"refused ({data['reason']}, {data['rule']})", "red", data["result"]
        case _:
            return None


def _question(kind: str, data: dict[str, Any]) -> tuple[str, str, str] | None:
    """Return what is said about whether a call may run."""
    match kind:
        case "approval_asked":
            return "question", "yellow", f"{data['approval']} {data['tool']} {_arguments(data['arguments'])}"
        case "approval_settled":
            words = f"{data['verdict']} by {data['by']}" + (f": {data['text']}" if data["text"] else "")
            return "answer", "yellow", words
        case "approval_assisted":
            words = f"{data['verdict']} by {data['by']} ({data['why']}): {data['tool']} {_arguments(data['arguments'])}"
            return "before a person", "yellow", words
        case _:
            return None


def _around(kind: str, data: dict[str, Any]) -> tuple[str, str, str] | None:
    """Return what is said around the calls: notices, stops and the end."""
    match kind:
        case "noticed":
            return f"notice to {data['to']}", "yellow", data["text"]
        case "turn_resumed":
            return "resumed", "yellow", f"after event {data['after_seq']}"
        case "turn_parked":
            return "parked", "yellow", f"until {data['approval']} is answered"
        case "stop_requested":
            return "stop", "red", f"by {data['by']}"
        case "turn_ended":
            return _end(data)
        case _:
            return None


def _purpose(data: dict[str, Any]) -> str:
    match data["purpose"]:
        case "wrap_up":
            return "wrap-up"
        case "assist":
            return f"whether a call of step {data['step']} may run"
        case _:
            return f"step {data['step']}"


def _response(data: dict[str, Any]) -> tuple[str, str, str]:
    calls = [f"asks for {call['tool']} {call['arguments']}" for call in data["calls"]]
    return "assistant", "bold blue", "\n".join(filter(None, [data["text"], *calls]))


def _end(data: dict[str, Any]) -> tuple[str, str, str]:
    head = data["outcome"] if data["reason"] is None else f"{data['outcome']} ({data['reason']}) {data['detail']}"
    lines = [head.strip()]
    for title, name in (("done", "done"), ("failed", "failed"), ("not attempted", "not_attempted")):
        lines += [f"{title}: {account['what']} (event {account['seq']})" for account in data[name]]
    lines.append(
        f"{data['steps']} steps, {data['tokens_in']}+{data['tokens_out']} tokens, ${data['cost_usd']:.4f}"
        f"{' estimated' if data['estimated'] else ''}, {data['seconds']:.1f} s"
    )
    return "end", "bold", "\n".join(lines)


def _arguments(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_exact(value)}" for name, value in arguments.items())


def _exact(value: object) -> str:
    """Return a value in one line, its quotes around it."""
    return msgspec.json.encode(value).decode()


def _cut(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= _RESULT_LINES:
        return text
    return "\n".join([*lines[:_RESULT_LINES], f"… {len(lines) - _RESULT_LINES} more lines (--json shows all)"])
