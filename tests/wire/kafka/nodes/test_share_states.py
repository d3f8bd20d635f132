"""The state of share partitions that another node keeps."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.replication.ports import LinkBroken
from coordinators.share.asking import OrderlyAsking
from coordinators.share.ends import UNKNOWN_END, LocalShareRecords
from coordinators.share.ports import (
    DeliveryState,
    LetterProducer,
    ShareChange,
    SharePlace,
    ShareRecords,
    ShareState,
    StateBatch,
)
from coordinators.share.questions import WriteState
from coordinators.share.states import LocalShareStates
from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import BrokerError, CoordinatorNotAvailable, FencedLeaderEpoch, FencedStateEpoch
from tests.wire.kafka.nodes.pair import CLIENT, RECORD, SERVER, Pair, pair
from tests.wire.kafka.requests import batch, create_topic, produced
from wire.kafka.messages import delete_share_group_state as delete_wire
from wire.kafka.messages import initialize_share_group_state as initialize_wire
from wire.kafka.messages import read_share_group_state as read_wire
from wire.kafka.messages import read_share_group_state_summary as summary_wire
from wire.kafka.messages import write_share_group_state as write_wire
from wire.kafka.nodes.share_ends import ClusterShareRecords
from wire.kafka.nodes.share_messages import EXCHANGES, state_request
from wire.kafka.nodes.share_states import StateAttempts
from wire.kafka.nodes.trust import LinkKind

CLUSTER_AUTHORIZATION_FAILED = 31
PLACES = [SharePlace(group, b"\7" * 16, index) for group in ("mail", "bills") for index in range(3)]
LETTER = StateBatch(3, 3, DeliveryState.ARCHIVING, 5, 0, 11, 12, "rejected", "member")


class OtherTopics:
    """What the node that asks knows of shards and their leaders."""

    def __init__(self, leader: int = SERVER) -> None:
        self.leader = leader
        self.missing = False

    def is_missing(self, _name: str) -> bool:
        return self.missing

    def coordinator_of(self, _name: str, _key: str) -> int:
        return self.leader


def asking(made: Pair, topics: OtherTopics | None = None, patience_s: float = 5.0) -> OrderlyAsking:
    """Of the node that does not keep the states."""
    broker = made.door.broker
    local: Any = SimpleNamespace(internal_topics=topics or OtherTopics(), delete=_kept_here)
    attempts = StateAttempts(local, made.shared, made.background, CLIENT)
    return OrderlyAsking(attempts.ask, broker.clock, broker.node.timers, patience_s)


def _kept_here(_place: SharePlace) -> Deferred[None]:
    done: Deferred[None] = Deferred()
    done.resolve(None)
    return done


async def refusal(asked: Deferred[Any]) -> BrokerError:
    try:
        await result_of(asked)
    except BrokerError as error:
        return error
    raise AssertionError("it was not refused")


@trio_test
async def test_states_are_kept_by_the_node_that_leads_their_shard(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        states, kept = asking(made), made.door.broker.node.services[LocalShareStates]
        with trio.fail_after(20):
            for place in PLACES:
                await result_of(states.initialize(place, 1, 0))
            change = ShareChange(2, 1, (LETTER,), LetterProducer(8, 1))
            writes = [states.write(place, 1, 4, change) for place in PLACES for _ in range(5)]
            for each in writes:
                await result_of(each)
        expected = ShareState(1, 4, 2, 1, (LETTER,), LetterProducer(8, 1))
        for place in PLACES:
            assert await result_of(states.read(place, 4)) == expected
            assert await result_of(kept.read(place, -1)) == expected
            assert await result_of(states.summary(place)) == ShareState(1, 4, 2, 1)
        await result_of(states.delete(PLACES[0]))
        assert await result_of(kept.read(PLACES[0], -1)) == ShareState()


@trio_test
async def test_who_was_replaced_is_told_over_the_link(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        states = asking(made)
        with trio.fail_after(20):
            await result_of(states.initialize(PLACES[0], 3, 0))
            await result_of(states.read(PLACES[0], 5))
            assert isinstance(await refusal(states.write(PLACES[0], 3, 4, ShareChange(1))), FencedLeaderEpoch)
            assert isinstance(await refusal(states.write(PLACES[0], 2, 5, ShareChange(1))), FencedStateEpoch)


@trio_test
async def test_a_link_that_breaks_is_made_anew(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        states = asking(made)
        with trio.fail_after(20):
            await result_of(states.initialize(PLACES[0], 1, 0))
            made.shared._by_node[SERVER].link.break_off("cut")  # type: ignore[union-attr]
            await result_of(states.write(PLACES[0], 1, 0, ShareChange(7)))
            assert (await result_of(states.summary(PLACES[0]))).start_offset == 7
        assert made.dialled == 2


@trio_test
async def test_whoever_keeps_it_is_looked_for_anew(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        topics = OtherTopics(leader=-1)
        states = asking(made, topics)
        with trio.fail_after(20):
            asked = states.initialize(PLACES[0], 1, 3)
            await trio.sleep(0.1)
            assert not asked.settled
            topics.leader = SERVER
            await result_of(asked)
            topics.leader = CLIENT
            await result_of(states.delete(PLACES[0]))
            assert made.dialled == 1, "that was asked of nobody else"


@trio_test
async def test_a_node_that_cannot_be_reached_is_not_waited_for_forever(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        made.refuses = True
        with trio.fail_after(20):
            asked = asking(made, patience_s=0.2).read(PLACES[0], 1)
            assert isinstance(await refusal(asked), CoordinatorNotAvailable)


@trio_test
async def test_a_write_over_a_connection_that_was_replaced_is_not_taken(tmp_path: Path) -> None:
    """It comes late: over the other one it was asked again, and what came after it may be written by now."""
    async with pair(tmp_path) as made:
        place, exchange = PLACES[0], EXCHANGES[WriteState]
        await result_of(asking(made).initialize(place, 1, 0))
        old, new = [await made.links.open(RECORD, LinkKind.STATES) for _ in range(2)]
        late, later = (state_request(exchange, [WriteState(place, 1, 0, ShareChange(start))]) for start in (8, 5))
        answer = await new.ask(later, exchange.versions, 5)
        assert answer.results[0].partitions[0].error_code == 0
        with pytest.raises(LinkBroken):
            await old.ask(late, exchange.versions, 5)
        kept = made.door.broker.node.services[LocalShareStates]
        assert (await result_of(kept.summary(place))).start_offset == 5


@trio_test
async def test_clients_may_not_ask(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        client = await made.door.connect()
        states = made.door.broker.node.services[LocalShareStates]
        topic_id = PLACES[0].topic_id
        requests: list[tuple[Any, Any, Any, int]] = [
            (initialize_wire.InitializeShareGroupStateRequest, initialize_wire.InitializeStateData, initialize_wire, 0),
            (read_wire.ReadShareGroupStateRequest, read_wire.ReadStateData, read_wire, 0),
            (write_wire.WriteShareGroupStateRequest, write_wire.WriteStateData, write_wire, 1),
            (delete_wire.DeleteShareGroupStateRequest, delete_wire.DeleteStateData, delete_wire, 0),
            (summary_wire.ReadShareGroupStateSummaryRequest, summary_wire.ReadStateSummaryData, summary_wire, 1),
        ]
        for request, topic, wire, version in requests:
            asked = request("mail", [topic(topic_id, [wire.PartitionData(0), wire.PartitionData(1)])])
            response = await client.ask(asked, version)
            (answered,) = response.results
            assert answered.topic_id == topic_id
            assert [each.error_code for each in answered.partitions] == [CLUSTER_AUTHORIZATION_FAILED] * 2
        assert states.statistics() == {"places": 0}


@trio_test
async def test_ends_of_partitions_are_asked_of_their_leaders(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        client = await made.door.connect()
        await create_topic(client, "t", 2)
        await produced(client, "t", batch())
        topic = made.door.broker.node.topics.by_name["t"]
        led_there: Any = SimpleNamespace(
            name="t", partitions=[SimpleNamespace(leader=leader) for leader in (SERVER, SERVER, -1)]
        )
        topics = SimpleNamespace(node_id=CLIENT, by_id={topic.topic_id: led_there})
        directory: Any = SimpleNamespace(topics=topics)
        records = ClusterShareRecords(LocalShareRecords(directory), made.shared, made.background)
        with trio.fail_after(20):
            groups = [records.end_offset(SharePlace(group, topic.topic_id, 0)) for group in ("a", "b")]
            assert [await result_of(end) for end in groups] == [1, 1]
            assert await result_of(records.end_offset(SharePlace("a", topic.topic_id, 1))) == 0
            assert await result_of(records.end_offset(SharePlace("a", topic.topic_id, 2))) == UNKNOWN_END
            made.shared._by_node[SERVER].link.break_off("cut")  # type: ignore[union-attr]
            made.refuses = True
            assert await result_of(records.end_offset(SharePlace("a", topic.topic_id, 0))) == UNKNOWN_END


@trio_test
async def test_ends_of_partitions_that_are_led_here_are_known(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        client = await made.door.connect()
        await create_topic(client, "t", 1)
        await produced(client, "t", batch())
        node = made.door.broker.node
        records = node.services[ShareRecords]
        topic_id = node.topics.by_name["t"].topic_id
        assert await result_of(records.end_offset(SharePlace("a", topic_id, 0))) == 1
        assert await result_of(records.end_offset(SharePlace("a", topic_id, 1))) == UNKNOWN_END
        assert await result_of(records.end_offset(SharePlace("a", b"\0" * 16, 0))) == UNKNOWN_END
