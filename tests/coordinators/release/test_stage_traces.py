"""One trace from the produce request through the stage to the log."""

import os

import pytest
from attrs import define, field
from trio.testing import trio_test

from coordinators.tracing.tracing import Tracing
from engine.trace.record_trace import RecordTrace
from engine.trace.timeline import as_table
from tests.coordinators.conftest import Desk
from tests.coordinators.release.test_releases import Bench
from tests.engine.stage.world import Record, record

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


@define(eq=False)
class TracedBench(Bench):
    """With tracing on."""

    tracing: Tracing = field(init=False)

    def restart(self) -> None:
        super().restart()
        self.tracing = self.releases.tracing = Tracing(self.clock, os.urandom)

    def trace(self) -> RecordTrace:
        (trace,) = self.tracing.store.by_id(TRACE_ID)
        return trace

    def steps(self) -> list[str]:
        return [str(event.kind) for event in self.trace().events]


def traced(one: Record) -> Record:
    return one._replace(headers=(*one.headers, (b"traceparent", f"00-{TRACE_ID}-00f067aa0ba902b7-01".encode())))


@pytest.fixture
def bench(desk: Desk) -> TracedBench:
    return TracedBench(desk)


@trio_test
async def test_a_delayed_record_is_followed_to_its_offset(bench: TracedBench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("other", delay=50), traced(record("x", delay=100)))
    assert bench.steps() == ["publish.received", "delay.scheduled", "publish.persisted"]
    bench.pass_ms(100)
    assert bench.steps() == ["publish.received", "delay.scheduled", "publish.persisted", "delay.ready"]
    assert bench.trace().offset == 1


@trio_test
async def test_a_prioritised_record_is_followed_through_its_lane(bench: TracedBench) -> None:
    topic = await bench.create(priority_enable="true")
    bench.hold(topic, traced(record("x", priority="high", delay=10)))
    bench.pass_ms(10)
    staged = bench.staged(topic)
    staged.readers.linearise(0, 1 << 20)
    bench.sync()
    assert bench.steps()[2:] == ["publish.persisted", "delay.ready", "priority.queued", "priority.released"]
    assert bench.trace().events[-1].attributes["lane"] == "high"
    assert bench.trace().offset == 0


@trio_test
async def test_cancelling_and_expiring_end_a_trace(bench: TracedBench) -> None:
    topic = await bench.create()
    bench.hold(topic, traced(record("x", delay=100, schedule_id="a")))
    bench.hold(topic, record("", cancel="a"))
    assert bench.steps()[-1] == "delay.cancelled"
    bench.restart()
    await bench.controller.replicas.open_all(clean=False)
    await bench.releases.open_all(clean=False)
    bench.hold(topic, traced(record("x", delay=100, expires_at=bench.clock.now_ms() + 50)))
    bench.pass_ms(50)
    assert bench.steps()[-1] == "delay.expired"


@trio_test
async def test_a_batch_without_the_header_is_sampled_by_its_first_record(bench: TracedBench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("x", delay=100), record("y", delay=100))
    (trace,) = bench.tracing.store.search().traces
    assert (trace.number, trace.key) == (0, b"k")


@trio_test
async def test_a_record_whose_producer_wants_no_trace_is_not_sampled(bench: TracedBench) -> None:
    topic = await bench.create()
    unsampled = (b"traceparent", f"00-{TRACE_ID}-00f067aa0ba902b7-00".encode())
    bench.hold(topic, record("x", delay=100)._replace(headers=(unsampled, (b"tide-delay", b"100"))))
    assert not bench.tracing.store.search().traces


@trio_test
async def test_records_that_expire_together_are_all_told_and_become_letters(bench: TracedBench) -> None:
    topic = await bench.create(priority_enable="true", message_ttl_ms="100", expiry_policy="dlq")
    bench.hold(topic, record("x"), traced(record("y")))
    bench.pass_ms(1_000)
    assert bench.steps()[-1] == "delay.expired"
    assert "never in the log" in as_table(bench.trace())
    bench.staged(topic).stage.dead_lettered(list(bench.staged(topic).stage.state.dead_letters))
    assert (bench.steps()[-1], bench.trace().outcome) == ("dlq.routed", "dead-lettered")


@trio_test
async def test_an_immediate_record_beside_a_delayed_one_was_in_no_lane(bench: TracedBench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("x", delay=100), traced(record("now")))
    assert not [step for step in bench.steps() if step.startswith("priority.")]
