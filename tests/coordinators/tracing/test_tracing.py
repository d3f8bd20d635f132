"""Following records from the append to the commit."""

from attrs import evolve

from coordinators.topic_view import TopicUpdate
from coordinators.tracing.members import MemberTable
from coordinators.tracing.settings import TraceSettings
from coordinators.tracing.tracing import LOOKED_THROUGH_BYTES_MAX
from engine.errors import StorageError
from engine.records.compression import GZIP, compress
from engine.records.layout import HEADER_SIZE, parse_header, seal_batch
from engine.trace.kinds import Outcome
from engine.trace.record_trace import KEY_MAX_BYTES, SampledBy
from tests.coordinators.tracing.world import World
from tests.engine.trace.traces import PARENT_ID, TRACE_ID, Headers, batch, trace_header

PLAIN: Headers = ()
TRACED: Headers = (trace_header(),)


def test_a_record_from_the_append_to_the_commit() -> None:
    world = World()
    world.produce([(b"a", b"1", PLAIN), (b"b", b"2", TRACED)])
    (trace,) = world.traces()
    assert (trace.trace_id, trace.parent_id, trace.offset, trace.key) == (TRACE_ID, PARENT_ID, 1, b"b")
    assert trace.outcome is Outcome.RECEIVED
    world.clock.advance_ms(3)
    world.sync()
    world.clock.advance_ms(5)
    world.fetch(0)
    world.tracing.committed("kitchen", "orders", 0, 1)
    assert trace.outcome is Outcome.FETCHED, "the commit has not passed it"
    world.tracing.committed("kitchen", "orders", 0, 2)
    assert world.kinds(trace) == ["publish.received", "publish.persisted", "consume.fetched", "consume.committed"]
    assert [event.time_us - trace.start_us for event in trace.events] == [0, 3000, 8000, 8000]
    assert trace.events[0].attributes == {"client_id": "till", "address": "10.0.0.1"}
    assert trace.events[2].attributes == {"client_id": "cook", "address": "10.0.0.7", "group": None}
    assert trace.events[3].attributes == {"group": "kitchen", "committed_offset": 2}
    assert [event for _, event in world.heard.events] == trace.events


def test_a_clock_that_is_set_changes_no_duration() -> None:
    world = World()
    world.produce([(b"b", b"2", TRACED)])
    world.clock.advance_ms(3)
    world.clock.wall_ms -= 1_731_000
    world.sync()
    world.fetch(0)
    (trace,) = world.traces()
    assert trace.duration_us == 3000
    world.produce([(b"b", b"2", TRACED)])
    assert world.traces()[-1].start_us == world.clock.now_ms() * 1000, "the next one begins by the new time"


def test_untraced_records_leave_nothing() -> None:
    world = World()
    world.produce([(b"a", b"1", PLAIN), (b"b", b"2", (trace_header(sampled=False),))])
    world.sync()
    world.fetch(0)
    world.tracing.committed("kitchen", "orders", 0, 2)
    assert world.traces() == []
    assert world.tracing.statistics()["noted_events"] == 0


def test_a_batch_is_looked_through_so_far_and_no_further() -> None:
    """Opened, a small batch may have millions of records, and each is passed on the way to a traced one."""
    for filler, found in ((1_000, 1), (LOOKED_THROUGH_BYTES_MAX, 0)):
        world = World()
        data = batch([(b"a", bytes(filler), PLAIN), (b"b", b"2", TRACED)])
        section = data[HEADER_SIZE:]
        packed = seal_batch(parse_header(data)._replace(attributes=GZIP), compress(GZIP, section))
        world.append(packed, section=section)
        assert len(world.traces()) == found


def test_a_topic_that_is_not_traced() -> None:
    world = World({"trace.enable": "false"})
    world.produce([(b"b", b"2", TRACED)])
    assert world.traces() == []


def test_a_retry_of_the_same_batch_is_no_new_trace() -> None:
    world = World()
    data = batch([(b"b", b"2", TRACED)])
    header = parse_header(data)._replace(producer_id=7, producer_epoch=0, base_sequence=0)
    world.append(seal_batch(header, data[HEADER_SIZE:]))
    assert world.append(seal_batch(header, data[HEADER_SIZE:])).duplicate
    assert len(world.traces()) == 1


