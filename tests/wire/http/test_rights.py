"""Rights at the operations door: the same as at Kafka's, asked for before it is looked what exists."""

import json
from pathlib import Path

import trio
from trio.testing import trio_test

from tests.wire.kafka.guarded import ROOT, Guarded, allow, open_guarded
from tests.wire.kafka.requests import create_topic


async def _status(guarded: Guarded, target: str, method: str = "GET", body: str = "") -> tuple[int, str]:
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
    error = json.loads(body).get("error", "") if body.startswith(b"{") else ""
    return int(head.split()[1]), error


@trio_test
async def test_the_operations_door_asks_for_the_same_rights_and_does_not_tell_what_exists(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        root = await guarded.client(ROOT)
        await create_topic(root, "orders")
        for topic in ("orders", "none"):
            assert await _status(guarded, f"/topics/{topic}") == (403, "TopicAuthorizationFailed")
            assert await _status(guarded, f"/topics/{topic}/delayed") == (403, "TopicAuthorizationFailed")
        assert await _status(guarded, "/topics") == (403, "ClusterAuthorizationFailed")
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
async def test_a_topic_is_not_made_whose_letters_go_where_its_maker_may_not_write(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        await create_topic(await guarded.client(ROOT), "victim")
        guarded.rule(allow("ANONYMOUS", 5, 2, "made"))
        wanted = json.dumps({"name": "made", "configs": {"dead.letter.topic": "victim"}})
        assert await _status(guarded, "/topics", "POST", wanted) == (403, "TopicAuthorizationFailed")
        guarded.rule(allow("ANONYMOUS", 4, 2, "victim"))
        assert (await _status(guarded, "/topics", "POST", wanted))[0] == 201
