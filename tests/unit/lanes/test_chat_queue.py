"""What becomes of a message in the chat lane, state by state."""

import pytest

from lanes.chat import ChatQueue, Disposition, Kept, Phase, Placed
from lanes.errors import AlreadyKnown, NotHeld, NothingRunning, QueueFull, TurnRunning, UnknownMessage
from lanes.mailbox import AGEING_SECONDS, LIMIT, NOW_IN_A_ROW, Priority

AGED_US = int(AGEING_SECONDS * 1_000_000)


def running_queue() -> ChatQueue:
    """A queue whose turn "r" runs with an open inbox."""
    queue = ChatQueue()
    queue.offer("r", Priority.TURN, 0)
    return queue


def ids(queue: ChatQueue, where: str) -> list[str]:
    """The ids in one list of the snapshot."""
    return [waiting.message for waiting in getattr(queue.snapshot(0), where)]


@pytest.mark.clause("LANE-2")
@pytest.mark.parametrize("priority", list(Priority))
def test_with_no_running_turn_every_priority_starts_one(priority: Priority) -> None:
    """Nothing runs, so there is nothing to wait for."""
    queue = ChatQueue()
    assert queue.offer("m", priority, 0) == Placed(message="m", disposition=Disposition.STARTED)
    assert queue.running == "m"
    assert not queue.interrupted


@pytest.mark.clause("LANE-2")
def test_turn_enters_the_running_turn_in_order_and_once() -> None:
    """Steered messages are handed over in order, and then are the turn's."""
    queue = running_queue()
    assert queue.offer("a", Priority.TURN, 0).disposition is Disposition.STEERED
    assert queue.offer("b", Priority.TURN, 0).disposition is Disposition.STEERED
    assert ids(queue, "steered") == ["a", "b"]
    assert queue.take_steered() == ("a", "b")
    assert queue.take_steered() == ()
    assert queue.ended(0) is None


@pytest.mark.clause("LANE-2")
def test_later_waits_at_a_position_counted_from_one() -> None:
    """The first that waits is at position 1."""
    queue = running_queue()
    assert queue.offer("a", Priority.LATER, 0) == Placed(message="a", disposition=Disposition.QUEUED, position=1)
    assert queue.offer("b", Priority.LATER, 0).position == 2
    assert [waiting.position for waiting in queue.snapshot(0).queued] == [1, 2]
    assert queue.take_steered() == ()
    assert [queue.ended(0), queue.ended(0), queue.ended(0)] == ["a", "b", None]


@pytest.mark.clause("LANE-2")
def test_now_interrupts_and_is_first_to_start() -> None:
    """It goes before an older `later` and before what was steered, which then enters its turn."""
    queue = running_queue()
    queue.offer("later", Priority.LATER, 0)
    queue.offer("steered", Priority.TURN, 0)
    assert queue.offer("now", Priority.NOW, 0) == Placed(message="now", disposition=Disposition.INTERRUPTING)
    assert (queue.interrupted, queue.snapshot(0).phase) == (True, Phase.INTERRUPTED)
    assert queue.take_steered() == ()
    assert queue.ended(10 * AGED_US) == "now"
    assert (queue.interrupted, queue.running) == (False, "now")
    assert queue.take_steered() == ("steered",)
    assert queue.ended(0) == "later"


@pytest.mark.clause("LANE-2")
def test_a_turn_message_is_not_promised_to_an_interrupted_turn() -> None:
    """It waits for the next turn instead."""
    queue = running_queue()
    queue.offer("now", Priority.NOW, 0)
    assert queue.offer("t", Priority.TURN, 0) == Placed(message="t", disposition=Disposition.QUEUED, position=2)


@pytest.mark.clause("LANE-2")
def test_a_second_now_interrupts_the_first_one_in_turn() -> None:
    """Whatever the timing, `now` interrupts whatever runs; they start in order."""
    queue = running_queue()
    queue.offer("n1", Priority.NOW, 0)
    queue.offer("n2", Priority.NOW, 0)
    assert queue.ended(0) == "n1"
    assert queue.interrupted
    assert queue.ended(0) == "n2"
    assert not queue.interrupted


