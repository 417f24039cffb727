"""Failed sign-ins: how long each answer is kept back, and what the host's journal is told (PAN-2).

Right credentials are not delayed by earlier failures: on loopback every program of the machine shares one address.
Only while as many answers to an address are kept back as may be is it refused, right or wrong, so that guessing side
by side is no faster. Codes and tokens hold 128 bits and more; the delay has to make guessing loud and slow. Both tables
are bounded, so that nobody can fill memory or disk. Pure: callers pass the time.
"""

import ipaddress
from collections import OrderedDict
from typing import Final

from host.record.host_events import SignInFailed

FIRST_DELAY_SECONDS: Final = 0.25
LONGEST_DELAY_SECONDS: Final = 8.0
FORGET_SECONDS: Final = 900.0  # a quarter of an hour without a failure and an address starts anew
ADDRESSES: Final = 1024  # remembered at once; the one that failed longest ago goes first
NAMED_ADDRESSES: Final = 4  # addresses that get journal rows of their own within a minute
MINUTE_US: Final = 60_000_000
OTHERS: Final = "others"


class Backoff:
    """The delay before a failed attempt is answered; it doubles with each failure of an address."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, tuple[int, int]] = OrderedDict()  # address → (failures in a row, last, µs)

    def failed(self, address: str, now_us: int) -> float:
        """Count a failure and return the seconds by which its answer is delayed."""
        network = network_of(address)
        count, last_us = self._failures.pop(network, (0, now_us))
        if now_us - last_us > FORGET_SECONDS * 1_000_000:
            count = 0
        self._failures[network] = (count + 1, now_us)
        while len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        return min(FIRST_DELAY_SECONDS * 2.0 ** min(count, 16), LONGEST_DELAY_SECONDS)

    def succeeded(self, address: str) -> None:
        """Forget the failures of an address."""
        self._failures.pop(network_of(address), None)


class Tally:
    """Failed attempts as journal events: the first of an address at once, the rest of its minute as one row."""

    def __init__(self) -> None:
        self._minute = 0
        self._more: dict[tuple[str, str], int] = {}  # (address, how) → failures not journaled yet

    def add(self, address: str, how: str, now_us: int) -> tuple[SignInFailed, ...]:
        """Count a failure; return the events to journal now."""
        due = self.flush(now_us)
        key = (network_of(address), how)
        if key in self._more:
            self._more[key] += 1
            return due
        if len(self._more) < NAMED_ADDRESSES:
            self._more[key] = 0
            return (*due, SignInFailed(address=key[0], how=how, count=1))
        others = (OTHERS, OTHERS)
        self._more[others] = self._more.get(others, 0) + 1
        return due

    def flush(self, now_us: int, *, closing: bool = False) -> tuple[SignInFailed, ...]:
        """Return rows for a minute that is over (or, when `closing`, for the one that runs)."""
        minute = now_us // MINUTE_US
        if minute == self._minute and not closing:
            return ()
        self._minute = minute
        rows = tuple(
            SignInFailed(address=address, how=how, count=count) for (address, how), count in self._more.items() if count
        )
        self._more.clear()
        return rows


def bare_address(told: str) -> str:
    """Return the address in an entry of X-Forwarded-For, which some proxies write with a port; `unknown` if none."""
    if told.startswith("["):
        told = told[1:].partition("]")[0]
    elif told.count(":") == 1:
        told = told.partition(":")[0]
    try:
        return str(ipaddress.ip_address(told))
    except ValueError:
        return "unknown"


def network_of(address: str) -> str:
    """Return what counts as one sender: an IPv4 address, or the /64 that one IPv6 customer can draw from."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(ip, ipaddress.IPv6Address) and not ip.is_loopback:
        mapped = ip.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(ip), 64), strict=False))
    return str(ip)