def test_the_door_that_chose_the_partition_is_told() -> None:
    world = World()
    world.produce([(b"b", b"2", TRACED)], door="http")
    (trace,) = world.traces()
    assert world.kinds(trace) == ["publish.received", "publish.partitioned"]
    assert trace.events[1].attributes == {"door": "http"}


def test_a_disk_that_fails() -> None:
    world = World()
    world.produce([(b"b", b"2", TRACED)])
    world.partition.take_offline(StorageError("the disk is gone"))
    (trace,) = world.traces()
    assert trace.outcome is Outcome.FAILED
    assert "the disk is gone" in trace.events[-1].attributes["error"]


# -- sampling


def test_a_topic_samples_so_many_per_second() -> None:
    world = World({"trace.sample.per.second": "2"})
    for _ in range(10):
        world.produce([(b"a", b"1", PLAIN)] * 3)
    assert [trace.offset for trace in world.traces()] == [0, 3]
    world.clock.advance_ms(1000)
    for _ in range(10):
        world.produce([(b"a", b"1", PLAIN)])
    assert len(world.traces()) == 4
    trace = world.traces()[0]
    assert (trace.sampled_by, trace.parent_id, len(trace.trace_id), len(trace.span_id)) == (
        SampledBy.RATE, None, 32, 16,
    )  # fmt: skip


def test_a_topic_samples_a_share() -> None:
    world = World({"trace.sample.per.second": "0", "trace.sample.ratio": "0.1"})
    for _ in range(5):
        world.produce([(b"a", b"1", PLAIN)] * 20)
    traces = world.traces()
    assert len(traces) == 10
    assert {trace.sampled_by for trace in traces} == {SampledBy.RATIO}
    assert [trace.offset for trace in traces] == [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]


def test_a_producer_that_said_no_is_not_overruled() -> None:
    world = World({"trace.sample.per.second": "10", "trace.sample.ratio": "1"})
    world.produce([(b"a", b"1", (trace_header(sampled=False),))])
    assert world.traces() == []


def test_a_changed_config_is_in_force_at_once() -> None:
    world = World({"trace.enable": "false"})
    world.produce([(b"b", b"2", TRACED)])
    world.topic = evolve(world.topic, config=world.desk.topics.settings.topic_config({}))
    world.produce([(b"b", b"2", TRACED)])
    assert [trace.offset for trace in world.traces()] == [1]


def test_no_more_traces_than_the_broker_takes() -> None:
    world = World(settings=TraceSettings(max_per_second=5))
    world.produce([(b"b", b"2", TRACED)] * 20)
    world.produce([(b"b", b"2", TRACED)] * 20)
    assert len(world.traces()) == 5
    assert world.tracing.statistics()["limited_batches"] == 2
    assert world.partition.log.end_offset == 40, "every record is stored all the same"


def test_what_topics_sample_leaves_room_for_who_asked() -> None:
    world = World({"trace.sample.ratio": "1"}, settings=TraceSettings(max_per_second=10))
    world.produce([(b"a", b"1", PLAIN)] * 20)
    assert len(world.traces()) == 5
    world.produce([(b"b", b"2", TRACED)] * 20)
    assert [trace.sampled_by for trace in world.traces()[5:]] == [SampledBy.TRACEPARENT] * 5


# -- compressed batches


def compressed(records: list[tuple[bytes | None, bytes | None, Headers]]) -> bytes:
    data = batch(records)
    return seal_batch(parse_header(data)._replace(attributes=GZIP), compress(GZIP, data[HEADER_SIZE:]))


def test_small_compressed_batches_are_opened() -> None:
    world = World()
    world.append(compressed([(b"a", b"1", PLAIN), (b"b", b"2", TRACED)]))
    assert [(trace.offset, trace.key) for trace in world.traces()] == [(1, b"b")]


