"""The order in which waiting messages go, the bound, and what is held."""

import pytest

from lanes.errors import AlreadyKnown, NotHeld, QueueFull, UnknownMessage
from lanes.mailbox import AGEING_SECONDS, LIMIT, NOW_IN_A_ROW, Mailbox, Priority

SECOND = 1_000_000
AGED_US = int(AGEING_SECONDS * SECOND)


def taken(mailbox: Mailbox, now_us: int = 0) -> list[str]:
    """Take everything."""
    result: list[str] = []
    while (entry := mailbox.take(now_us)) is not None:
        result.append(entry.message)
    return result


@pytest.mark.clause("LANE-2", "LANE-3")
def test_priorities_go_now_turn_later_and_in_order_of_arrival_inside_each() -> None:
    """What is more urgent goes first; equals go as they came."""
    mailbox = Mailbox()
    for message, priority in (
        ("l1", Priority.LATER),
        ("t1", Priority.TURN),
        ("n1", Priority.NOW),
        ("l2", Priority.LATER),
        ("n2", Priority.NOW),
        ("t2", Priority.TURN),
    ):
        mailbox.put(message, priority, 0)
    assert [entry.message for entry in mailbox.in_order(0)] == ["n1", "n2", "t1", "t2", "l1", "l2"]
    assert taken(mailbox) == ["n1", "n2", "t1", "t2", "l1", "l2"]


@pytest.mark.clause("LANE-3")
def test_a_later_that_has_waited_long_enough_goes_before_a_younger_turn() -> None:
    """Ageing makes `later` compete with `turn` by order of acceptance."""
    mailbox = Mailbox()
    mailbox.put("later", Priority.LATER, 0)
    mailbox.put("turn", Priority.TURN, 1)
    assert [entry.message for entry in mailbox.in_order(AGED_US - 1)] == ["turn", "later"]
    assert taken(mailbox, AGED_US) == ["later", "turn"]


@pytest.mark.clause("LANE-3")
def test_a_flood_of_now_lets_one_other_through_after_a_while() -> None:
    """Even endless interruptions do not starve what waits."""
    mailbox = Mailbox()
    mailbox.put("later", Priority.LATER, 0)
    for number in range(2 * NOW_IN_A_ROW):
        mailbox.put(f"now{number}", Priority.NOW, 0)
    order = taken(mailbox)
    assert order.index("later") == NOW_IN_A_ROW


def test_a_clock_set_back_neither_ages_nor_reorders_anything() -> None:
    """A jump back counts as no time passed; what passes afterwards counts."""
    mailbox = Mailbox()
    mailbox.put("later", Priority.LATER, 1000 * SECOND)
    mailbox.put("turn", Priority.TURN, 10 * SECOND)
    assert [entry.message for entry in mailbox.in_order(10 * SECOND)] == ["turn", "later"]
    assert [entry.message for entry in mailbox.in_order(10 * SECOND + AGED_US)] == ["later", "turn"]


@pytest.mark.clause("LANE-3")
def test_the_bound_refuses_the_newcomer_and_keeps_all_that_wait() -> None:
    """A hundred wait, held ones included; the next is refused and nothing is lost."""
    mailbox = Mailbox()
    for number in range(LIMIT):
        mailbox.put(f"m{number}", Priority.TURN, 0)
    mailbox.hold("m0")
    with pytest.raises(QueueFull) as refusal:
        mailbox.put("one too many", Priority.NOW, 0)
    assert refusal.value.limit == LIMIT
    assert "wait" in str(refusal.value)
    assert len(mailbox) == LIMIT
    assert taken(mailbox) == [f"m{number}" for number in range(1, LIMIT)]


@pytest.mark.clause("STOP-1")
def test_a_held_message_stays_until_it_is_released_and_then_has_its_old_place() -> None:
    """Held messages do not go; released ones go before younger ones."""
    mailbox = Mailbox()
    for message in ("a", "b", "c"):
        mailbox.put(message, Priority.TURN, 0)
    mailbox.hold("a")
    mailbox.hold("b")
    assert [entry.message for entry in mailbox.held] == ["a", "b"]
    assert [entry.message for entry in mailbox.in_order(0)] == ["c"]
    mailbox.release("b")
    assert taken(mailbox) == ["b", "c"]
    assert "a" in mailbox


def test_a_message_is_not_taken_twice() -> None:
    """The same id waits once."""
    mailbox = Mailbox()
    entry = mailbox.put("a", Priority.TURN, 0)
    with pytest.raises(AlreadyKnown) as refusal:
        mailbox.put("a", Priority.NOW, 0)
    assert refusal.value.message == "a"
    with pytest.raises(AlreadyKnown):
        mailbox.insert(entry)
    assert len(mailbox) == 1


def test_moves_on_messages_that_are_not_there_are_refused_by_name() -> None:
    """Nothing is silently ignored."""
    mailbox = Mailbox()
    mailbox.put("a", Priority.TURN, 0)
    with pytest.raises(NotHeld):
        mailbox.release("a")
    for move in (mailbox.release, mailbox.hold, mailbox.remove):
        with pytest.raises(UnknownMessage):
            move("b")


def test_an_entry_put_back_has_its_old_place() -> None:
    """What was taken out and put back by order of acceptance is not behind those that came later."""
    mailbox = Mailbox()
    mailbox.put("a", Priority.TURN, 0)
    mailbox.put("b", Priority.TURN, 0)
    entry = mailbox.remove("a")
    mailbox.put("c", Priority.TURN, 0)
    mailbox.insert(entry)
    assert taken(mailbox) == ["a", "b", "c"]
