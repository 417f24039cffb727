"""What a person sees on standard error while `elis ask` waits: disposition, questions, calls, the draft.

The draft is drawn over and over at the foot of the terminal and taken away for the final reply; where standard error
is no terminal, it is left out, for it may still change (TURN-5).
"""

from typing import Any, Final, Self

from host.cli.screen import Screen
from host.cli.views import how_to_answer, question_lines, short
from host.groups.port import Draft, EventView, Placement

_DRAFT_LINES: Final = 12  # enough to read along, short enough to be erased whole


class Meanwhile:
    """Implements `host.cli.asking.Screen`. Use it as a context manager."""

    def __init__(self, err: Screen, group: str, *, quiet: bool) -> None:
        """Print what happens in `group` to `err`; `quiet` leaves out all but questions and notes (for --json)."""
        self._err = err
        self._group = group
        self._quiet = quiet
        self._draft = ""
        self._step = -1
        self._drawing = err.drawing() if err.is_terminal and not quiet else None

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._drawing is not None:
            self._drawing.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the draft away."""
        if self._drawing is not None:
            self._drawing.__exit__()

    def placed(self, placement: Placement) -> None:
        """Say what became of the message; that it is held is always said, for then somebody has to act."""
        match placement.disposition:
            case "held":
                self._held(placement.message)
            case _ if self._quiet:
                return
            case "queued":
                self.note(f"queued at position {placement.position}")
            case other:
                self.note(f"{other} {placement.turn}".strip())

    def event(self, event: EventView) -> None:
        """Show questions, why a turn failed and what waits for somebody always, calls where there is room."""
        data = event.data
        match event.kind:
            case "approval_asked":
                self._question(data)
            case "approval_settled":
                self.note(f"question {data['approval']} was settled: {data['verdict']} by {data['by']}")
            case "approval_assisted" if data["verdict"] == "allowed":
                self.note(f"{data['tool']} was allowed by {data['by']}; nobody was asked")
            case "message_placed" if data["disposition"] == "held":
                self._held(data["message"])
            case "turn_parked":
                self.note(f"parked until question {data['approval']} is answered")
            case "call_started" if not self._quiet:
                self.note(f"→ {data['tool']} {short(str(data['target'] or data['arguments']))}")
            case "call_finished" if not self._quiet and not data["ok"]:
                self.note(f"  failed: {data['detail']}")
            case "call_refused" if not self._quiet:
                self.note(f"  refused: {data['tool']} ({data['rule']})")
            case "turn_ended" if data["reason"] is not None and data["detail"]:
                self.note(data["detail"])
            case "turn_resumed" if not self._quiet:
                self.note("the turn was taken up again after a restart")
            case _:
                return

    def draft(self, draft: Draft) -> None:
        """Show text that is still being written."""
        if self._drawing is None:
            return
        kept = self._draft[: draft.offset] if draft.step == self._step else ""
        self._step, self._draft = draft.step, kept + draft.text
        self._drawing.show("\n".join(self._draft.split("\n")[-_DRAFT_LINES:]))

    def note(self, text: str) -> None:
        """Say something, above the draft."""
        self._err.line(text, style="dim")

    def _held(self, message: str) -> None:
        self.note(f"held after a stop; `elis queue {self._group} release {message}` lets it go on")

    def _question(self, data: dict[str, Any]) -> None:
        head = "the model asks" if data["question"] == "answer" else f"{data['tool']} wants to run ({data['effect']})"
        self._err.line(f"question {data['approval']}: {head}", style="bold yellow")
        for line in question_lines(data["question"], data["arguments"], data["what_may_happen"], data["doing"]):
            self._err.line(f"  {line}")
        self._err.line(f"  {how_to_answer(data['approval'], data['question'])}")
