"""A process that swaps links, folders and files all the time does not get anything out or in (PATH-1)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.race import TRIES, Deed, Race, Try

ROUNDS: Final = 250  # of hypothesis; each makes 40 tries against the running swapper
EACH: Final = 40


@pytest.fixture(params=["openat2", "walk"])
def race(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Race]:
    """A race that is on; afterwards all of its tries are looked at together."""
    with Race(tmp_path, kernel=request.param == "openat2").on() as running:
        yield running
        tries: tuple[Deed, ...] = ("read", "write", "list")
        for deed in tries:
            inside, refused = running.won(deed)
            assert inside > 0, running.outcomes
            assert refused > 0, running.outcomes
        assert running.beats_the_careless(), "a race that beats nobody shows nothing"
    assert running.changed_outside() == []


@pytest.mark.clause("PATH-1")
@settings(max_examples=ROUNDS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempts=st.lists(st.sampled_from(TRIES), min_size=EACH, max_size=EACH))
def test_links_swapped_between_check_and_use_lead_nowhere(race: Race, attempts: list[Try]) -> None:
    """Ten thousand tries: what is read or listed is inside, what is written goes inside, or the path is refused."""
    for deed, path in attempts:
        race.attempt(deed, path)
    assert race.breaches == []
    assert race.changed_outside() == []
