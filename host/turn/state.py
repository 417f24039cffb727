"""Where a turn stands, as a fold over its events; a resumed turn and a running one know the same (REC-1).

`apply` takes each durable event in order. Nothing here does anything: the loop reads the state and acts.
"""

import enum
from collections.abc import Callable

import msgspec

from host.models.conversation import AskedCall, Message, Picture, Replied, Result, Said, Shown
from host.record.events import (
    AttemptFailed,
    CallAsked,
    CallFinished,
    CallRefused,
    CallStarted,
    GroupEvent,
    ImageSeen,
    MessageEntered,
    Noticed,
    RequestSent,
    ResponseReceived,
    TurnEnded,
    TurnStarted,
)
from host.stops import Reason

NOT_RUN = "This call was not run: the turn ended before it."
BROKEN_OFF = "The turn ended while this call ran: its outcome is unknown, it may have done its work or a part of it."


class CallEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one call, as far as the loop needs it."""

    ok: bool
    ran: bool  # False: refused before it ran
    changed_state: bool
    reason: Reason | None
    text: str
    result_hash: str = ""  # of what the result tells of the world; empty: of all its text
    misasked: bool = False  # refused by the registry: unknown tool or bad arguments (TURN-4)
    image: ImageSeen | None = None  # that belongs to the result


class Notice(msgspec.Struct, frozen=True):
    """Words of the host to the model."""

    text: str


class Step:
    """One inference and the calls it asked for."""

    def __init__(self, number: int, text: str, calls: tuple[CallAsked, ...]) -> None:
        self.number = number
        self.text = text
        self.calls = calls
        self.ends: dict[str, CallEnd] = {}
        self.started: set[str] = set()
        self.keys: dict[str, str] = {}  # what equal calls have in common, by call; kept by `repetition`

    def open_calls(self) -> list[CallAsked]:
        """Return the calls without a result, in the order asked."""
        return [asked for asked in self.calls if asked.call not in self.ends]


class Next(enum.Enum):
    """What the loop does next."""

    INFER = "infer"
    CALL = "call"
    FINISH = "finish"
    ENDED = "ended"


class TurnState:
    """The fold."""

    def __init__(self, turn: str, text: str, body: Callable[[str], bytes] | None = None) -> None:
        """Begin with the words that began the turn; `body` gives what is stored under a content hash."""
        self.turn = turn
        self._body = body or _no_body
        self.started: TurnStarted | None = None
        self.items: list[Said | Notice | Step] = [Said(text)]
        self.steps = 0
        self.open_request: RequestSent | None = None
        self.partial = ""  # what had arrived of a reply that broke off last
        self.wrap_up: str | None = None
        self.ended: TurnEnded | None = None
        self.noticed: set[str] = set()
        self.last_finish = ""

    def apply(self, event: GroupEvent) -> None:
        """Take in the next durable event of this turn."""
        match event:
            case TurnStarted():
                self.started = event
            case MessageEntered(text=text) if text:  # without text it was the answer to a question
                self.items.append(Said(text))
            case Noticed(code=code, text=text, to=to):
                self.noticed.add(code)
                if to != "person":
                    self.items.append(Notice(text))
            # "assist" is between the gate and another model; the turn's own hears nothing of it (APR-6)
            case RequestSent(purpose="step" | "wrap_up"):
                self.open_request = event
            case AttemptFailed(received=received, purpose="step" | "wrap_up"):
                self.open_request = None
                self.partial = received
            case ResponseReceived(purpose="step" | "wrap_up"):
                self._response(event)
            case CallStarted(call=call):
                if step := self._step_of(call):
                    step.started.add(call)
            case CallFinished() | CallRefused():
                self._call_end(event)
            case TurnEnded():
                self.ended = event
            case _:
                pass

    def _response(self, event: ResponseReceived) -> None:
        self.open_request = None
        self.partial = ""
        self.last_finish = event.finish
        if event.purpose == "step":
            self.steps = event.step
            self.items.append(Step(event.step, event.text, event.calls))
        else:
            self.wrap_up = event.text

    def _call_end(self, event: CallFinished | CallRefused) -> None:
        step = self._step_of(event.call)
        if step is None:
            return
        if isinstance(event, CallFinished):
            end = CallEnd(
                ok=event.ok,
                ran=True,
                changed_state=event.ok and event.effect not in {"pure", "read"},
                reason=event.reason,
                text=event.result,
                image=event.image,
                result_hash=event.result_hash,
            )
        else:
            end = CallEnd(
                ok=False,
                ran=False,
                changed_state=False,
                reason=event.reason,
                text=event.result,
                misasked=event.stage == "registry",
            )
        step.ends[event.call] = end

    def end_call(self, call: str, end: CallEnd) -> None:
        """Take in what the gate says became of `call`; its event is durable already."""
        if step := self._step_of(call):
            step.ends[call] = end

    def _step_of(self, call: str) -> Step | None:
        number = int(call.partition(".")[0])
        for item in reversed(self.items):
            if isinstance(item, Step) and item.number == number:
                return item
        return None

    @property
    def last_step(self) -> Step | None:
        """The newest step, if the newest item is one; a message that came after it asks for another inference."""
        item = self.items[-1]
        return item if isinstance(item, Step) else None

    def next(self) -> Next:
        """Return what the loop does next."""
        if self.ended is not None:
            return Next.ENDED
        step = next((item for item in reversed(self.items) if isinstance(item, Step)), None)
        if step is not None and step.open_calls():
            return Next.CALL
        if self.last_step is not None and not self.last_step.calls:
            return Next.FINISH
        return Next.INFER

    def all_steps(self) -> list[Step]:
        """Return the steps so far."""
        return [item for item in self.items if isinstance(item, Step)]

    def messages(self) -> list[Message]:
        """Return the turn as a model sees it; of a call without a result it is said whether it began."""
        said: list[Message] = []
        for item in self.items:
            if isinstance(item, Said):
                said.append(item)
                continue
            if isinstance(item, Notice):
                said.append(_as_said(item.text))
                continue
            if item.text or item.calls:  # an empty reply is no message; some providers refuse one
                said.append(Replied(item.text, tuple(_as_asked(asked) for asked in item.calls)))
            shown: list[Picture] = []
            for asked in item.calls:
                end = item.ends.get(asked.call)
                unended = BROKEN_OFF if asked.call in item.started else NOT_RUN
                text, ok = (end.text, end.ok) if end else (unended, False)
                pictures = self._pictures(end)
                shown += pictures
                said.append(Result(provider_id=asked.provider_id, text=text, ok=ok, pictures=pictures))
            if shown:
                said.append(Shown(tuple(shown)))
        return said

    def _pictures(self, end: CallEnd | None) -> tuple[Picture, ...]:
        if end is None or end.image is None or not end.image.body:
            return ()
        image, body = end.image, self._body
        return (
            Picture(
                name=image.name,
                media_type=image.media_type,
                size_bytes=image.size_bytes,
                width=image.width,
                height=image.height,
                load=lambda: body(image.body),
            ),
        )

    def closed_messages(self) -> list[Message]:
        """Return an ended turn as later turns see it: how it ended is said where it was no plain success."""
        said = self.messages()
        if self.wrap_up:
            said.append(Replied(self.wrap_up))
        elif self.partial:
            said.append(Replied(self.partial))
        if self.ended is not None and self.ended.reason is not None:
            done = ", ".join(line.what for line in self.ended.done) or "nothing"
            said.append(
                _as_said(
                    f"The turn above ended as {self.ended.outcome.value}: {self.ended.reason.value}."
                    f" {self.ended.detail} Done before that: {done}."
                )
            )
        return said


def _no_body(content_hash: str) -> bytes:
    message = f"nothing is stored under {content_hash} here"
    raise LookupError(message)


def _as_asked(asked: CallAsked) -> AskedCall:
    return AskedCall(provider_id=asked.provider_id, tool=asked.tool, arguments=asked.arguments)


def _as_said(text: str) -> Said:
    return Said(f"[Notice from the host] {text}")
