"""Producer ids never repeat."""

from collections.abc import Callable

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from coordinators.producer_ids import KEEP_RETRY_S, REPLENISHED_S, ProducerIdBlock, ProducerIds
from engine.catalogue.memory import MemoryCatalogue
from engine.errors import CoordinatorLoadInProgress, StorageError
from tests.coordinators.cluster.sessions import SharedCatalogue


def taken(ids: ProducerIds, number: int) -> list[int]:
    result = []
    while len(result) < number:
        if (producer_id := ids.take()) is None:
            ids.add(ids.reserve())
        else:
            result.append(producer_id)
    return result


def test_ids_are_handed_out_in_order_across_blocks() -> None:
    assert taken(ProducerIds(MemoryCatalogue(), 3), 8) == list(range(8))


def test_without_a_block_there_is_no_id() -> None:
    assert ProducerIds(MemoryCatalogue()).take() is None


def test_a_block_is_a_thousand_ids() -> None:
    assert ProducerIds(MemoryCatalogue()).reserve() == ProducerIdBlock(0, 1_000)


def test_ids_do_not_repeat_after_a_restart() -> None:
    catalogue = MemoryCatalogue()
    before = taken(ProducerIds(catalogue, 10), 15)
    after = taken(ProducerIds(catalogue, 10), 15)
    assert not set(before) & set(after)


def test_two_nodes_on_one_catalogue_never_share_an_id() -> None:
    catalogue = MemoryCatalogue()
    one, other = ProducerIds(catalogue, 2), ProducerIds(catalogue, 2)
    ids = [producer_id for _ in range(5) for producer_id in taken(one, 3) + taken(other, 3)]
    assert len(set(ids)) == len(ids)


def test_a_reservation_planned_against_an_older_state_is_tried_again() -> None:
    class Raced(MemoryCatalogue):
        raced = False

        def get(self, key: str) -> object:  # type: ignore[override]
            entry = super().get(key)
            if not self.raced:
                self.raced = True
                ProducerIds(self, 10).reserve()
            return entry

    assert ProducerIds(Raced(), 10).reserve() == ProducerIdBlock(10, 10)


def test_one_reserves_for_all_who_wait() -> None:
    async def scenario() -> None:
        ids, reserved = ProducerIds(MemoryCatalogue(), 100), 0

        async def in_catalogue(reserve: Callable[[], ProducerIdBlock]) -> ProducerIdBlock:
            nonlocal reserved
            reserved += 1
            await trio.sleep(1)
            return reserve()

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ids.replenish, in_catalogue)
        assert (reserved, ids.take()) == (1, 0)

    trio.run(scenario, clock=MockClock(autojump_threshold=0))


def test_whoever_waits_for_a_catalogue_that_does_not_answer_is_refused_in_time() -> None:
    async def scenario() -> None:
        ids = ProducerIds(MemoryCatalogue())

        async def in_catalogue(_reserve: Callable[[], ProducerIdBlock]) -> ProducerIdBlock:
            await trio.sleep(12)
            raise StorageError("no etcd answers")

        async def ask() -> None:
            with pytest.raises(StorageError, match=r"try again later|no etcd answers"):
                await ids.replenish(in_catalogue)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert trio.current_time() - began == REPLENISHED_S

    clock = MockClock(autojump_threshold=0)
    began = clock.current_time()
    trio.run(scenario, clock=clock)


def test_a_catalogue_of_the_cluster_that_refuses_is_no_broken_disk() -> None:
    async def scenario() -> None:
        async def in_catalogue(_reserve: Callable[[], ProducerIdBlock]) -> ProducerIdBlock:
            raise StorageError("etcd: database space exceeded")

        with pytest.raises(CoordinatorLoadInProgress, match="space exceeded"):
            await ProducerIds(SharedCatalogue().door()).replenish(in_catalogue)

    trio.run(scenario)


def test_some_are_in_reserve_before_anybody_asks_and_before_they_run_out() -> None:
    async def scenario() -> None:
        ids, is_there = ProducerIds(MemoryCatalogue(), 20), False

        async def in_catalogue(reserve: Callable[[], ProducerIdBlock]) -> ProducerIdBlock:
            if not is_there:
                raise StorageError("no etcd answers")
            return reserve()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ids.keep, in_catalogue)
            await trio.sleep(60)
            assert not ids.available
            is_there = True
            await trio.sleep(KEEP_RETRY_S)
            assert ids.available
            for number in range(18):
                assert ids.take() == number
            await trio.testing.wait_all_tasks_blocked()
            is_there = False
            assert [ids.take() for _ in range(20)] == [*range(18, 38)]
            nursery.cancel_scope.cancel()

    trio.run(scenario, clock=MockClock(autojump_threshold=0))
