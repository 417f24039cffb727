"""Whether a turn goes round in circles (LOOP-1): a pure judgement over the calls it made.

A call repeats an earlier one when tool and canonical arguments are equal. The third identical call with nothing
changed in between is not run. The state of the world changes by an effect of another call, by a result that differs
from the last one, or by a new word of a person. Results are compared by what they tell of the world, not by incidental
text such as where a replaced version is kept (`ToolResult.essence`). A cycle of calls (A B A B A) counts although each
of its calls has an effect, as long as nothing outside the cycle does and every result is the same as the round before.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from host.models.arguments import UnreadableArguments, canonical_arguments, read_arguments
from host.models.conversation import Said
from host.record.events import CallAsked
from host.stops import Reason
from host.turn.state import CallEnd, Step, TurnState

IDENTICAL_CALLS: Final = 3
ERROR_RUN: Final = 5
MISASKED_SHOWN: Final = 3  # TURN-4: then the person is told
REFUSALS: Final = 2  # where nobody watches: who was told to stop trying and tries again will not find another way
LONGEST_CYCLE: Final = 4


class Made(msgspec.Struct, frozen=True):
    """A call that was made, reduced to what repetition looks at."""

    key: str
    result: str
    changed_state: bool


def call_key(asked: CallAsked) -> str:
    """Return what equal calls have in common: the tool and its arguments in canonical form."""
    try:
        canonical = canonical_arguments(read_arguments(asked.arguments)).decode()
    except UnreadableArguments:
        canonical = asked.arguments
    return f"{asked.tool} {canonical}"


def repeats(asked: CallAsked, state: TurnState) -> bool:
    """Tell whether running `asked` now would be the third identical call with nothing changed in between."""
    key = call_key(asked)
    if all(_key_in(step, other) != key for step in state.all_steps() for other in step.calls if other is not asked):
        return False  # the usual case, at a look-up a call
    made = _made_since_last_word(state)
    return _identical(key, made) or _cycles(key, made)


def errors_in_a_row(state: TurnState) -> int:
    """Return how many of the latest calls failed or were refused, one after the other."""
    return _run(state, lambda end: not end.ok)


def misasked_in_a_row(state: TurnState) -> int:
    """Return how many of the latest calls named an unknown tool or had bad arguments."""
    return _run(state, lambda end: end.misasked)


def refusals(state: TurnState) -> int:
    """Return how many calls of the turn policy or a person refused."""
    return sum(not end.ran and end.reason is Reason.POLICY_VIOLATION for end in _newest_first(state))


def _run(state: TurnState, fits: Callable[[CallEnd], bool]) -> int:
    return sum(1 for _ in itertools.takewhile(fits, _newest_first(state)))


def _newest_first(state: TurnState) -> Iterator[CallEnd]:
    for item in reversed(state.items):
        if isinstance(item, Step):
            yield from (item.ends[asked.call] for asked in reversed(item.calls) if asked.call in item.ends)


def _made_since_last_word(state: TurnState) -> list[Made]:
    made: list[Made] = []
    for item in state.items:
        if isinstance(item, Said):
            made.clear()
        if not isinstance(item, Step):
            continue
        made += [
            Made(_key_in(item, asked), end.result_hash or _hash_of(end.text), end.changed_state)
            for asked in item.calls
            if (end := item.ends.get(asked.call))
        ]
    return made


def _hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _key_in(step: Step, asked: CallAsked) -> str:
    """Return the key of a step's call, worked out once."""
    key = step.keys.get(asked.call)
    if key is None:
        key = step.keys[asked.call] = call_key(asked)
    return key


def _identical(key: str, made: list[Made]) -> bool:
    """The same call twice before, equal results, no effect of another call since the first of them."""
    same = [index for index, call in enumerate(made) if call.key == key]
    if len(same) < IDENTICAL_CALLS - 1:
        return False
    first, last = same[1 - IDENTICAL_CALLS], same[-1]
    if made[first].result != made[last].result:
        return False
    return not any(call.changed_state for call in made[first:] if call.key != key)


def _cycles(key: str, made: list[Made]) -> bool:
    """Two equal rounds of two to four calls lie behind, and `key` would begin the third."""
    for length in range(2, LONGEST_CYCLE + 1):
        rounds = IDENTICAL_CALLS - 1
        if len(made) < length * rounds:
            continue
        last = made[-length:]
        before = made[-2 * length : -length]
        if last == before and last[0].key == key:
            return True
    return False
