"""Letters as they are built and persisted with; how they arrive is tested with those who have some."""

import logging

import pytest
import trio
from trio.testing import MockClock, trio_test

from coordinators.letter_writing import LetterWriting, letter_batch
from coordinators.producer_ids import ProducerIds
from coordinators.records.directory import PartitionDirectory
from coordinators.records.publishing import Publishing
from coordinators.tracing.tracing import Tracing
from engine.errors import RequestTimedOut
from engine.records.layout import HEADER_SIZE, pack_record, parse_header, walk_records
from engine.workers import InlineWorkers
from tests.coordinators.conftest import Desk
from tests.coordinators.release.test_dead_letters import NoTransactions
from tests.coordinators.release.test_releases import Bench

TOLD = ((b"__dlq.errors.topic", b"t"),)


@pytest.fixture
def writing(desk: Desk) -> LetterWriting:
    bench = Bench(desk)
    controller, clock = bench.controller, bench.clock
    directory = PartitionDirectory(controller.topics, controller.partitions)
    settings, tracing = controller.topics.settings, Tracing(clock, bytes)
    publishing = Publishing.compose(
        directory, bench.releases, NoTransactions(), tracing, settings, clock, InlineWorkers()
    )
    return LetterWriting(controller, ProducerIds(desk.catalogue), clock, publishing)


def test_a_letter_is_the_record_and_what_is_told_of_it() -> None:
    record = next(walk_records(pack_record(0, 0, b"k", None, [(b"own", None)]), 1))
    batch = letter_batch([(record, TOLD)], 5_000, 77, 3)
    header = parse_header(batch)
    assert (header.producer_id, header.base_sequence, header.base_timestamp) == (77, 3, 5_000)
    (letter,) = walk_records(memoryview(batch)[HEADER_SIZE:], 1)
    assert (bytes(letter.key or b""), letter.value) == (b"k", None)
    assert [(bytes(name), value and bytes(value)) for name, value in letter.headers] == [(b"own", None), *TOLD]


def test_a_letter_without_its_record_says_where_it_was() -> None:
    (letter,) = walk_records(memoryview(letter_batch([(None, TOLD)], 0, 77, 0))[HEADER_SIZE:], 1)
    assert (letter.key, letter.value) == (None, None)
    assert [bytes(name) for name, _ in letter.headers] == [b"__dlq.errors.topic"]


def test_what_fails_is_tried_again_and_told_once_a_minute(
    writing: LetterWriting, caplog: pytest.LogCaptureFixture
) -> None:
    left, attempts = 2, 0

    async def deliver_some() -> None:
        nonlocal left, attempts
        attempts += 1
        if attempts < 5:
            raise RequestTimedOut("nobody leads it")
        left -= 1
        await trio.lowlevel.checkpoint()

    with caplog.at_level(logging.ERROR):
        trio.run(lambda: writing.persist("orders-0", lambda: left, deliver_some), clock=MockClock(autojump_threshold=0))
    assert attempts == 6
    assert [record.getMessage() for record in caplog.records] == ["orders-0: 2 dead letters wait: nobody leads it"]


@trio_test
async def test_identities_are_never_the_same(writing: LetterWriting) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(writing.controller.replicas.follow)
        first, second = await writing.new_producer_id(), await writing.new_producer_id()
        nursery.cancel_scope.cancel()
    assert first != second
