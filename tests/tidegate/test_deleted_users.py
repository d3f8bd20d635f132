"""Users that are deleted while something goes on in their names, at the doors beside Kafka's."""

from pathlib import Path

import trio
from trio.testing import trio_test

from coordinators.access.scram import SCRAM_SHA_256, credential_of
from coordinators.access.users import Users
from coordinators.cluster.news import News
from engine.catalogue.user_records import UserRecord
from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import create_topic

PATIENCE_S = 20.0
ALICE = "Basic YWxpY2U6c2VzYW1l"


@trio_test
async def test_an_event_stream_ends_and_tells_nothing_that_came_later(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.enabled.mechanisms": "BASIC", "http.token": "secret"}) as door:
        users = door.broker.node.services[Users]
        kept = credential_of(SCRAM_SHA_256, "sesame", bytes, 4096)
        record = UserRecord("alice", {SCRAM_SHA_256.name: kept})
        users.take(News(1, others={record.key: (record.encode(), 1)}))
        await create_topic(await door.connect(), "t")
        follower = await door.caller()
        async with follower.stream:
            asked = f"GET /topics/t/messages?offset=earliest HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ALICE}\r\n"
            await follower.stream.send_all(f"{asked}Connection: close\r\nAccept: text/event-stream\r\n\r\n".encode())
            heard = bytearray()
            with trio.fail_after(PATIENCE_S):
                while b"id: 0:0" not in heard:
                    heard += await follower.stream.receive_some()
            users.take(News(2, others={record.key: (None, 0)}))
            token = {"authorization": "Bearer secret"}
            assert (await door.ask("POST", "/topics/t/messages", token, body={"value": "later"})).status == 200
            heard += await follower.rest()
        assert b"SaslAuthenticationFailed" in heard
        assert b"later" not in heard


@trio_test
async def test_whoever_guesses_is_counted(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.enabled.mechanisms": "BASIC", "http.token": "secret"}) as door:
        assert (await door.ask("GET", "/topics", {"authorization": ALICE})).status == 401
        assert (await door.ask("GET", "/topics", {"authorization": "Bearer guess"})).status == 401
        assert (await door.ask("GET", "/topics")).status == 401, "who says nothing does not guess"
        told = await door.ask("GET", "/metrics", {"authorization": "Bearer secret"})
        assert b"tidegate_http_logins_refused_total 2.0" in told.body
