"""Standing answers of one group: given with an answer, looked up for every question, taken back at any time (APR-5).

What a grant covers is arithmetic of `host.policy.grants`; here it meets the record and the clock. Ends and
revocations hold for the next call, because nothing is kept between two looks.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from host.errors import NotFound, ProtocolViolation
from host.ids import GRANT, new_id
from host.passport import Effect
from host.policy.grants import LAST_APPROVALS, Scope, covering, keys, kind_key, proposed
from host.record.events import ApprovalAsked, GrantGiven, GrantRevoked, Part
from host.record.record import Record
from host.record.rows import GrantRow, QuestionRow

LOOKED_BACK: Final = 300  # settled questions among which suggestions are looked for

_keys_of: Final = msgspec.json.Decoder(tuple[str, ...]).decode


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A grant that would have answered what was always approved. Proposed, never applied."""

    tool: str
    scope: Scope
    keys: tuple[str, ...]
    approvals: int  # so many questions it would have spared


class Standing:
    """The grants of one group. Safe from any thread."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def granted(self) -> dict[str, str]:
        """Return for each key that stands now the grant that holds it."""
        return {key: row.id for row in self.standing() for key in _keys_of(row.keys)}

    def standing(self) -> list[GrantRow]:
        """Return the grants that hold now, oldest first."""
        now = self._record.now_us() / 1e6
        return [row for row in self._record.grants() if not row.until or moment(row.until) > now]

    def given_with(self, question: QuestionRow, scope: str, until: str, by: str) -> GrantGiven:
        """Return the grant that goes with an answer; raise ProtocolViolation for one that is not on offer."""
        asked = self._record.event(question.seq)
        if not isinstance(asked, ApprovalAsked) or scope not in asked.scopes or scope == Scope.ONCE:
            offered = ", ".join(asked.scopes) if isinstance(asked, ApprovalAsked) else ""
            message = f"scope: {scope!r} is not on offer for this question; it may be: {offered or 'none'}"
            raise ProtocolViolation(message)
        return GrantGiven(
            turn=question.turn,
            grant=new_id(GRANT, self._record.now_us()),
            approval=question.id,
            scope=scope,
            keys=keys(Scope(scope), asked.parts, kind_key(asked.tool, asked.effect)),
            until=self._end(until),
            by=by,
        )

    async def revoke(self, grant: str, by: str) -> bool:
        """Take a grant back; return whether it stood until now. Raises NotFound, AuditFailure."""
        row = self._record.grant(grant)
        if row is None:
            message = f"there is no grant {grant!r} in this group"
            raise NotFound(message)
        if row.revoked_by:
            return False
        await self._record.append(GrantRevoked(grant=grant, by=by))
        return True

    def proposed(self, parts: Sequence[Part], tool: str, effect: Effect, scopes: Sequence[Scope]) -> Scope:
        """Return the narrowest scope on offer that would have covered the last three approvals of this tool."""
        kind = kind_key(tool, effect)
        before = [
            (kind_key(asked.tool, asked.effect), asked.parts)
            for asked, row in self._settled()
            if row.state == "allowed" and asked.tool == tool
        ]
        return proposed(parts, kind, scopes, before[:LAST_APPROVALS])

    def suggestions(self) -> list[Suggestion]:
        """Return grants for what was approved three times or more and never denied, the most useful first."""
        granted = self.granted()
        approved: dict[tuple[str, Scope, str], list[str]] = defaultdict(list)  # and the exact keys it was made of
        denied: set[str] = set()
        for asked, row in self._settled():
            for part in asked.parts:
                if row.state == "denied":
                    denied.update((part.exact, *part.under))
                elif not covering((part,), kind_key(asked.tool, asked.effect), granted):
                    approved[asked.tool, Scope.TARGET, part.exact].append(part.exact)
                    if part.under:
                        approved[asked.tool, Scope.UNDER, part.under[0]].append(part.exact)
        found = [
            Suggestion(tool=tool, scope=scope, keys=(key,), approvals=len(exact))
            for (tool, scope, key), exact in approved.items()
            if len(exact) >= LAST_APPROVALS and key not in denied and (scope is Scope.TARGET or len(set(exact)) > 1)
        ]
        return sorted(found, key=lambda each: -each.approvals)

    def _settled(self) -> list[tuple[ApprovalAsked, QuestionRow]]:
        found = [(self._record.event(row.seq), row) for row in self._record.settled_approvals(LOOKED_BACK)]
        return [(asked, row) for asked, row in found if isinstance(asked, ApprovalAsked)]

    def _end(self, until: str) -> str:
        """Return the end of a grant as it is kept; raise ProtocolViolation for one that is none, or has passed."""
        if not until:
            return ""
        try:
            at = datetime.fromisoformat(until)
        except ValueError as error:
            message = f"until: {until[:40]!r} is no time; write it as 2031-05-01T12:00:00Z, or with its offset"
            raise ProtocolViolation(message) from error
        if at.tzinfo is None:
            message = f"until: {until} names no zone; write it as 2031-05-01T12:00:00Z, or with its offset"
            raise ProtocolViolation(message)
        if at.timestamp() <= self._record.now_us() / 1e6:
            message = f"until: {until} has passed"
            raise ProtocolViolation(message)
        return at.isoformat()


def moment(until: str) -> float:
    """Return an end in seconds since 1970."""
    return datetime.fromisoformat(until).timestamp()
