"""FindCoordinator: this node, for groups and transactions."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from coordinators.internal_topics import InternalTopics
from engine.catalogue.records import NodeRecord
from tests.wire.kafka.door import Client, open_door
from wire.kafka.apis.find_coordinator import ELECTION_S, KEYS_WAITED_FOR
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest

COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST = 15, 42
GROUP, TRANSACTION, SHARE, UNKNOWN_TYPE = 0, 1, 2, 9


@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
@trio_test
async def test_every_key_is_coordinated_by_this_node(tmp_path: Path, key_type: int) -> None:
    async with open_door(tmp_path) as door:
        answer = await (await door.connect()).ask(FindCoordinatorRequest(key_type, ["a", "b"]))
        assert [entry.key for entry in answer.coordinators] == ["a", "b"]
        for entry in answer.coordinators:
            assert (entry.error_code, entry.node_id) == (0, 1)
            assert f"{entry.host}:{entry.port}" == door.broker.kafka_address


@trio_test
async def test_one_key_is_answered_without_a_list_before_version_4(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        answer = await (await door.connect()).ask(FindCoordinatorRequest(GROUP, key="a"), 3)
        assert (answer.error_code, answer.node_id) == (0, 1)


@pytest.mark.parametrize("version", [3, 6])
@trio_test
async def test_an_unknown_kind_of_key_is_refused(tmp_path: Path, version: int) -> None:
    async with open_door(tmp_path) as door:
        request = FindCoordinatorRequest(UNKNOWN_TYPE, ["a"], "a")
        answer = await (await door.connect()).ask(request, version)
        entry = answer if version < 4 else answer.coordinators[0]
        assert (entry.error_code, entry.node_id) == (INVALID_REQUEST, -1)


@trio_test
async def test_the_state_of_a_share_partition_is_found_by_its_key(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        keys = ["a:b:AAECAwQFBgcICQoLDA0ODw:3", "a", "a:AAECAwQFBgcICQoLDA0ODw:-1", ":AAECAwQFBgcICQoLDA0ODw:1"]
        answer = await client.ask(FindCoordinatorRequest(SHARE, keys), 6)
        found = [(entry.error_code, entry.node_id) for entry in answer.coordinators]
        assert found == [(0, 1)] + [(INVALID_REQUEST, -1)] * 3
        (entry,) = (await client.ask(FindCoordinatorRequest(SHARE, keys[:1]), 5)).coordinators
        assert (entry.error_code, entry.node_id) == (INVALID_REQUEST, -1), "it came with version 6"


async def _entry_and_time(client: Client, request: FindCoordinatorRequest) -> tuple[int, int, float]:
    began = trio.current_time()
    answer = await client.ask(request)
    return answer.coordinators[0].error_code, answer.coordinators[0].node_id, trio.current_time() - began


@trio_test
async def test_the_answer_waits_a_moment_for_an_election(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_door(tmp_path) as door:
        client, request = await door.connect(), FindCoordinatorRequest(GROUP, ["a"])
        await client.ask(request)
        monkeypatch.setattr(InternalTopics, "coordinator_of", lambda *_: 2)
        code, _, took_s = await _entry_and_time(client, request)
        assert (code, took_s >= ELECTION_S) == (COORDINATOR_NOT_AVAILABLE, True)
        many = FindCoordinatorRequest(GROUP, ["a"] * (KEYS_WAITED_FOR + 1))
        code, _, took_s = await _entry_and_time(client, many)
        assert (code, took_s < ELECTION_S) == (COORDINATOR_NOT_AVAILABLE, True)
        nodes = door.broker.node.controller.replicas.nodes
        async with trio.open_nursery() as nursery:

            async def elect() -> None:
                await trio.sleep(ELECTION_S / 4)
                name = door.broker.node.controller.replicas.nodes.by_id[1].listeners[0]
                nodes.by_id[2] = NodeRecord(2, (name,))

            nursery.start_soon(elect)
            code, node_id, took_s = await _entry_and_time(client, request)
        assert (code, node_id, ELECTION_S / 4 <= took_s < ELECTION_S) == (0, 2, True)
