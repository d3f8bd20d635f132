"""Rights at the operations door: the same as at Kafka's, asked for before it is looked what exists."""

import json
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.kafka.door import Client
from tests.wire.kafka.guarded import ROOT, Guarded, allow, open_guarded
from tests.wire.kafka.requests import batch, create_topic, produced
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


async def _status(guarded: Guarded, target: str, method: str = "GET", body: str = "") -> tuple[int, str]:
    status, told = await _asked(guarded, target, method, body)
    return status, told.get("error", "")


async def _asked(guarded: Guarded, target: str, method: str = "GET", body: str = "") -> tuple[int, dict[str, Any]]:
    address = guarded.door.broker.http_address
    assert address is not None
    host, _, port = address.rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        await stream.send_all(
            f"{method} {target} HTTP/1.1\r\nHost: {address}\r\nX-Tidegate: 1\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        answer = b""
        async for piece in stream:
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body.startswith(b"{") else {}


@trio_test
async def test_the_operations_door_asks_for_the_same_rights_and_does_not_tell_what_exists(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        root = await guarded.client(ROOT)
        await create_topic(root, "orders")
        for topic in ("orders", "none"):
            assert await _status(guarded, f"/topics/{topic}") == (403, "TopicAuthorizationFailed")
            assert await _status(guarded, f"/topics/{topic}/delayed") == (403, "TopicAuthorizationFailed")
        for figures in ("/metrics", "/transactions/stats"):
            assert await _status(guarded, figures) == (403, "ClusterAuthorizationFailed")
        assert await _status(guarded, "/groups/g") == (403, "GroupAuthorizationFailed")
        assert (await _status(guarded, "/health/live"))[0] == 200
        guarded.rule(
            *(allow("ANONYMOUS", 3, 2, name) for name in ("orders", "none")),
            allow("ANONYMOUS", 8, 4, "kafka-cluster"),
        )
        assert (await _status(guarded, "/topics/orders"))[0] == 200
        assert (await _status(guarded, "/topics/none"))[0] == 404
        assert (await _status(guarded, "/topics"))[0] == 200
        assert await _status(guarded, "/topics/orders/delayed/0/x", "DELETE") == (403, "TopicAuthorizationFailed")


@trio_test
async def test_lists_hold_what_the_caller_may_describe(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        root = await guarded.client(ROOT)
        for topic in ("orders", "orders.dlq", "secrets"):
            await create_topic(root, topic)
        for group in ("mine", "theirs"):
            await _commit(root, group)
        assert [await _listed(guarded, path) for path in ("/topics", "/groups")] == [([], 0), ([], 0)]
        guarded.rule(allow("ANONYMOUS", 3, 2, "orders", pattern=4), allow("ANONYMOUS", 8, 3, "mine"))
        assert await _listed(guarded, "/topics?limit=1") == (["orders"], 2), "nor do counts tell of others"
        assert await _listed(guarded, "/topics") == (["orders", "orders.dlq"], 2)
        assert await _listed(guarded, "/groups") == (["mine"], 1)
        guarded.rule(allow("ANONYMOUS", 8, 4, "kafka-cluster"))
        assert "secrets" in (await _listed(guarded, "/topics"))[0]
        assert (await _listed(guarded, "/groups"))[1] == 2


@trio_test
async def test_share_groups_dead_letters_and_traces_are_told_item_by_item(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1, "log.trace.sample.per.second": 1000}) as guarded:
        root = await guarded.client(ROOT)
        for topic in ("orders", "orders.dlq", "secrets", "secrets.dlq"):
            await create_topic(root, topic)
        for topic in ("orders", "secrets"):
            await produced(root, topic, batch([b"v"]))
        for group in ("mine", "theirs"):
            await root.ask(FindCoordinatorRequest(coordinator_keys=[group]))
            beat = ShareGroupHeartbeatRequest(group, "m", 0, subscribed_topic_names=["orders"])
            assert (await root.ask(beat)).error_code == 0
        lists = ("/share-groups", "/dlq", "/traces", "/traces/search")
        assert [(await _asked(guarded, path))[1]["total"] for path in lists] == [0, 0, 0, 0]
        guarded.rule(
            allow("ANONYMOUS", 8, 3, "mine"),
            allow("ANONYMOUS", 3, 2, "orders"),
            allow("ANONYMOUS", 8, 2, "secrets.dlq"),
            allow("ANONYMOUS", 8, 2, "orders.dlq"),
        )
        told = {path: (await _asked(guarded, path))[1]["items"] for path in lists}
        assert [each["group"] for each in told["/share-groups"]] == ["mine"]
        assert [(each["topic"], each["sources"]) for each in told["/dlq"]] == [
            ("orders.dlq", ["orders"]),
            ("secrets.dlq", []),
        ]
        assert [each["topic"] for each in told["/traces"]] == ["orders"]
        (_, secret) = await _asked(guarded, "/traces/at/secrets/0/0")
        assert secret["error"] == "TopicAuthorizationFailed"
        guarded.rule(allow("ANONYMOUS", 8, 4, "kafka-cluster"))
        assert [(await _asked(guarded, path))[1]["total"] for path in lists] == [2, 2, 2, 2]


async def _commit(client: Client, group: str) -> None:
    await client.ask(FindCoordinatorRequest(coordinator_keys=[group]))
    topics = [OffsetCommitRequestTopic(name="orders", partitions=[OffsetCommitRequestPartition(0, 1)])]
    assert (await client.ask(OffsetCommitRequest(group_id=group, topics=topics), 9)).topics[0].name == "orders"


async def _listed(guarded: Guarded, target: str) -> tuple[list[str], int]:
    status, page = await _asked(guarded, target)
    assert status == 200
    return [each.get("name") or each["group"] for each in page["items"]], page["total"]


@trio_test
async def test_a_topic_is_not_made_whose_letters_go_where_its_maker_may_not_write(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        await create_topic(await guarded.client(ROOT), "victim")
        guarded.rule(allow("ANONYMOUS", 5, 2, "made"))
        wanted = json.dumps({"name": "made", "configs": {"dead.letter.topic": "victim"}})
        assert await _status(guarded, "/topics", "POST", wanted) == (403, "TopicAuthorizationFailed")
        guarded.rule(allow("ANONYMOUS", 4, 2, "victim"))
        assert (await _status(guarded, "/topics", "POST", wanted))[0] == 201
