"""Expired records in the dead-letter topic: whole, with the reason, once."""

from functools import partial
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import trio_test

from engine.partition import Partition
from engine.records import HEADER_SIZE, RecordSpan, split_batches, walk_records
from tests.coordinators.conftest import Desk
from tests.coordinators.release.test_releases import Bench
from tests.engine.stage.world import record


@define(eq=False)
class DeadLetterBench(Bench):
    """Tasks run when told."""

    started: list[Any] = field(factory=list)

    def restart(self) -> None:
        super().restart()
        self.started = []
        self.controller.start_soon = lambda function, *arguments: self.started.append(partial(function, *arguments))
        self.releases.dead_letters.start()

    async def deliver(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_syncing)
            while self.started:
                await self.started.pop(0)()
            nursery.cancel_scope.cancel()

    async def _keep_syncing(self) -> None:
        while True:
            self.sync()
            await trio.lowlevel.checkpoint()

    def letters(self, name: str = "t.dlq", index: int = 0) -> list[RecordSpan]:
        return read(self.partition(self.controller.topics.by_name[name], index))


def read(partition: Partition) -> list[RecordSpan]:
    found = partition.read(0, 2**31, at_least_one=True)
    spans: list[RecordSpan] = []
    for region in found.log_read.regions if found.log_read is not None else ():
        for header, batch in split_batches(region.file.pread(region.size, region.position)):
            spans += walk_records(batch[HEADER_SIZE:], header.record_count)
    return spans


@pytest.fixture
def bench(desk: Desk) -> DeadLetterBench:
    return DeadLetterBench(desk)


async def with_expired(bench: DeadLetterBench, count: int = 1, **configs: str) -> None:
    topic = await bench.create(expiry_policy="dlq", priority_enable="true", **configs)
    bench.hold(topic, *(record(f"v{number}", ttl=100, priority=number % 5) for number in range(count)))
    bench.pass_ms(100)


@trio_test
async def test_an_expired_record_arrives_whole_and_says_why(bench: DeadLetterBench) -> None:
    await with_expired(bench)
    await bench.deliver()
    (letter,) = bench.letters()
    assert (bytes(letter.key or b""), bytes(letter.value or b"")) == (b"k", b"v0")
    headers = {bytes(name): bytes(value or b"") for name, value in letter.headers}
    assert headers[b"tide-ttl"] == b"100"
    assert headers[b"__dlq.errors.topic"] == b"t"
    assert headers[b"__dlq.errors.partition"] == b"0"
    assert b"expired" in headers[b"__dlq.errors.message"]


@trio_test
async def test_with_the_policy_drop_nothing_is_sent(bench: DeadLetterBench) -> None:
    topic = await bench.create(priority_enable="true")
    bench.hold(topic, record("v", ttl=100))
    bench.pass_ms(100)
    await bench.deliver()
    assert "t.dlq" not in bench.controller.topics.by_name


@trio_test
async def test_the_topic_can_be_named(bench: DeadLetterBench) -> None:
    await with_expired(bench, dead_letter_topic="morgue")
    await bench.deliver()
    assert len(bench.letters("morgue")) == 1


@trio_test
async def test_a_letter_sent_again_after_a_crash_is_stored_once(bench: DeadLetterBench) -> None:
    await with_expired(bench, 7)
    staged = bench.staged(bench.controller.topics.by_name["t"])

    def crash(numbers: object) -> int:
        raise RuntimeError("here the broker ends")

    staged.stage.dead_lettered = crash  # type: ignore[method-assign]
    with pytest.raises(ExceptionGroup):
        await bench.deliver()
    assert len(bench.letters()) == 7
    bench.sync()
    bench.restart()
    await bench.controller.open_all(clean=False)
    await bench.releases.open_all(clean=False)
    bench.releases.dead_letters.start()
    await bench.deliver()
    assert [bytes(letter.value or b"") for letter in bench.letters()] == [b"v%d" % number for number in range(7)]
    assert not bench.staged(bench.controller.topics.by_name["t"]).stage.state.dead_letters
