"""Links, sessions and their ends, on a clock that tests turn."""

import asyncio

import pytest

from host.errors import AuditFailure
from host.panel.problems import NotSignedIn
from host.panel.sessions import CODE_US, IDLE_US, LIFE_US, OPEN_CODES, SEEN_US, Session, Sessions, csrf_token
from host.record.host_events import HostEvent, SessionSeen, SignedIn, SignedOut
from host.record.host_record import HostMemory

pytestmark = pytest.mark.clause("PAN-2")


class Clock:
    """A clock that stands until it is turned."""

    def __init__(self) -> None:
        self.now_us = 1_800_000_000_000_000

    def __call__(self) -> int:
        """Return the time."""
        return self.now_us


class SlowRecord(HostMemory):
    """A record whose rows of sign-ins take until a test lets them through."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def append(self, *events: HostEvent) -> None:
        """Keep events in order, and answer for sign-ins when told to."""
        await super().append(*events)
        if isinstance(events[0], SignedIn):
            self.reached.set()
            await self.go_on.wait()


class FullRecord(HostMemory):
    """A record that takes nothing while it is full."""

    full = True

    async def append(self, *events: HostEvent) -> None:
        """Keep events in order, or refuse them."""
        if self.full:
            message = "the disk is full"
            raise AuditFailure(message)
        await super().append(*events)


class Host:
    """Sessions over a record, and a way to restart them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.record = HostMemory(self.clock)
        self.sessions = Sessions(self.record, self.clock)

    async def sign_in(self) -> str:
        """Return the cookie of a fresh session."""
        return await self.sessions.redeem(self.sessions.invite().code, address="127.0.0.1", agent="a browser")

    async def restart(self) -> None:
        """Come up again with nothing but the record."""
        self.sessions = Sessions(self.record, self.clock)
        await self.sessions.restore()

    def known(self, cookie: str) -> Session:
        """Return the session of a cookie that must have one."""
        session = self.sessions.recognise(cookie)
        assert session is not None
        return session


@pytest.fixture
def host() -> Host:
    """A host."""
    return Host()


async def test_a_code_works_once(host: Host) -> None:
    """The second use is refused and says what to do."""
    code = host.sessions.invite().code
    assert len(code) >= 26
    cookie = await host.sessions.redeem(code, address="127.0.0.1", agent="")
    assert host.sessions.recognise(cookie) is not None
    with pytest.raises(NotSignedIn, match="elis panel"):
        await host.sessions.redeem(code, address="127.0.0.1", agent="")


async def test_a_code_ends_after_ten_minutes(host: Host) -> None:
    """An old link opens nothing."""
    code = host.sessions.invite().code
    host.clock.now_us += CODE_US
    with pytest.raises(NotSignedIn):
        await host.sessions.redeem(code, address="127.0.0.1", agent="")


async def test_a_code_does_not_outlive_a_restart(host: Host) -> None:
    """Codes live in memory alone."""
    code = host.sessions.invite().code
    await host.restart()
    with pytest.raises(NotSignedIn):
        await host.sessions.redeem(code, address="127.0.0.1", agent="")


async def test_open_codes_are_bounded(host: Host) -> None:
    """The oldest of too many links stops working; the newest works."""
    codes = [host.sessions.invite().code for _ in range(OPEN_CODES + 1)]
    with pytest.raises(NotSignedIn):
        await host.sessions.redeem(codes[0], address="127.0.0.1", agent="")
    assert await host.sessions.redeem(codes[-1], address="127.0.0.1", agent="")


@pytest.mark.parametrize("cookie", ["", "guess", "0" * 43])
async def test_a_guessed_cookie_is_nobody(host: Host, cookie: str) -> None:
    """Only what was handed out is recognised."""
    await host.sign_in()
    assert host.sessions.recognise(cookie) is None


async def test_a_session_ends_after_twelve_idle_hours_and_not_before(host: Host) -> None:
    """Use keeps a session; twelve hours without a person end it."""
    cookie = await host.sign_in()
    for _ in range(5):
        host.clock.now_us += IDLE_US - 1
        await host.sessions.touch(host.known(cookie))
    host.clock.now_us += IDLE_US
    assert host.sessions.recognise(cookie) is None


