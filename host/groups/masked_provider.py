"""A provider whose model is told no lent value, whoever said it (MASK-1, CTX-5).

What tools give is masked by the gate and what people say by the group, with the secrets of that day. The rest is
caught here, before it becomes bytes: a model's own words and calls, which go back to it with the next request; the
charter; what tool servers say of their tools; what a later request repeats and what has become a secret since. These
bytes are also what the journal keeps of a request (TURN-3). Typical forms stay: what a model wrote itself must not
change under its hands. In what a provider says of a failure they are masked too: it may quote a key.

A call has one form from the moment it arrives: a lent value that a model wrote itself into its arguments is its handle
before anything judges, hashes, journals, asks about or runs the call, so that a call which is taken up again is the
same one, and the value goes only where SEC-2 lets the handle go.
"""

from collections.abc import Callable
from typing import Any, Final, assert_never, cast

import msgspec

from host.models.conversation import (
    Arrived,
    AskedCall,
    AttemptError,
    Inference,
    Message,
    Picture,
    Provider,
    Replied,
    Result,
    Said,
    Shown,
    ToolSpec,
)
from host.record.argument_text import masked_arguments

Mask = Callable[[Any], Any]
"""Takes plain data and returns it without lent values; what holds none is returned as it is."""


class MaskedProvider:
    """Masks everything that `provider` is to say; hands on all else."""

    def __init__(self, provider: Provider, mask: Mask, of_errors: Callable[[str], str]) -> None:
        """`mask` is for what is said to the model, `of_errors` for what a provider says where it fails."""
        self._provider: Final = provider
        self._mask = mask
        self._of_errors = of_errors

    @property
    def url(self) -> str:
        """Where requests go; without credentials."""
        return self._provider.url

    def head(self, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
        """Return the stable prefix of every request of a session."""
        return self._provider.head(self._text(system), tuple(self._tool(tool) for tool in tools))

    def message(self, message: Message, *, breakpoint_here: bool = False) -> bytes:
        """Return the bytes of one message."""
        return self._provider.message(self._message(message), breakpoint_here=breakpoint_here)

    def tail(self, *, max_tokens: int, tools_allowed: bool = True) -> bytes:
        """Return what ends the body; nothing of it is anybody's words."""
        return self._provider.tail(max_tokens=max_tokens, tools_allowed=tools_allowed)

    async def infer(self, body: bytes, on_text: Callable[[str], None], arrived: Arrived | None = None) -> Inference:
        """Send `body`, which was made here; return the reply with its calls in their one form. Raise AttemptError.

        Its text is masked by whoever keeps or shows it.
        """
        try:
            inference = await self._provider.infer(body, on_text, arrived)
        except AttemptError as error:
            error.detail = self._of_errors(error.detail)
            error.args = (error.detail,)
            raise
        if not inference.calls:
            return inference
        return msgspec.structs.replace(inference, calls=tuple(self._call(call) for call in inference.calls))

    async def aclose(self) -> None:
        """Release connections."""
        await self._provider.aclose()

    def _text(self, text: str) -> str:
        return cast("str", self._mask(text))

    def _tool(self, tool: ToolSpec) -> ToolSpec:
        return ToolSpec(
            name=self._text(tool.name), description=self._text(tool.description), schema=self._mask(tool.schema)
        )

    def _message(self, message: Message) -> Message:
        match message:
            case Said():
                return Said(self._text(message.text))
            case Replied():
                return Replied(self._text(message.text), tuple(self._call(call) for call in message.calls))
            case Result():
                return msgspec.structs.replace(
                    message,
                    provider_id=self._text(message.provider_id),
                    text=self._text(message.text),
                    pictures=self._pictures(message.pictures),
                )
            case Shown():
                return Shown(self._pictures(message.pictures))
            case _:
                assert_never(message)

    def _call(self, call: AskedCall) -> AskedCall:
        return AskedCall(
            provider_id=self._text(call.provider_id),
            tool=self._text(call.tool),
            arguments=masked_arguments(call.arguments, self._mask),
        )

    def _pictures(self, pictures: tuple[Picture, ...]) -> tuple[Picture, ...]:
        return tuple(msgspec.structs.replace(picture, name=self._text(picture.name)) for picture in pictures)
