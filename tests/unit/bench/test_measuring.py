"""What the benches rely on: percentiles that mean what they say, a table that can be read, and peers that stay here."""

import msgspec
import pytest

from tests.bench.peers.worker import only_this_machine
from tests.bench.spread import Spread
from tests.bench.table import Column, lines


def test_percentiles_are_values_that_were_measured() -> None:
    """Nearest rank: of 200 values the 198th is the p99, so that two outliers cannot hide in an average."""
    spread = Spread.of([float(value) for value in range(200, 0, -1)])
    assert (spread.median, spread.p95, spread.p99, spread.most, spread.count) == (100, 190, 198, 200, 200)


def test_nothing_measured_is_an_error_and_no_zero() -> None:
    """A bench that measured nothing has no result."""
    with pytest.raises(ValueError, match="nothing was measured"):
        Spread.of([])


class _Row(msgspec.Struct):
    what: str
    took_ms: float | None


def test_a_table_aligns_names_left_and_numbers_right() -> None:
    """A value that was not measured is a dash, never a zero."""
    columns = (Column("", "what"), Column("took ms", "took_ms", ".1f"))
    shown = lines(columns, [_Row("short", 2.26), _Row("a longer one", None)])
    assert shown == ["              took ms", "short             2.3", "a longer one        –"]


@pytest.mark.parametrize("address", [("127.0.0.1", 80), ("127.9.9.9", 80), ("::1", 80, 0, 0), "/run/socket"])
def test_a_contender_may_reach_this_machine(address: object) -> None:
    """Loopback of both families and sockets of the file system."""
    only_this_machine("socket.connect", (None, address))


@pytest.mark.parametrize("address", [("192.0.2.1", 443), ("2001:db8::1", 443, 0, 0), ("example.org", 443)])
def test_a_contender_reaches_nothing_else(address: object) -> None:
    """No telemetry of any peer leaves the machine, whatever its settings are."""
    with pytest.raises(PermissionError, match="this machine only"):
        only_this_machine("socket.connect", (None, address))
    with pytest.raises(PermissionError, match="this machine only"):
        only_this_machine("socket.getaddrinfo", ("example.org", 443, 0, 0, 0))
