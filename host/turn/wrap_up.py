"""The one inference without tools by which a turn that ran out of budget accounts for itself (BUD-4).

Its request is small and bounded, whatever the history: the person's words, shortened, and a line for each call. That
is why it can be reserved from the start.
"""

from typing import Final

from host.excerpts import beginning
from host.models.conversation import Said
from host.turn.state import Step, TurnState

_WORDS_KEPT: Final = 1500  # characters of the person's message: enough to know what it was about
_CALLS_KEPT: Final = 40
_ARGUMENTS_KEPT: Final = 80


def wrap_up_message(state: TurnState, why: str) -> Said:
    """Return what the model is asked when a meter ran out; `why` names the meter."""
    words = next((item.text for item in state.items if isinstance(item, Said)), "")
    if len(words) > _WORDS_KEPT:
        words = f"{words[:_WORDS_KEPT]}… ({len(words)} characters in all)"
    lines = [line for step in state.all_steps() for line in _call_lines(step)]
    if len(lines) > _CALLS_KEPT:
        lines = [f"({len(lines) - _CALLS_KEPT} earlier calls)", *lines[-_CALLS_KEPT:]]
    calls = "\n".join(lines) or "(none)"
    return Said(
        f"The person wrote:\n{words}\n\nThe calls made so far:\n{calls}\n\n"
        f"[Notice from the host] {why}. No further call is possible in this turn. Tell the person, in their language"
        " and in a few sentences: what is done, what is not, and what should come next. Claim nothing beyond the list."
    )


def _call_lines(step: Step) -> list[str]:
    lines: list[str] = []
    for asked in step.calls:
        end = step.ends.get(asked.call)
        match end:
            case None:
                outcome = "begun, outcome unknown" if asked.call in step.started else "not run"
            case _ if end.ok:
                outcome = "done"
            case _:
                outcome = f"failed: {end.reason.value if end.reason else 'unknown'}"
        lines.append(f"- {asked.tool} {beginning(asked.arguments, _ARGUMENTS_KEPT)} → {outcome}")
    return lines