async def test_a_session_ends_after_thirty_days_of_use(host: Host) -> None:
    """No session lasts for ever."""
    cookie = await host.sign_in()
    begun_us = host.clock.now_us
    while host.clock.now_us + IDLE_US - 1 < begun_us + LIFE_US:
        host.clock.now_us += IDLE_US - 1
        await host.sessions.touch(host.known(cookie))
    host.clock.now_us = begun_us + LIFE_US
    assert host.sessions.recognise(cookie) is None


async def test_use_is_journaled_every_half_hour_at_most(host: Host) -> None:
    """A busy page does not fill the journal."""
    cookie = await host.sign_in()
    for _ in range(100):
        host.clock.now_us += SEEN_US // 50
        await host.sessions.touch(host.known(cookie))
    assert [type(entry.event) for entry in host.record.entries].count(SessionSeen) == 2


async def test_a_restart_keeps_sessions_with_their_idle_time(host: Host) -> None:
    """A session that was used goes on after a restart and ends when it would have ended."""
    used, unused = await host.sign_in(), await host.sign_in()
    host.clock.now_us += IDLE_US - 1
    await host.sessions.touch(host.known(used))
    await host.restart()
    assert host.sessions.recognise(used) is not None
    host.clock.now_us += 1
    assert host.sessions.recognise(unused) is None
    await host.restart()
    assert host.sessions.recognise(used) is not None
    assert host.sessions.recognise(unused) is None


async def test_signing_out_holds_after_a_restart(host: Host) -> None:
    """A session that was ended stays ended; the others go on."""
    gone, stays = await host.sign_in(), await host.sign_in()
    await host.sessions.sign_out(host.known(gone))
    await host.restart()
    assert host.sessions.recognise(gone) is None
    assert host.sessions.recognise(stays) is not None


async def test_sign_out_everywhere_ends_all_and_voids_links(host: Host) -> None:
    """It says how many it ended, and it holds after a restart."""
    cookies = [await host.sign_in() for _ in range(3)]
    code = host.sessions.invite().code
    assert await host.sessions.sign_out_everywhere() == 3
    with pytest.raises(NotSignedIn):
        await host.sessions.redeem(code, address="127.0.0.1", agent="")
    await host.restart()
    assert [host.sessions.recognise(cookie) for cookie in cookies] == [None] * 3
    assert host.record.entries[-1].event == SignedOut(session="")


async def test_the_record_holds_hashes_only(host: Host) -> None:
    """Neither code, cookie nor CSRF word stands in it, and a browser's name is cut."""
    code = host.sessions.invite().code
    cookie = await host.sessions.redeem(code, address="127.0.0.1", agent="x" * 5000)
    written = str(host.record.entries)
    assert code not in written
    assert cookie not in written
    assert csrf_token(cookie) not in written
    assert len(written) < 1000
    assert isinstance(host.record.entries[0].event, SignedIn)


async def test_the_csrf_word_belongs_to_one_session(host: Host) -> None:
    """It is the same for a session at any time, other for another, and not the cookie."""
    one, other = await host.sign_in(), await host.sign_in()
    assert csrf_token(one) == csrf_token(one)
    assert len({csrf_token(one), csrf_token(other), one, other}) == 4


async def test_a_sign_in_during_sign_out_everywhere_opens_nothing() -> None:
    """A link that is being opened in that instant counts as signed out, now and after a restart."""
    clock = Clock()
    record = SlowRecord(clock)
    sessions = Sessions(record, clock)
    code = sessions.invite().code
    redeeming = asyncio.create_task(sessions.redeem(code, address="127.0.0.1", agent=""))
    async with asyncio.timeout(10):
        await record.reached.wait()
        assert await sessions.sign_out_everywhere() == 1
        record.go_on.set()
        with pytest.raises(NotSignedIn, match="signed out"):
            await redeeming
    again = Sessions(record, clock)
    await again.restore()
    assert [await each.sign_out_everywhere() for each in (sessions, again)] == [0, 0]


async def test_a_sign_in_that_cannot_be_journaled_opens_nothing() -> None:
    """Without its row there is no session."""
    clock = Clock()
    record = FullRecord(clock)
    sessions = Sessions(record, clock)
    redeeming = sessions.redeem(sessions.invite().code, address="127.0.0.1", agent="")
    with pytest.raises(AuditFailure):
        await redeeming
    record.full = False
    assert await sessions.sign_out_everywhere() == 0