@pytest.mark.clause("LANE-3")
def test_the_one_let_through_a_flood_of_now_is_not_interrupted_by_those_that_wait() -> None:
    """Otherwise its start would be worth nothing; a new `now` does interrupt it."""
    queue = running_queue()
    queue.offer("later", Priority.LATER, 0)
    for number in range(NOW_IN_A_ROW + 1):
        queue.offer(f"n{number}", Priority.NOW, 0)
    started = [queue.ended(0) for _ in range(NOW_IN_A_ROW + 1)]
    assert started[-1] == "later"
    assert (queue.interrupted, queue.running) == (False, "later")
    queue.offer("new", Priority.NOW, 0)
    assert (queue.interrupted, queue.running) == (True, "later")
    assert queue.ended(0) == f"n{NOW_IN_A_ROW}"


@pytest.mark.clause("LANE-2")
def test_an_inbox_that_holds_something_does_not_close() -> None:
    """The turn must take what it was promised, and go on."""
    queue = running_queue()
    queue.offer("a", Priority.TURN, 0)
    assert not queue.close_inbox()
    assert queue.offer("b", Priority.TURN, 0).disposition is Disposition.STEERED
    assert queue.take_steered() == ("a", "b")
    assert queue.close_inbox()


@pytest.mark.clause("LANE-2")
def test_a_sealed_inbox_keeps_what_was_not_taken_for_the_next_turn() -> None:
    """A turn that must end whatever waits, for its budget say, is promised nothing more and loses nothing."""
    queue = running_queue()
    queue.offer("a", Priority.TURN, 0)
    queue.seal_inbox()
    assert queue.take_steered() == ()
    assert queue.offer("b", Priority.TURN, 0).disposition is Disposition.QUEUED
    assert queue.ended(0) == "a"
    assert queue.take_steered() == ("b",)
    queue.offer("n", Priority.NOW, 0)
    queue.seal_inbox()
    assert queue.interrupted


@pytest.mark.clause("LANE-2")
def test_after_the_inbox_closed_a_turn_message_waits_and_starts_the_next_turn() -> None:
    """A turn that is over is promised nothing."""
    queue = running_queue()
    assert queue.close_inbox()
    assert queue.offer("a", Priority.TURN, 0) == Placed(message="a", disposition=Disposition.QUEUED, position=1)
    assert queue.take_steered() == ()
    assert queue.ended(0) == "a"


@pytest.mark.clause("LANE-3")
def test_turn_messages_that_wait_enter_the_turn_that_starts_before_younger_ones() -> None:
    """Otherwise one that comes later would be steered past one that came earlier."""
    queue = running_queue()
    queue.close_inbox()
    for message in ("a", "b"):
        queue.offer(message, Priority.TURN, 0)
    assert queue.ended(0) == "a"
    queue.offer("c", Priority.TURN, 0)
    assert queue.take_steered() == ("b", "c")


def test_what_a_turn_did_not_take_waits_at_its_old_place() -> None:
    """A turn that ended by itself, by a budget say, leaves its inbox to the next."""
    queue = running_queue()
    queue.offer("a", Priority.TURN, 0)
    queue.offer("b", Priority.TURN, 0)
    assert queue.ended(0) == "a"
    assert queue.take_steered() == ("b",)


@pytest.mark.clause("STOP-1")
def test_after_a_stop_nothing_starts_by_itself() -> None:
    """What was queued or steered is held, in the order in which it would have gone."""
    queue = running_queue()
    queue.offer("later", Priority.LATER, 0)
    queue.offer("steered", Priority.TURN, 0)
    queue.offer("now", Priority.NOW, 0)
    assert queue.stopped(0) == ("steered", "now", "later")
    assert not queue.interrupted
    assert queue.close_inbox()
    assert queue.ended(0) is None
    assert queue.start_next(0) is None
    assert ids(queue, "held") == ["later", "steered", "now"]


