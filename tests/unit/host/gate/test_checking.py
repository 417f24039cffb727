"""What `elis check-command` says of a verdict: the rule that decided, and no other reason."""

import pytest

from host.config.live import PolicyNow
from host.config.settings import PolicySettings
from host.gate.checking import Checked, check
from host.passport import Decision
from host.policy.policy import Policy
from host.policy.shell.analysis import analyse


def checked(text: str, settings: PolicySettings) -> Checked:
    """Return the verdict on a text under a group's settings."""
    return check(analyse(text), Policy(lambda: PolicyNow(group=settings)), dict, bare=False)


@pytest.mark.clause("POL-5")
def test_a_command_that_is_allowed_is_not_said_to_be_asked_about() -> None:
    """The rule that lets it run is named; one that only reads says so."""
    lets = PolicySettings(everything="allow")
    assert checked("touch a", lets).reason == (
        "It does more than read; the rule everything lets it run without a question."
    )
    assert checked("ls", lets).reason == "Every command of it only reads."


@pytest.mark.clause("POL-5", "POL-1")
def test_a_denial_names_its_rule() -> None:
    """So that whoever set it finds it."""
    denies = PolicySettings(deny_commands=("git push *",))
    reason = checked("git push origin main", denies).reason
    assert reason == "The rule deny_commands:git push *, which stands in the group's policy, denies it."


@pytest.mark.clause("POL-5", "POL-1")
def test_a_question_about_what_only_reads_names_its_rule() -> None:
    """Nothing that the command does is the reason."""
    asks = PolicySettings(choices={"shell": Decision.ASK})
    assert checked("ls", asks).reason == "It only reads, but the rule tool:shell asks about it."
    assert checked("touch a", asks).reason.startswith("Asked, because touch is not known")
