"""Share partitions' states on a broker: the topic is made when it is needed, states are there after a restart and go
with their topics."""

from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from coordinators.share.machine import FORGOTTEN_TOGETHER
from coordinators.share.ports import DeliveryState, ShareChange, SharePlace, ShareState, ShareStates, StateBatch
from coordinators.share.states import SHARE_STATE_TOPIC, LocalShareStates
from coordinators.topics import TopicSpec
from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import CoordinatorLoadInProgress, NotCoordinator
from tests.wire.kafka.door import config, until
from tidegate.broker import Broker


async def place_of(broker: Broker, partition_index: int = 0) -> SharePlace:
    if "t" not in broker.node.topics.by_name:
        await broker.node.controller.create_topics([TopicSpec("t", 3)])
    return SharePlace("mail", broker.node.topics.by_name["t"].topic_id, partition_index)


async def patiently(ask: Any) -> Any:
    """The answer; shards that are being loaded are waited for."""
    with trio.fail_after(10):
        while True:
            asked: Deferred[Any] = ask()
            try:
                return await result_of(asked)
            except (CoordinatorLoadInProgress, NotCoordinator):
                await trio.sleep(0.01)


@trio_test
async def test_the_topic_is_made_when_it_is_first_needed(tmp_path: Path) -> None:
    async with Broker(config(tmp_path)) as broker:
        states, place = broker.node.services[ShareStates], await place_of(broker)
        assert SHARE_STATE_TOPIC not in broker.node.topics.by_name
        await patiently(lambda: states.initialize(place, 1, 5))
        assert await result_of(states.read(place, 0)) == ShareState(1, 0, 5)
        topic = broker.node.topics.by_name[SHARE_STATE_TOPIC]
        assert topic.hidden
        assert topic.config["cleanup.policy"] == ("delete",), "deltas of one key would be lost by compaction"
        assert topic.config["retention.ms"] == -1


@trio_test
async def test_states_are_there_after_a_restart(tmp_path: Path) -> None:
    done = StateBatch(8, 9, DeliveryState.ACKNOWLEDGED, 1)
    async with Broker(config(tmp_path)) as broker:
        states, place = broker.node.services[ShareStates], await place_of(broker)
        await patiently(lambda: states.initialize(place, 1, 5))
        await result_of(states.write(place, 1, 0, ShareChange(6, 2, (done,))))
    async with Broker(config(tmp_path)) as broker:
        states = broker.node.services[ShareStates]
        assert await patiently(lambda: states.read(place, 0)) == ShareState(1, 0, 6, 2, (done,))
        assert await patiently(lambda: states.summary(place)) == ShareState(1, 0, 6, 2)
        await result_of(states.delete(place))
        assert await result_of(states.read(place, 0)) == ShareState()


@trio_test
async def test_states_go_with_their_topic(tmp_path: Path) -> None:
    async with Broker(config(tmp_path)) as broker:
        states = broker.node.services[LocalShareStates]
        places = [SharePlace(f"group-{number}", (await place_of(broker)).topic_id, 0) for number in range(40)]
        assert len(places) < FORGOTTEN_TOGETHER
        for place in places:
            await patiently(lambda place=place: states.initialize(place, 1, 5))
        assert states.statistics() == {"places": 40}
        await broker.node.controller.delete_topics(["t"])
        await until(lambda: states.statistics() == {"places": 0})


@trio_test
async def test_places_are_spread_as_kafka_spreads_them(tmp_path: Path) -> None:
    async with Broker(config(tmp_path)) as broker:
        states = broker.node.services[LocalShareStates]
        place = SharePlace("mail", bytes(range(16)), 3)
        assert place.key == "mail:AAECAwQFBgcICQoLDA0ODw:3"
        await patiently(lambda: states.initialize(place, 1, 5))
        assert [index for index, machine in states.runtime.loaded() if machine.places] == [
            states.internal_topics.shard_of(SHARE_STATE_TOPIC, place.key)
        ]