@pytest.mark.clause("STOP-1")
def test_a_new_message_after_a_stop_starts_as_usual_and_the_held_ones_stay() -> None:
    """Also one that comes while the stopped turn has not quite ended."""
    queue = running_queue()
    queue.offer("old", Priority.LATER, 0)
    queue.stopped(0)
    assert queue.offer("new", Priority.TURN, 0).disposition is Disposition.QUEUED
    assert queue.ended(0) == "new"
    assert queue.ended(0) is None
    assert queue.offer("newer", Priority.TURN, 0).disposition is Disposition.STARTED
    assert ids(queue, "held") == ["old"]


@pytest.mark.clause("STOP-1")
def test_a_stop_while_nothing_runs_holds_nothing_and_harms_nothing() -> None:
    """The next message starts and can be steered."""
    queue = ChatQueue()
    assert queue.stopped(0) == ()
    queue.offer("a", Priority.TURN, 0)
    assert queue.offer("b", Priority.TURN, 0).disposition is Disposition.STEERED


@pytest.mark.clause("STOP-1")
def test_a_released_message_goes_on_by_its_priority() -> None:
    """It starts, is steered, interrupts or waits, as a new one would, but before younger ones."""
    queue = running_queue()
    for message, priority in (
        ("l", Priority.LATER),
        ("t1", Priority.TURN),
        ("t2", Priority.TURN),
        ("n", Priority.NOW),
    ):
        queue.offer(message, priority, 0)
    queue.stopped(0)
    queue.ended(0)
    assert queue.release("t1", 0).disposition is Disposition.STARTED
    assert queue.offer("t3", Priority.TURN, 0).disposition is Disposition.STEERED
    assert queue.release("t2", 0).disposition is Disposition.STEERED
    assert ids(queue, "steered") == ["t2", "t3"]
    assert queue.release("l", 0) == Placed(message="l", disposition=Disposition.QUEUED, position=1)
    assert queue.release("n", 0).disposition is Disposition.INTERRUPTING
    assert queue.interrupted


def test_a_dropped_message_never_runs_wherever_it_waits() -> None:
    """Queued, steered or held."""
    queue = running_queue()
    queue.offer("queued", Priority.LATER, 0)
    queue.offer("steered", Priority.TURN, 0)
    queue.drop("queued")
    queue.drop("steered")
    queue.offer("held", Priority.LATER, 0)
    queue.stopped(0)
    queue.drop("held")
    assert queue.ended(0) is None
    snapshot = queue.snapshot(0)
    assert (snapshot.steered, snapshot.queued, snapshot.held) == ((), (), ())


@pytest.mark.clause("LANE-3")
def test_a_full_queue_refuses_the_sender_and_loses_nothing() -> None:
    """Queued, steered and held ones count together; a refused one is not known afterwards."""
    queue = running_queue()
    for number in range(50):
        queue.offer(f"old{number}", Priority.LATER, 0)
    queue.stopped(0)
    queue.ended(0)
    queue.offer("r2", Priority.TURN, 0)
    for number in range(25):
        queue.offer(f"l{number}", Priority.LATER, 0)
        queue.offer(f"t{number}", Priority.TURN, 0)
    for priority in Priority:
        with pytest.raises(QueueFull):
            queue.offer("x", priority, 0)
    assert not queue.interrupted
    assert (len(ids(queue, "held")), len(ids(queue, "queued")), len(ids(queue, "steered"))) == (50, 25, 25)
    queue.drop("old0")
    assert queue.offer("x", Priority.LATER, 0).position == 26


@pytest.mark.clause("LANE-3")
def test_a_message_that_can_start_is_taken_also_when_held_ones_fill_the_queue() -> None:
    """It does not wait, so the bound does not concern it."""
    queue = running_queue()
    for number in range(LIMIT):
        queue.offer(f"m{number}", Priority.LATER, 0)
    queue.stopped(0)
    queue.ended(0)
    assert queue.offer("new", Priority.TURN, 0).disposition is Disposition.STARTED


def test_a_message_is_accepted_once() -> None:
    """Running, steered, queued and held ids are known."""
    queue = running_queue()
    queue.offer("steered", Priority.TURN, 0)
    queue.offer("queued", Priority.LATER, 0)
    for message in ("r", "steered", "queued"):
        with pytest.raises(AlreadyKnown):
            queue.offer(message, Priority.TURN, 0)


