"""The contract's table of reasons and exit codes."""

from host.stops import Reason, exit_code

CONTRACT = {
    10: "protocol_violation",
    11: "budget_exhausted",
    12: "replay_diverged",
    13: "approval_timeout",
    14: "delegation_loop",
    15: "resource_busy",
    16: "audit_failure",
    17: "secret_missing",
    18: "policy_violation",
    19: "path_violation",
    20: "login_timeout",
    21: "interrupted",
    22: "silent_failure",
    23: "no_progress",
    24: "model_unavailable",
    25: "tool_failed",
    26: "timed_out",
    27: "unsupported",
    29: "unknown",
}


def test_every_reason_has_the_contracts_exit_code_and_a_sentence() -> None:
    """Codes are fixed; nobody may shift them by adding a member."""
    assert {reason.exit_code: reason.value for reason in Reason} == CONTRACT
    assert all(reason.sentence for reason in Reason)


def test_success_exits_zero() -> None:
    """A turn without a reason is a success."""
    assert exit_code(None) == 0
