"""Why work ended: outcomes, stop reasons and their exit codes (the contract's table).

A reason is data that reaches the journal, the exit code and the screen. Nothing here knows who stopped what.
"""

import enum
from typing import Final


class Outcome(enum.StrEnum):
    """How a turn, run, task or handoff ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"


class Reason(enum.StrEnum):
    """Why something was not a success; also the name of a single call's failure."""

    PROTOCOL_VIOLATION = "protocol_violation"
    BUDGET_EXHAUSTED = "budget_exhausted"
    REPLAY_DIVERGED = "replay_diverged"
    APPROVAL_TIMEOUT = "approval_timeout"
    DELEGATION_LOOP = "delegation_loop"
    RESOURCE_BUSY = "resource_busy"
    AUDIT_FAILURE = "audit_failure"
    SECRET_MISSING = "secret_missing"  # noqa: S105 - the name of a reason
    POLICY_VIOLATION = "policy_violation"
    PATH_VIOLATION = "path_violation"
    LOGIN_TIMEOUT = "login_timeout"
    INTERRUPTED = "interrupted"
    SILENT_FAILURE = "silent_failure"
    NO_PROGRESS = "no_progress"
    MODEL_UNAVAILABLE = "model_unavailable"
    TOOL_FAILED = "tool_failed"
    TIMED_OUT = "timed_out"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """The process exit code by which scripts tell this reason."""
        return _EXIT_CODES[self]

    @property
    def sentence(self) -> str:
        """What the reason means, for people."""
        return _SENTENCES[self]


_EXIT_CODES: Final[dict[Reason, int]] = {
    Reason.PROTOCOL_VIOLATION: 10,
    Reason.BUDGET_EXHAUSTED: 11,
    Reason.REPLAY_DIVERGED: 12,
    Reason.APPROVAL_TIMEOUT: 13,
    Reason.DELEGATION_LOOP: 14,
    Reason.RESOURCE_BUSY: 15,
    Reason.AUDIT_FAILURE: 16,
    Reason.SECRET_MISSING: 17,
    Reason.POLICY_VIOLATION: 18,
    Reason.PATH_VIOLATION: 19,
    Reason.LOGIN_TIMEOUT: 20,
    Reason.INTERRUPTED: 21,
    Reason.SILENT_FAILURE: 22,
    Reason.NO_PROGRESS: 23,
    Reason.MODEL_UNAVAILABLE: 24,
    Reason.TOOL_FAILED: 25,
    Reason.TIMED_OUT: 26,
    Reason.UNSUPPORTED: 27,
    Reason.UNKNOWN: 29,
}

_SENTENCES: Final[dict[Reason, str]] = {
    Reason.PROTOCOL_VIOLATION: "a call or a reply that the protocol does not allow",
    Reason.BUDGET_EXHAUSTED: "a budget of tokens, cost, time or steps ran out",
    Reason.REPLAY_DIVERGED: "a replay differs from the journal",
    Reason.APPROVAL_TIMEOUT: "nobody answered",
    Reason.DELEGATION_LOOP: "groups handed a task round in a circle, or too deep",
    Reason.RESOURCE_BUSY: "a lock, lane or profile is taken, or the host is not running",
    Reason.AUDIT_FAILURE: "the journal cannot be written, or does not verify",
    Reason.SECRET_MISSING: "a secret could not be obtained",
    Reason.POLICY_VIOLATION: "denied by policy or by a person",
    Reason.PATH_VIOLATION: "outside the group's workspace",
    Reason.LOGIN_TIMEOUT: "the person did not finish logging in",
    Reason.INTERRUPTED: "stopped by a person, or by a message that came first",
    Reason.SILENT_FAILURE: "an empty success, or a claim that the journal does not bear out",
    Reason.NO_PROGRESS: "repetition without change, or a run of errors",
    Reason.MODEL_UNAVAILABLE: "the model's provider failed after its retries",
    Reason.TOOL_FAILED: "a tool ran and failed",
    Reason.TIMED_OUT: "a time-out or deadline passed",
    Reason.UNSUPPORTED: "a needed capability is lacking",
    Reason.UNKNOWN: "something unforeseen; a bug worth a report",
}


def exit_code(reason: Reason | None) -> int:
    """Return the exit code of a final event: 0 for a success, else its reason's."""
    return 0 if reason is None else reason.exit_code