def test_illegal_moves_are_refused_by_name() -> None:
    """Each error says which move and why."""
    queue = ChatQueue()
    for move in (queue.take_steered, queue.close_inbox, queue.seal_inbox, lambda: queue.ended(0)):
        with pytest.raises(NothingRunning):
            move()
    queue.offer("r", Priority.TURN, 0)
    queue.offer("queued", Priority.LATER, 0)
    with pytest.raises(TurnRunning):
        queue.start_next(0)
    queue.offer("steered", Priority.TURN, 0)
    for message in ("queued", "steered"):
        with pytest.raises(NotHeld):
            queue.release(message, 0)
    with pytest.raises(UnknownMessage):
        queue.release("r", 0)
    with pytest.raises(UnknownMessage):
        queue.drop("r")


@pytest.mark.clause("LANE-3", "REC-1")
def test_a_restart_in_the_middle_of_a_turn_loses_nothing() -> None:
    """The turn goes on, steered messages enter it, held ones stay held, the rest waits."""
    queue = ChatQueue.restore(
        "r",
        [
            Kept(message="held", priority=Priority.TURN, at_us=1, held=True),
            Kept(message="later", priority=Priority.LATER, at_us=2),
            Kept(message="steered", priority=Priority.TURN, at_us=3),
        ],
        now_us=10,
    )
    assert queue.running == "r"
    assert not queue.interrupted
    assert [ids(queue, "steered"), ids(queue, "queued"), ids(queue, "held")] == [["steered"], ["later"], ["held"]]
    assert queue.take_steered() == ("steered",)
    assert [queue.ended(10), queue.ended(10)] == ["later", None]


@pytest.mark.clause("LANE-2", "REC-1")
def test_a_restart_before_an_interrupted_turn_ended_interrupts_it_again() -> None:
    """The `now` that waits still wants the turn's end."""
    queue = ChatQueue.restore("r", [Kept(message="n", priority=Priority.NOW, at_us=1)], now_us=10)
    assert queue.interrupted
    assert queue.ended(10) == "n"


@pytest.mark.clause("LANE-3", "REC-1")
def test_a_restart_between_two_turns_starts_the_next_when_asked() -> None:
    """Nothing starts in `restore` itself, and a newcomer does not jump the queue."""
    queue = ChatQueue.restore(None, [Kept(message="a", priority=Priority.LATER, at_us=1)], now_us=2)
    assert queue.running is None
    assert queue.offer("b", Priority.LATER, 2) == Placed(message="b", disposition=Disposition.QUEUED, position=2)
    assert queue.start_next(2) == "a"


@pytest.mark.clause("LANE-3")
def test_the_time_a_host_was_down_counts_for_ageing() -> None:
    """A `later` from before the night goes before a `turn` from the morning."""
    kept = [
        Kept(message="later", priority=Priority.LATER, at_us=0),
        Kept(message="turn", priority=Priority.TURN, at_us=AGED_US),
    ]
    assert ChatQueue.restore(None, kept, now_us=AGED_US).start_next(AGED_US) == "later"


def test_a_restored_message_cannot_be_running_too() -> None:
    """Records that say so are wrong, and that is said."""
    with pytest.raises(AlreadyKnown):
        ChatQueue.restore("r", [Kept(message="r", priority=Priority.TURN, at_us=0)], now_us=0)


@pytest.mark.clause("LANE-2")
def test_nothing_is_promised_to_a_turn_that_was_sealed() -> None:
    """What it has not taken, and what comes later, waits and starts when it has ended."""
    queue = ChatQueue()
    queue.offer("a", Priority.TURN, 1)
    assert queue.offer("b", Priority.TURN, 2).disposition is Disposition.STEERED
    queue.seal_inbox()
    assert queue.offer("c", Priority.TURN, 3).disposition is Disposition.QUEUED
    assert queue.take_steered() == ()
    assert queue.ended(4) == "b"