def test_opening_is_bounded_and_counted() -> None:
    world = World(settings=TraceSettings(compressed_batch_max_bytes=10))
    data = compressed([(b"b", b"2", TRACED)])
    world.append(data)
    assert world.traces() == []
    assert world.tracing.statistics()["unopened_batches"] == 1
    world.append(data, section=batch([(b"b", b"2", TRACED)])[HEADER_SIZE:])
    assert [trace.offset for trace in world.traces()] == [1], "what somebody else has opened is looked through"
    spent = World(settings=TraceSettings(compressed_bytes_per_second=100))
    for _ in range(5):
        spent.append(data)
    assert 0 < len(spent.traces()) < 5


def test_a_batch_that_does_not_decompress_is_let_be() -> None:
    world = World()
    world.partition.log.config = evolve(world.partition.log.config, validates_structure=False)
    data = batch([(b"b", b"2", TRACED)])
    world.append(seal_batch(parse_header(data)._replace(attributes=GZIP), data[HEADER_SIZE:]))
    assert world.tracing.statistics()["unopened_batches"] == 1


# -- fetches and commits


def test_only_what_an_answer_holds_was_fetched() -> None:
    world = World()
    for _ in range(3):
        world.produce([(b"b", b"2" * 100, TRACED)])
    world.sync()
    world.fetch(0, max_bytes=1)
    fetched = [trace.offset for trace in world.traces() if trace.outcome is Outcome.FETCHED]
    assert fetched == [0]
    world.fetch(1)
    assert [world.kinds(trace).count("consume.fetched") for trace in world.traces()] == [1, 1, 1]
    world.fetch(2)
    assert [world.kinds(trace).count("consume.fetched") for trace in world.traces()] == [1, 1, 2]


def test_the_group_is_named_if_it_is_known() -> None:
    world = World()
    world.tracing.members = MemberTable(world.clock, lambda: [("kitchen", lambda _: True, [("cook", "10.0.0.7")])])
    world.produce([(b"b", b"2", TRACED)])
    world.sync()
    world.fetch(0)
    world.fetch(0, client_id="waiter")
    (trace,) = world.traces()
    assert [event.attributes["group"] for event in trace.events[2:]] == ["kitchen", None]


def test_the_commit_of_a_group_that_did_not_fetch_it_is_none() -> None:
    world = World()
    world.tracing.members = MemberTable(world.clock, lambda: [("kitchen", lambda _: True, [("cook", "10.0.0.7")])])
    world.produce([(b"b", b"2", TRACED)])
    world.sync()
    world.tracing.committed("kitchen", "orders", 0, 1)
    world.fetch(0)
    world.tracing.committed("bar", "orders", 0, 1)
    (trace,) = world.traces()
    assert trace.outcome is Outcome.FETCHED
    world.tracing.committed("kitchen", "orders", 0, 0)
    world.tracing.committed("kitchen", "orders", 0, 1)
    assert trace.outcome is Outcome.COMMITTED


def test_events_beyond_the_bound_are_counted() -> None:
    world = World(settings=TraceSettings(max_events_per_trace=3))
    world.produce([(b"b", b"2", TRACED)])
    world.sync()
    for _ in range(4):
        world.fetch(0)
    assert world.tracing.statistics()["dropped_events"] == 3
    assert len(world.heard.events) == 3


def test_a_deleted_topic_is_forgotten() -> None:
    world = World()
    world.produce([(b"b", b"2", TRACED)])
    world.sync()
    world.tracing.topic_changed(TopicUpdate(world.topic, world.topic))
    assert world.tracing.store.at("orders", 0, 0) is not None
    world.tracing.topic_changed(TopicUpdate(world.topic, None))
    assert world.tracing.store.at("orders", 0, 0) is None
    assert len(world.traces()) == 1


def test_a_long_key_is_cut() -> None:
    world = World()
    world.produce([(b"k" * 1000, b"2", TRACED)])
    (trace,) = world.traces()
    assert (len(trace.key or b""), trace.key_size) == (KEY_MAX_BYTES, 1000)


def test_the_sinks_are_told_of_the_end() -> None:
    world = World()
    world.tracing.flush()
    world.tracing.close()
    assert (world.heard.flushed, world.heard.closed) == (1, 1)
    assert world.tracing.statistics()["heard"] == 0
