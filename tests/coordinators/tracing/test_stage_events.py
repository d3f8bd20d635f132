"""What the stage tells of delayed and prioritised records, by direct calls."""

from engine.trace.kinds import EventKind, Outcome
from tests.coordinators.tracing.world import World
from tests.engine.trace.traces import TRACE_ID, batch, traceparent

DUE_MS = 1_700_000_001_000


def test_a_delayed_record_that_is_released() -> None:
    world = World()
    world.tracing.staged(world.topic, 0, 12, traceparent(), due_ms=DUE_MS, key=b"b", client_id="till")
    (trace,) = world.traces()
    assert (trace.number, trace.offset, trace.outcome) == (12, None, Outcome.DELAYED)
    world.tracing.stage_event(world.topic, 0, 12, EventKind.PUBLISH_PERSISTED)
    world.clock.advance_ms(1000)
    world.tracing.stage_event(world.topic, 0, 12, EventKind.DELAY_READY)
    result = world.partition.write(batch([(b"x", b"1", ()), (b"b", b"2", ())]))
    world.tracing.stage_event(
        world.topic, 0, 12, EventKind.PRIORITY_RELEASED, offset=result.last_offset, released_to=world.partition
    )
    world.sync()
    world.fetch(0)
    world.tracing.committed("kitchen", "orders", 0, 2)
    assert world.kinds(trace) == [
        "publish.received",
        "delay.scheduled",
        "publish.persisted",
        "delay.ready",
        "priority.released",
        "consume.fetched",
        "consume.committed",
    ]
    assert trace.events[1].attributes == {"due_ms": DUE_MS, "lane": None}
    assert world.tracing.store.at("orders", 0, 1) is trace


def test_the_stages_log_tells_when_it_is_persisted() -> None:
    world = World()
    number = world.partition.write(batch([(b"b", b"2", ())])).last_offset
    world.tracing.staged(world.topic, 0, number, traceparent(), due_ms=DUE_MS, store=world.partition)
    (trace,) = world.traces()
    assert world.kinds(trace) == ["publish.received", "delay.scheduled"]
    world.sync()
    assert world.kinds(trace) == ["publish.received", "delay.scheduled", "publish.persisted"]


def test_a_record_in_a_lane() -> None:
    world = World()
    world.tracing.staged(world.topic, 0, 3, traceparent(), lane=0)
    (trace,) = world.traces()
    assert world.kinds(trace) == ["publish.received", "priority.queued"]
    assert trace.events[1].attributes == {"lane": "critical"}
    world.tracing.stage_event(world.topic, 0, 3, EventKind.DELAY_EXPIRED)
    assert trace.outcome is Outcome.EXPIRED


def test_a_record_that_is_taken_back() -> None:
    world = World()
    world.tracing.staged(world.topic, 0, 3, traceparent(), due_ms=DUE_MS)
    world.tracing.stage_event(world.topic, 0, 3, EventKind.DELAY_CANCELLED)
    assert world.traces()[0].outcome is Outcome.CANCELLED


def test_records_that_are_not_traced() -> None:
    world = World()
    world.tracing.staged(world.topic, 0, 1, traceparent(sampled=False), due_ms=DUE_MS)
    world.tracing.staged(world.topic, 0, 2, None, due_ms=DUE_MS)
    world.tracing.stage_event(world.topic, 0, 2, EventKind.DELAY_READY)
    off = World({"trace.enable": "false"})
    off.tracing.staged(off.topic, 0, 1, traceparent(), due_ms=DUE_MS)
    assert world.traces() == off.traces() == []


def test_a_topic_samples_staged_records_too() -> None:
    world = World({"trace.sample.per.second": "1"})
    for number in range(3):
        world.tracing.staged(world.topic, 0, number, None, due_ms=DUE_MS)
    assert [trace.number for trace in world.traces()] == [0]


def test_a_trace_goes_on_after_a_restart() -> None:
    world = World()
    world.tracing.stage_event(world.topic, 0, 77, EventKind.DELAY_READY, traceparent=traceparent())
    world.tracing.stage_event(world.topic, 0, 78, EventKind.DELAY_READY, traceparent=traceparent(sampled=False))
    (trace,) = world.traces()
    assert (trace.trace_id, trace.number, world.kinds(trace)) == (TRACE_ID, 77, ["delay.ready"])
