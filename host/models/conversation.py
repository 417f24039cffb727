"""What is said to a model and what it answers, in no provider's words.

A provider turns messages into bytes; nobody else knows a wire format. A request is kept as parts (head, messages,
tail), so that each part is stored once by its content hash and the exact body can be put together again (TURN-3).
"""

import base64
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from host.stops import Reason

MOST_TOKENS: Final = 1_000_000_000  # no request comes near it, and a journal full of such counts still adds up


class Said(msgspec.Struct, frozen=True, tag="said"):
    """Words of a person, of a schedule or of the host."""

    text: str


class AskedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call in a model's reply."""

    provider_id: str
    tool: str
    arguments: str  # raw text, meant to be a JSON object


class Replied(msgspec.Struct, frozen=True, tag="replied"):
    """A model's reply: text, calls or both."""

    text: str
    calls: tuple[AskedCall, ...] = ()


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """An image for a model that sees."""

    name: str  # of the file it came from
    media_type: str
    size_bytes: int
    width: int  # pixels
    height: int
    load: Callable[[], bytes]  # what it looks like; asked for when its message is encoded

    def data(self) -> str:
        """Return its bytes in base64."""
        return base64.b64encode(self.load()).decode()

    @property
    def tokens(self) -> int:
        """An upper estimate of what it costs: one token for each 750 pixels, as the dearest of the known models."""
        return self.width * self.height // 750 + 100


class Result(msgspec.Struct, frozen=True, tag="result"):
    """What came of one call."""

    provider_id: str
    text: str
    ok: bool
    pictures: tuple[Picture, ...] = ()


class Shown(msgspec.Struct, frozen=True, tag="shown"):
    """The pictures of the results before it, for a wire format whose results hold text only; follows all of a step."""

    pictures: tuple[Picture, ...]


Message = Said | Replied | Result | Shown


def picture_words(pictures: tuple[Picture, ...], *, seen: bool) -> str:
    """Return what is said of pictures beside them, or instead of them to a model that sees none."""
    names = ", ".join(f"{picture.name} ({picture.width} x {picture.height})" for picture in pictures)
    if seen:
        return f"[From the host: the image that belongs to the result above: {names}]"
    return f"[From the host: this model has no image input and is not shown {names}]"


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]  # JSON Schema of the arguments


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request in parts; `body()` gives the exact bytes."""

    head: bytes  # model, tools, system text: the stable prefix, ends where the first message begins
    messages: tuple[bytes, ...]
    tail: bytes  # begins where the last message ends: limits and switches

    def body(self) -> bytes:
        """Return the bytes that are sent."""
        return self.head + b",".join(self.messages) + self.tail


class Inference(msgspec.Struct, frozen=True, kw_only=True):
    """What one inference gave. Token counts are None where the provider reported none."""

    text: str
    calls: tuple[AskedCall, ...]
    finish: str  # the provider's own stop word
    tokens_in: int | None = None  # includes cached ones
    tokens_out: int | None = None
    tokens_cached: int = 0


class Arrived:
    """What has come of one reply so far. The provider fills it in while it reads, whatever ends the reading.

    A reply that breaks off is charged by it (BUD-3), be it broken by the server, by silence or by the person.
    """

    def __init__(self) -> None:
        self.accepted = False  # the server took the request: it began to answer, or was silent over the whole of it
        self.output_bytes = 0  # of text, of calls and of thinking
        self.tokens_in: int | None = None  # as the server counted them, cached ones included; None: not told (yet)
        self.tokens_out: int | None = None  # may be the count at the reply's beginning
        self.tokens_cached = 0

    def count(self, *, tokens_in: object, tokens_out: object, cached: object = None) -> None:
        """Take the server's counts, None for what it did not tell.

        They are a stranger's word on what is to be paid: one that cannot be true counts as not told, so that an
        estimate takes its place (BUD-3). No request is empty, and of no request more is cached than there was.
        """
        whole, kept = _possible(tokens_in), 0 if cached is None else _possible(cached)
        known = whole and kept is not None and kept <= whole
        self.tokens_in, self.tokens_cached = (whole, kept or 0) if known else (None, 0)
        self.tokens_out = _possible(tokens_out)

    @property
    def output_counted(self) -> int | None:
        """The server's count of the output; None where it told none, or told of nothing where something came."""
        return None if self.tokens_out == 0 and self.output_bytes else self.tokens_out


def _possible(count: object) -> int | None:
    """Return a count that can be one."""
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS else None


class AttemptError(Exception):
    """One attempt at an inference failed."""

    def __init__(
        self,
        detail: str,
        *,
        reason: Reason = Reason.MODEL_UNAVAILABLE,
        retryable: bool,
        retry_after_seconds: float | None = None,
        received: str = "",
        status: int | None = None,
    ) -> None:
        """State what failed; `received` is the part of the reply that had arrived."""
        super().__init__(detail)
        self.detail = detail
        self.reason = reason
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.received = received
        self.status = status


class Provider(Protocol):
    """One way to reach a model: exactly one inference per `infer`, no tool runs, nothing is repeated (TURN-1)."""

    @property
    def url(self) -> str:
        """Where requests go; without credentials."""
        ...

    def head(self, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
        """Return the stable prefix of every request of a session."""
        ...

    def message(self, message: Message, *, breakpoint_here: bool = False) -> bytes:
        """Return the bytes of one message; `breakpoint_here` asks the provider to cache up to it."""
        ...

    def tail(self, *, max_tokens: int, tools_allowed: bool = True) -> bytes:
        """Return what ends the body; the wrap-up forbids tools here, so that the head stays the same."""
        ...

    async def infer(self, body: bytes, on_text: Callable[[str], None], arrived: Arrived | None = None) -> Inference:
        """Send `body`, pass text on as it arrives, return the whole; raise AttemptError (or CancelledError).

        `arrived` is kept up to date, so that the caller knows what had come whatever ended the inference.
        """
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...
