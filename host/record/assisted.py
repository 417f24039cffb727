"""The event of a call that the group's aux model was asked about before a person (APR-6)."""

from typing import Any

from host.passport import Effect
from host.record.event import Event


class ApprovalAssisted(Event, frozen=True, kw_only=True, tag="approval_assisted"):
    """The group's aux model was asked whether a call may run before a person is (APR-6); it saw no more than the call.

    What it was shown and what it said stand in the request and the response before this, of the purpose "assist".
    """

    approval: str  # an id of its own; a person who is asked afterwards is asked under another
    call: str
    tool: str
    effect: Effect
    arguments: dict[str, Any]
    what_may_happen: str
    verdict: str  # allowed (for this call, this once) | passed (to the person)
    by: str  # assistant model NAME
    why: str  # allow | pass | no-clear-word | late | unavailable | budget
