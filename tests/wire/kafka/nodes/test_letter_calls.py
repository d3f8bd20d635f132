"""Leaders on other nodes are told of dead letters that they have to send."""

from pathlib import Path

import trio
from trio.testing import trio_test

from coordinators.share.ports import SharePlace
from coordinators.share.sharing import Sharing
from tests.wire.kafka.nodes.pair import SERVER, pair
from tests.wire.kafka.requests import create_topic
from wire.kafka.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest
from wire.kafka.nodes.letter_calls import ClusterLetterCalls, call_requests


def test_a_call_names_every_place_once_by_group() -> None:
    one, other = b"1" * 16, b"2" * 16
    places = [SharePlace("a", one, 0), SharePlace("b", one, 0), SharePlace("a", one, 0), SharePlace("a", other, 3)]
    said = [
        (
            request.group_id,
            [(topic.topic_id, [each.partition for each in topic.partitions]) for topic in request.topics],
        )
        for request in call_requests(places)
    ]
    assert said == [("a", [(one, [0]), (other, [3])]), ("b", [(one, [0])])]


@trio_test
async def test_the_leader_loads_what_it_is_told_of(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        topic = await create_topic(await made.door.connect(), "t", 2)
        sharing, place = made.door.broker.node.services[Sharing], SharePlace("g", topic.topic_id, 1)
        ClusterLetterCalls(made.shared, made.background).call(SERVER, place)
        with trio.fail_after(30):
            while not sharing.is_known(place):
                await trio.lowlevel.checkpoint()


@trio_test
async def test_a_client_cannot_have_anything_loaded(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        client = await made.door.connect()
        topic = await create_topic(client, "t", 1)
        place = SharePlace("g", topic.topic_id, 0)
        (request,) = call_requests([place])
        assert isinstance(request, ReadShareGroupStateSummaryRequest)
        answer = await client.ask(request, 1)
        assert answer.results[0].partitions[0].error_code == 31
        assert not made.door.broker.node.services[Sharing].is_known(place)
