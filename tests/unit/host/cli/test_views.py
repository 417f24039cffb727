"""What the command line prints of questions."""

import io

import pytest

from host.cli import views
from host.cli.screen import Screen
from host.groups.port import ApprovalView


@pytest.mark.clause("APR-1")
def test_a_question_says_how_far_an_answer_under_a_command_reaches() -> None:
    """It is no beginning of a line; folders need no such word."""
    file = io.StringIO()
    for covered in ("execute:command:git clone *", "write:path:docs/"):
        question = ApprovalView(
            id="a1",
            group="main",
            turn="t1",
            call="1.0",
            tool="shell",
            question="approval",
            effect="execute",
            arguments={},
            what_may_happen="",
            doing="",
            scopes=("once", "under"),
            asked_at="",
            expires_at="",
            covers={"under": (covered,)},
        )
        views.approvals(Screen(file=file, terminal=False, width=400), (question,))
    said = " ".join(file.getvalue().split())
    assert "under (the same command and options with other plain operands: execute:command:git clone *)" in said
    assert "under (write:path:docs/)" in said
