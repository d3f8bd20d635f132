"""Stages kept small: by bytes, while they are used, while they are not, and over restarts; and checkpoints in time."""

import pytest
from trio.testing import trio_test

import coordinators.release.releases as releases_module
import coordinators.release.stage_upkeep as upkeep_module
from coordinators.topic_view import Topic
from engine.partition.staging import Staging
from engine.stage.opening import stage_log_config
from engine.stage.tidying import bound_bytes, pending_bytes
from tests.coordinators.conftest import Desk
from tests.coordinators.release.test_releases import Bench
from tests.engine.stage.world import record

FLOOR_BYTES = 20_000
HOUR_MS = 3_600_000


class SmallBench(Bench):
    """Stages that may be small."""

    def restart(self) -> None:
        super().restart()
        self.releases.upkeep.min_cleanable_bytes = FLOOR_BYTES

    async def reopen(self) -> None:
        self.restart()
        await self.controller.replicas.open_all(clean=False)
        await self.releases.open_all(clean=False)

    def come_and_go(self, topic: Topic, count: int, size: int = 1_000) -> None:
        for number in range(count):
            self.hold(topic, record(f"{number} " * (size // len(f"{number} ")), delay=1))
            self.pass_ms(1)


@pytest.fixture
def bench(desk: Desk) -> SmallBench:
    return SmallBench(desk)


def size_bytes(staged: Staging) -> int:
    return staged.store.log.size_bytes


def is_small(staged: Staging) -> bool:
    return size_bytes(staged) <= bound_bytes(staged.stage, FLOOR_BYTES)


@pytest.mark.parametrize("segment_bytes", [5_000, 2**27])
@trio_test
async def test_what_came_and_went_is_freed_while_little_is_pending(
    bench: SmallBench, segment_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases_module, "stage_log_config", lambda ms: stage_log_config(ms, segment_bytes))
    topic = await bench.create()
    bench.hold(topic, record("far away", delay=HOUR_MS))
    for _ in range(20):
        bench.come_and_go(topic, 10)
        assert size_bytes(bench.staged(topic)) <= FLOOR_BYTES + 12_000
    assert bench.staged(topic).store.log.start_offset > 100
    await bench.reopen()
    bench.pass_ms(HOUR_MS)
    assert bench.partition(topic).log.end_offset == 201


@trio_test
async def test_a_front_full_of_what_waits_holds_nothing_back(bench: SmallBench) -> None:
    topic = await bench.create()
    for number in range(50):
        bench.hold(topic, record(f"{number}".ljust(1_000), delay=HOUR_MS))
    for _ in range(30):
        bench.come_and_go(topic, 10)
        assert size_bytes(bench.staged(topic)) <= FLOOR_BYTES + 3 * pending_bytes(bench.staged(topic).stage) + 12_000
    bench.pass_ms(HOUR_MS)
    assert bench.partition(topic).log.end_offset == 350


@trio_test
async def test_small_records_are_not_copied_round_and_round(bench: SmallBench) -> None:
    topic = await bench.create()
    for _ in range(5):
        bench.hold(topic, *(record("x", delay=HOUR_MS) for _ in range(200)))
    bench.come_and_go(topic, 300)
    log = bench.staged(topic).store.log
    assert is_small(bench.staged(topic))
    end_offset = log.end_offset
    bench.pass_ms(100_000)
    assert log.end_offset == end_offset, "nothing came, so nothing is copied"


@trio_test
async def test_it_is_freed_without_another_record(bench: SmallBench) -> None:
    topic = await bench.create()
    bench.hold(topic, *(record("x" * 1_000, delay=1_000) for _ in range(100)))
    assert size_bytes(bench.staged(topic)) > 100_000
    bench.pass_ms(1_000)
    bench.pass_ms(2_000)
    assert is_small(bench.staged(topic))


@trio_test
async def test_it_is_freed_by_a_restart_where_an_older_broker_has_left_much(bench: SmallBench) -> None:
    topic = await bench.create()
    bench.releases.upkeep.min_cleanable_bytes = 2**40
    bench.hold(topic, record("far away", delay=HOUR_MS))
    bench.come_and_go(topic, 200)
    await bench.reopen()
    assert size_bytes(bench.staged(topic)) > 200_000
    bench.pass_ms(2_000)
    assert is_small(bench.staged(topic))
    bench.pass_ms(HOUR_MS)
    assert bench.partition(topic).log.end_offset == 201


@trio_test
async def test_unread_lanes_are_moved_with_their_promise(bench: SmallBench) -> None:
    topic = await bench.create(priority_enable="true")
    for number in range(100):
        bench.hold(topic, record(f"{number}", priority=number % 5))
        bench.hold(topic, record("x" * 1_000, delay=1, ttl=1))
        bench.pass_ms(5)
    staged = bench.staged(topic)
    assert is_small(staged)
    assert staged.store.log.start_offset > 0
    assert staged.readers.promised_end >= 100
    await bench.reopen()
    staged = bench.staged(topic)
    while staged.readers.linearise(bench.partition(topic).log.end_offset, 2**20):
        bench.sync()
    assert bench.partition(topic).log.end_offset == staged.readers.promised_end


@trio_test
async def test_a_round_that_fails_is_tried_again_later(bench: SmallBench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("far away", delay=HOUR_MS))
    bench.releases.upkeep.min_cleanable_bytes = 2**40
    bench.come_and_go(topic, 100)
    bench.releases.upkeep.min_cleanable_bytes = FLOOR_BYTES
    bench.files.capacity_bytes = 0
    bench.pass_ms(3_000)
    assert not is_small(bench.staged(topic))
    bench.files.capacity_bytes = None
    bench.pass_ms(30_000)
    bench.pass_ms(1_000)
    assert is_small(bench.staged(topic))


@trio_test
async def test_a_deleted_topic_is_forgotten_in_the_midst_of_a_round(bench: SmallBench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("far away", delay=HOUR_MS))
    bench.releases.upkeep.min_cleanable_bytes = 2**40
    bench.come_and_go(topic, 100)
    bench.releases.upkeep.min_cleanable_bytes = FLOOR_BYTES
    other = await bench.create("other")
    bench.hold(other, record("x", delay=HOUR_MS))
    bench.releases.upkeep.look_after(bench.staged(topic))
    await bench.controller.delete_topics(["t"])
    bench.pass_ms(2_000)
    assert list(bench.releases.upkeep._checkpoints) == [bench.staged(other)]
    assert not bench.releases.upkeep._rounds


@trio_test
async def test_offsets_since_the_last_checkpoint_count_over_crashes(
    bench: SmallBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep_module, "CHECKPOINT_BATCHES", 100)
    topic = await bench.create()
    for _ in range(3):
        bench.hold(topic, *(record("x", delay=HOUR_MS) for _ in range(40)))
        await bench.reopen()
    bench.pass_ms(2_000)
    end_offset = bench.staged(topic).store.log.end_offset
    await bench.reopen()
    assert bench.staged(topic).stage.state.replayed_from == end_offset


@trio_test
async def test_nothing_is_dropped_that_no_checkpoint_on_disk_knows(
    bench: SmallBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    topic = await bench.create()
    bench.hold(topic, record("far away", delay=HOUR_MS))
    with monkeypatch.context() as broken:
        broken.setattr(upkeep_module.checkpoint, "write", fail)
        bench.come_and_go(topic, 100)
        bench.pass_ms(30_000)
    assert bench.staged(topic).store.log.start_offset == 0
    await bench.reopen()
    bench.pass_ms(HOUR_MS)
    assert bench.partition(topic).log.end_offset == 101
