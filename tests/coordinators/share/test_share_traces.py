"""What a share group does with a record, in its timeline."""

from attrs import define, field

from coordinators.share.acks import AckBatch
from coordinators.share.acquiring import ReadSpan, ShareWanted
from coordinators.share.config import ShareGroupSettings
from coordinators.share.counters import ShareCounters
from coordinators.share.ports import SharePlace
from coordinators.share.share_partition import SharePartition, ShareSurroundings
from coordinators.tracing.settings import TraceSettings
from engine.deferred import Deferred
from engine.errors import CoordinatorLoadInProgress
from engine.timers import Timers
from engine.trace.kinds import Outcome
from engine.trace.record_trace import RecordTrace
from tests.coordinators.share.fake_states import FakeStates
from tests.coordinators.share.windows import rules
from tests.coordinators.tracing.world import World
from tests.engine.trace.traces import trace_header

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
PLAIN, TRACED = (), (trace_header(),)


@define(slots=False)
class Queue:
    """Four records of the topic `orders`, of which 1 and 3 are traced, and the group `mail` on them."""

    settings: ShareGroupSettings = field(factory=lambda: rules(auto_offset_reset="earliest"))
    world: World = field(factory=World)
    states: FakeStates = field(factory=FakeStates)

    def __attrs_post_init__(self) -> None:
        self.world.partition.sync_writes = False
        self.world.produce([(None, b"%d" % number, TRACED if number % 2 else PLAIN) for number in range(4)])
        self.timers = Timers()
        around = ShareSurroundings(
            self.states,
            self.world.clock,
            self.timers,
            self.world.workers,
            lambda _: self.settings,
            ShareCounters(),
            tracing=self.world.tracing,
        )
        place = SharePlace("mail", self.world.topic.topic_id, 0)
        self.share = SharePartition(place, "orders", self.world.partition, around, {})
        self.share.load()

    def take(self, most: int = 4) -> None:
        assert self.share.window is not None
        position = self.share.window.next_position(100, self.world.clock.now_ms())
        assert position is not None
        taken = self.share.acquire([ReadSpan(0, 3)], position, ShareWanted("m", most, is_strict=True))
        self.share.traces.handed_out(taken, "m", "cook", "10.0.0.7")

    def ack(self, first: int, last: int, *types: int, backoff_ms: int | None = None) -> Deferred[None] | None:
        return self.share.acknowledge("m", [AckBatch(first, last, types, backoff_ms)])

    def pass_ms(self, duration_ms: int) -> None:
        self.world.clock.advance_ms(duration_ms)
        self.timers.run_due(self.world.clock.monotonic())

    def trace(self, offset: int) -> RecordTrace:
        found = self.world.tracing.store.at("orders", 0, offset)
        assert found is not None
        return found

    def steps(self, offset: int) -> list[str]:
        """Since it can be read."""
        return self.world.kinds(self.trace(offset))[2:]


def test_it_is_fetched_and_acknowledged_by_a_member() -> None:
    queue = Queue()
    queue.take(2)
    assert queue.steps(1) == ["consume.fetched"]
    assert queue.steps(3) == [], "it is in the same batch, and nobody was given it"
    assert queue.trace(1).events[-1].attributes == {
        "group": "mail", "member_id": "m", "client_id": "cook", "address": "10.0.0.7", "delivery_count": 1,
    }  # fmt: skip
    queue.ack(0, 1, ACCEPT)
    assert queue.steps(1) == ["consume.fetched", "consume.acked"]
    assert (queue.trace(1).outcome, queue.trace(1).groups) == (Outcome.ACKED, {"mail"})


def test_what_a_member_says_is_noted_when_it_is_durable() -> None:
    queue = Queue()
    queue.take()
    queue.states.hold = True
    queue.ack(1, 1, ACCEPT)
    assert queue.steps(1) == ["consume.fetched"]
    queue.states.go_on()
    assert queue.steps(1) == ["consume.fetched", "consume.acked"]


def test_what_could_not_be_written_is_not_noted() -> None:
    queue = Queue()
    queue.take()
    queue.states.refusal = CoordinatorLoadInProgress("not yet")
    queue.ack(1, 1, ACCEPT)
    queue.states.refusal = None
    queue.ack(1, 1, REJECT)
    assert queue.steps(1) == ["consume.fetched", "consume.rejected"]


def test_each_type_has_an_event_of_its_own_and_gaps_have_none() -> None:
    queue = Queue()
    queue.take()
    queue.ack(1, 1, RENEW)
    queue.ack(0, 3, ACCEPT, RELEASE, GAP, GAP, backoff_ms=7_000)
    assert queue.steps(1) == ["consume.fetched", "visibility.extended", "consume.nacked"]
    assert queue.trace(1).events[-1].attributes == {"group": "mail", "member_id": "m", "backoff_ms": 7_000}
    assert queue.trace(1).outcome is Outcome.RETURNED
    assert queue.steps(3) == ["consume.fetched"]


def test_a_lock_that_runs_out_and_a_member_that_is_gone() -> None:
    queue = Queue()
    queue.take()
    queue.pass_ms(30_000)
    queue.take()
    queue.share.release("m")
    assert queue.steps(3) == ["consume.fetched", "visibility.timeout", "consume.fetched", "consume.nacked"]
    assert queue.trace(3).events[-1].attributes["reason"] == "taken back from the member"
    assert [event.attributes["delivery_count"] for event in queue.trace(3).events[2:]] == [1, 1, 2, 2]


def test_it_is_in_the_dead_letter_topic() -> None:
    queue = Queue()
    queue.share.traces.dead_lettered([(0, "rejected"), (1, "rejected"), (9, "rejected")])
    assert queue.steps(1) == ["dlq.routed"]
    assert queue.trace(1).events[-1].attributes == {"group": "mail", "reason": "rejected"}
    assert queue.trace(1).outcome is Outcome.DEAD_LETTERED


def test_a_record_that_nobody_can_process_has_as_many_events_as_a_trace_may_have() -> None:
    queue = Queue(
        rules(auto_offset_reset="earliest", delivery_count_limit=1000),
        World(settings=TraceSettings(max_events_per_trace=10)),
    )
    for _ in range(50):
        queue.take()
        queue.pass_ms(30_000)
    assert (len(queue.trace(1).events), queue.trace(1).dropped_events) == (10, 92)


def test_without_a_traced_record_nothing_is_looked_for() -> None:
    queue = Queue(world=World(configs={"trace.enable": "false"}))
    assert not queue.share.traces.any
    queue.take()
    queue.ack(0, 1, ACCEPT)
    queue.pass_ms(30_000)
    assert not queue.world.traces()
