"""The aux model's word before a person's, where the group wants that (APR-6): let through for this once, or pass on.

It is asked by whoever runs the turn (`Adviser`), since it costs of the turn's budget. Here stand what it may be asked
at all, that its yes is durable before the call runs, and that nothing else than a yes counts as one. It gives no grant
and refuses nothing: what it passes on is asked as if it had not been there.
"""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from host.gate.assisted_case import Case, case_of
from host.gate.desk import Answer
from host.gate.stages import Registered
from host.ids import APPROVAL, new_id
from host.policy.policy import Call, Ruling
from host.record.assisted import ApprovalAssisted
from host.record.record import Admit, Record
from host.record.rows import QuestionRow

ASSISTED: Final = "assisted"  # the kind of question that nobody was asked
_ALLOWED: Final = "allowed"


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking the aux model."""

    allowed: bool
    model: str  # its name in the settings
    why: str  # allow | pass | no-clear-word | late | unavailable | budget


class Adviser(Protocol):
    """Asks the group's aux model, on the account of one turn."""

    async def advise(self, case: Case) -> Advice:
        """Return its word; whatever goes wrong is no yes. Raises AuditFailure and what the turn's `admit` raises."""
        ...


class Assistance:
    """Assisted approvals of one group."""

    def __init__(
        self,
        record: Record,
        *,
        confined: bool,
        reaching: bool,
        broken: Callable[[], bool],
        fault: Callable[[str], None],
    ) -> None:
        """`confined` says that a sandbox of this machine bounds calls, `reaching` that commands have a way out of it.

        `broken` says that the settings cannot be read.
        """
        self._record = record
        self._confined = confined
        self._reaching = reaching
        self._broken = broken
        self._fault = fault

    def case(self, registered: Registered, call: Call, ruling: Ruling) -> Case | None:
        """Return what the aux model may be asked as things stand; None: the question is a person's."""
        if self._broken() or not self._confined:
            return None
        return case_of(registered, call, ruling, reaching=self._reaching)

    async def answer(
        self, case: Case, registered: Registered, ruling: Ruling, adviser: Adviser, admit: Admit
    ) -> Answer | None:
        """Ask, and return its yes, durable; None where it passed."""
        requested = registered.requested
        before = self._record.question_of(requested.caller.turn, requested.call)
        if before is not None and before.question == ASSISTED:
            return _answer_of(before)  # given before a restart, to this very call
        advice = await adviser.advise(case)
        event = ApprovalAssisted(
            turn=requested.caller.turn,
            approval=new_id(APPROVAL, self._record.now_us()),
            call=requested.call,
            tool=requested.tool,
            effect=registered.passport.effect,
            arguments=msgspec.to_builtins(registered.arguments),
            what_may_happen=ruling.may_happen,
            verdict=_ALLOWED if advice.allowed else "passed",
            by=f"assistant model {advice.model}",
            why=advice.why,
        )
        await self._record.append(event, admit=admit)
        if not advice.allowed:
            return None
        self._fault("approval.assisted")
        return Answer(approval=event.approval, verdict=_ALLOWED, by=event.by, text="")


def _answer_of(row: QuestionRow) -> Answer:
    return Answer(approval=row.id, verdict=row.state, by=row.answered_by, text=row.text)
