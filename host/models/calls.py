"""Tool calls on their way from and to a wire format: drafts, ids, arguments. Pure but for fresh ids."""

import secrets
from typing import Any, assert_never

from host.models.arguments import UnreadableArguments, read_arguments
from host.models.conversation import Message, Replied, Result, Said, Shown


class CallDraft:
    """A call that is still arriving."""

    def __init__(self, call_id: str = "", tool: str = "") -> None:
        self.id = call_id
        self.tool = tool
        self.arguments: list[str] = []  # pieces of text


def new_call_id() -> str:
    """Return an id for a call whose server gave none, or one that is taken."""
    return f"call_{secrets.token_hex(8)}"


def argument_object(arguments: str) -> dict[str, Any]:
    """Return the arguments of a call that is sent back as history.

    Servers refuse a history that holds broken JSON, so such arguments go as the text that they are, in an object.
    """
    try:
        return read_arguments(arguments)
    except UnreadableArguments:
        return {"unreadable_arguments": arguments}


def as_words(message: Message) -> Message:
    """Return the message without calls and results, for a model that knows none (its history may come from another)."""
    match message:
        case Said() | Shown() | Replied(calls=()):
            return message
        case Replied():
            called = [f"[called {call.tool} with {call.arguments}]" for call in message.calls]
            return Replied("\n".join((message.text, *called) if message.text else called))
        case Result():
            return Said(f"[{'result' if message.ok else 'failure'} of the call]\n{message.text}")
        case _:
            assert_never(message)
