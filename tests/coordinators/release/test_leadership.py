"""A stage goes with the leadership of its partition: loaded before its node leads, given up when it resigns."""

import pytest
from trio.testing import trio_test

from coordinators.topic_view import Topic
from engine.errors import BrokerError, NotLeader
from tests.coordinators.cluster.nodes import place
from tests.coordinators.conftest import Desk
from tests.coordinators.release.test_releases import Bench
from tests.engine.stage.world import record


@pytest.fixture
def bench(desk: Desk) -> Bench:
    return Bench(desk)


async def lead(bench: Bench, topic: Topic, leader: int) -> None:
    place(bench.desk.catalogue, topic, 0, replicas=(1, 2), isr=(1,), leader=leader)
    await bench.controller.replicas.catch_up()


@trio_test
async def test_a_stage_is_given_up_and_loaded_again(bench: Bench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("later", delay=5_000))
    bench.rounds.start_round()
    partition = bench.partition(topic)
    before = partition.staging
    assert before is not None
    await lead(bench, topic, 2)
    assert partition.staging is None, "a follower has no stage"
    assert before.ended
    assert len(partition.logs) == 2, "but keeps its log"
    bench.clock.advance_ms(6_000)
    bench.timers.run_due(bench.clock.monotonic())
    bench.rounds.start_round()
    assert partition.log.end_offset == 0, "it releases nothing"
    with pytest.raises(NotLeader):
        bench.releases.stage_of(partition, topic)
    await lead(bench, topic, 1)
    assert partition.staging is not None
    assert partition.staging is not before
    assert partition.staging.statistics()["pending"] == 1
    bench.timers.run_due(bench.clock.monotonic())
    for _ in range(3):
        bench.rounds.start_round()
    assert partition.log.end_offset == 1, "what came due meanwhile"


@trio_test
async def test_whoever_waits_behind_a_release_is_told_that_the_leader_has_resigned(bench: Bench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("first", delay=1))
    partition = bench.partition(topic)
    staging = partition.staging
    assert staging is not None
    refused: list[BrokerError] = []
    staging.life.block(NotLeader("on its way"))
    staging.life.submit(lambda: _try(staging.life.check_online, refused))
    assert refused == []
    await lead(bench, topic, 2)
    assert [type(error) for error in refused] == [NotLeader]


def _try(check: object, refused: list[BrokerError]) -> None:
    try:
        check()  # type: ignore[operator]
    except BrokerError as error:
        refused.append(error)


@trio_test
async def test_a_stage_on_the_disk_of_a_follower_is_loaded_when_it_leads(bench: Bench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("later", delay=5_000))
    bench.rounds.start_round()
    place(bench.desk.catalogue, topic, 0, replicas=(1, 2), isr=(1,), leader=2)
    bench.restart()
    await bench.controller.replicas.open_all(clean=False)
    await bench.releases.open_all(clean=False)
    partition = bench.partition(topic)
    assert (partition.staging, len(partition.logs)) == (None, 2)
    await lead(bench, topic, 1)
    assert partition.staging is not None
    assert partition.staging.statistics()["pending"] == 1
