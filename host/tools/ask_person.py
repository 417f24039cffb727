"""The tool `ask_person`: a question to the person, whose answer is the result.

The waiting is the approval desk's, which journals question and answer and takes them up again after a restart; this
module only passes them through.
"""

from typing import Annotated, Final

import msgspec

from host.passport import Decision, Effect, KnownFailure, Passport, Replay
from host.stops import Reason
from host.tools.tool import Scope, ToolResult


class AskPersonArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to ask."""

    question: Annotated[
        str, msgspec.Meta(min_length=1, max_length=4000, description="One question, with the choices if there are any.")
    ]


_ASK_PERSON: Final = Passport(
    name="ask_person",
    summary=(
        "Ask the person a question and wait for the answer. Use it when you cannot go on without knowing what "
        "they want; not for permission: tools ask for that themselves."
    ),
    arguments=AskPersonArguments,
    effect=Effect.PURE,
    reversible=True,
    parallel=False,
    default=Decision.ALLOW,
    timeout_seconds=3600.0,
    masks=frozenset(),
    replay=Replay.IDEMPOTENT,
    network=False,
    paths=frozenset(),
    lendable=False,
    needs=frozenset(),
    promises_content=True,
    failures=(KnownFailure(reason=Reason.APPROVAL_TIMEOUT, when="nobody answers in time"),),
    person_waits=True,
)


class AskPerson:
    """Asks the person."""

    def __init__(self) -> None:
        self.passport: Final = _ASK_PERSON

    async def run(self, arguments: AskPersonArguments, scope: Scope) -> ToolResult:
        """Ask, and wait."""
        return ToolResult(text=await scope.ask(arguments.question))
