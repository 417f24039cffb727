"""A reply while it arrives, whatever its wire format: text, calls, how it ended, and what has come if it breaks off.

Readers of the formats fill it in; the connection and those who charge for the reply look at it.
"""

from collections.abc import Callable

from host.models.calls import CallDraft, new_call_id
from host.models.conversation import Arrived, AskedCall, AttemptError, Inference
from host.stops import Reason


class ReplyDraft:
    """What has arrived of one reply."""

    def __init__(self, on_text: Callable[[str], None], arrived: Arrived | None = None) -> None:
        """`on_text` gets the text piece by piece; `arrived` is kept up to date for the caller."""
        self.arrived = arrived or Arrived()
        self.begun = False  # whether a reply has begun
        self.finish: str | None = None  # the server's word for how it ended; None as long as it has said none
        self.calls: dict[int, CallDraft] = {}  # by their place in the reply
        self._on_text = on_text
        self._texts: list[str] = []

    @property
    def received(self) -> str:
        """The text that has arrived."""
        return "".join(self._texts)

    @property
    def complete(self) -> bool:
        """Whether the server has said how the reply ended."""
        return self.finish is not None

    def say(self, text: str) -> None:
        """Take a piece of text and pass it on."""
        if text:
            self._texts.append(text)
            self.weigh(text)
            self._on_text(text)

    def weigh(self, text: str) -> None:
        """Count what was written, whether it is shown or not, for the case that the server never says how much."""
        self.arrived.output_bytes += len(text.encode())

    def result(self) -> Inference:
        """Return the reply; raise AttemptError when it is not whole."""
        if self.finish is None:
            detail = "the stream ended before the reply did" if self.begun else "the server answered without a reply"
            raise AttemptError(detail, retryable=True, received=self.received)
        return Inference(
            text=self.received,
            calls=self._asked(),
            finish=self.finish,
            tokens_in=self.arrived.tokens_in,
            tokens_out=self.arrived.output_counted,
            tokens_cached=self.arrived.tokens_cached,
        )

    def violation(self, detail: str) -> AttemptError:
        """A server that had begun properly stumbled and may be asked again; another is no model server."""
        return AttemptError(
            detail, reason=Reason.PROTOCOL_VIOLATION, retryable=self.begun, received=self.received, status=200
        )

    def failure(self, said: str, *, retryable: bool) -> AttemptError:
        """The server broke the reply off and said why."""
        detail = f"the server failed while it replied: {said}"
        return AttemptError(detail, retryable=retryable, received=self.received)

    def _asked(self) -> tuple[AskedCall, ...]:
        """Return the calls, each under an id of its own: a result must name its call without doubt."""
        seen: set[str] = set()
        asked: list[AskedCall] = []
        for draft in self.calls.values():
            name = draft.id if draft.id and draft.id not in seen else new_call_id()
            seen.add(name)
            asked.append(AskedCall(provider_id=name, tool=draft.tool, arguments="".join(draft.arguments) or "{}"))
        return tuple(asked)
