"""Listeners that ask who somebody is: what may be said before, how it is answered, and what follows."""

import base64
import os
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import trio_test

from coordinators.access.password_file import PasswordHash
from tests.wire.kafka.door import Client, Closed, Door, frame, open_door, until
from tests.wire.kafka.sasl.clients import ScramClient, plain_login, scram_login
from wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from wire.kafka.messages.metadata import MetadataRequest
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest

UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE, UNSUPPORTED_VERSION, SASL_AUTHENTICATION_FAILED = 33, 34, 35, 58
HASH = str(PasswordHash.of("sesame", os.urandom))
SALT = bytes(range(24))


@asynccontextmanager
async def guarded(tmp_path: Path, **settings: object) -> AsyncIterator[Door]:
    """A broker whose first listener asks for a login; alice has a password for each mechanism."""
    (tmp_path / "users").write_text(f"alice:{HASH}\nbob:{HASH}\n")
    values: dict[str, object] = {
        "listeners": "IN://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.plain.users.location": str(tmp_path / "users"),
        "connection.failed.authentication.delay.ms": 20,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    async with open_door(tmp_path / "data", values) as door:
        yield door


async def open_client(door: Door) -> Client:
    """By the listener that asks nothing."""
    host, port = door.broker.listeners[1].address.rsplit(":", 1)
    client = Client(await trio.open_tcp_stream(host, int(port)))
    door._clients.append(client)
    return client


async def give_password(door: Door, user: str, password: str) -> None:
    client = await open_client(door)
    rows = []
    for number, name in ((1, "sha256"), (2, "sha512")):
        scram = ScramClient(user, password, name)
        scram.final(f"r=x,s={base64.b64encode(SALT).decode()},i=4096".encode())
        rows.append(ScramCredentialUpsertion(user, number, 4096, SALT, scram.salted))
    answer = await client.ask(AlterUserScramCredentialsRequest(upsertions=rows))
    assert [(each.user, each.error_code) for each in answer.results] == [(user, 0)]
    await client.stream.aclose()


@pytest.mark.parametrize(("mechanism", "name"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
@trio_test
async def test_a_user_of_the_catalogue_logs_in_and_is_served(tmp_path: Path, mechanism: str, name: str) -> None:
    async with guarded(tmp_path) as door:
        await give_password(door, "carol", "knock")
        client = await door.connect()
        assert (await client.ask(ApiVersionsRequest("a", "1"))).error_code == 0
        scram = ScramClient("carol", "knock", name)
        answer = await scram_login(client, scram, mechanism)
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
        assert scram.is_from_server(answer.auth_bytes)
        (connection,) = [each for each in door.broker.server.connections.values() if each.peer.login is not None]
        assert str(connection.peer.caller.principal) == "User:carol"
        assert connection.peer.listener_name == "IN"
        host, port = door.broker.listeners[0].address.rsplit(":", 1)
        told = await client.ask(MetadataRequest(topics=[]))
        assert [(each.host, each.port) for each in told.brokers] == [(host, int(port))]


@trio_test
async def test_wrong_passwords_and_unknown_users_are_told_the_same_after_a_while_and_closed(tmp_path: Path) -> None:
    async with guarded(tmp_path) as door:
        await give_password(door, "carol", "knock")
        told = set()
        for user in ("carol", "nobody"):
            client = await door.connect()
            began = time.monotonic()
            answer = await scram_login(client, ScramClient(user, "wrong"), "SCRAM-SHA-256")
            assert time.monotonic() - began >= 0.02
            told.add((answer.error_code, answer.error_message))
            await client.wait_closed()
        for user, password in (("alice", "wrong"), ("nobody", "sesame")):
            client = await door.connect()
            answer = await plain_login(client, user, password)
            told.add((answer.error_code, (answer.error_message or "").replace("PLAIN", "SCRAM-SHA-256")))
            await client.wait_closed()
        assert len(told) == 1
        assert told.pop()[0] == SASL_AUTHENTICATION_FAILED
        policy = door.broker.server.entrances[0].login
        assert policy is not None
        assert policy.outcomes["PLAIN", "failure"] == 2


@trio_test
async def test_an_unknown_mechanism_is_told_those_that_there_are(tmp_path: Path) -> None:
    async with guarded(tmp_path) as door:
        client = await door.connect()
        answer = await client.ask(SaslHandshakeRequest("GSSAPI"), 1)
        assert answer.error_code == UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        await client.wait_closed()


@trio_test
async def test_an_unknown_version_of_api_versions_is_answered_and_asked_again(tmp_path: Path) -> None:
    async with guarded(tmp_path) as door:
        client = await door.connect()
        unknown = bytearray(frame(ApiVersionsRequest("a", "1"), 3, 7))
        unknown[6:8] = (99).to_bytes(2, "big")
        await client.send_bytes(bytes(unknown))
        answer = await client.receive_frame()
        assert struct.unpack_from(">ih", answer) == (7, UNSUPPORTED_VERSION)
        assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0
        assert (await plain_login(client, "alice", "sesame")).error_code == 0


@trio_test
async def test_a_handshake_of_version_0_is_followed_by_messages_without_headers(tmp_path: Path) -> None:
    async with guarded(tmp_path) as door:
        await give_password(door, "carol", "knock")
        client = await door.connect()
        assert (await client.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 0)).error_code == 0
        scram = ScramClient("carol", "knock")
        message = scram.first()
        await client.send_bytes(struct.pack(">i", len(message)) + message)
        message = scram.final(await client.receive_frame())
        # What follows at once is not lost.
        await client.send_bytes(struct.pack(">i", len(message)) + message + client.prepare(MetadataRequest(topics=[])))
        assert scram.is_from_server(await client.receive_frame())
        assert len((await client.receive()).brokers) == 1
        client = await door.connect()
        await client.ask(SaslHandshakeRequest("PLAIN"), 0)
        await client.send_bytes(struct.pack(">i", 14) + b"\0alice\0wrongxx")
        await client.wait_closed()


@pytest.mark.parametrize(
    "said",
    [
        [MetadataRequest(topics=[])],
        [SaslAuthenticateRequest(b"\0alice\0sesame")],
        [ApiVersionsRequest("a", "1"), ApiVersionsRequest("a", "1")],
        [ApiVersionsRequest("a", "1"), MetadataRequest(topics=[])],
        [SaslHandshakeRequest("PLAIN"), MetadataRequest(topics=[])],
        [SaslHandshakeRequest("PLAIN"), SaslHandshakeRequest("PLAIN")],
        [SaslHandshakeRequest("PLAIN"), ApiVersionsRequest("a", "1")],
    ],
)
@trio_test
async def test_anything_out_of_order_ends_the_connection(tmp_path: Path, said: list[object]) -> None:
    async with guarded(tmp_path) as door:
        client = await door.connect()
        for request in said[:-1]:
            await client.ask(request)
        await client.send(said[-1], answered=False)
        await client.wait_closed()
        await until(lambda: door.broker.server.ended["unauthenticated"] == 1)


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", -1),
        struct.pack(">i", 512 * 1024 + 1),
        struct.pack(">i", 0),
        struct.pack(">i", 1) + b"\0",
        struct.pack(">ihh", 4, 17, 1),
        struct.pack(">ihhih", 10, 18, 3, 1, 500),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
@trio_test
async def test_what_is_no_request_ends_the_connection(tmp_path: Path, sent: bytes) -> None:
    """CVE-2022-34917: nothing is allocated for what is announced."""
    async with guarded(tmp_path) as door:
        client = await door.connect()
        await client.send_bytes(sent)
        await client.wait_closed()


@trio_test
async def test_an_announced_frame_takes_no_memory_before_it_comes(tmp_path: Path) -> None:
    import tracemalloc

    async with guarded(tmp_path) as door:
        clients = [await door.connect() for _ in range(50)]
        tracemalloc.start()
        try:
            for client in clients:
                await client.send_bytes(struct.pack(">ihhi", 512 * 1024, 17, 1, 1))
            await trio.sleep(0.2)
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert grown < 50 * 16 * 1024


@trio_test
async def test_who_does_not_log_in_in_time_is_closed(tmp_path: Path) -> None:
    async with guarded(tmp_path, sasl_authentication_timeout_ms=150) as door:
        silent, half = await door.connect(), await door.connect()
        await half.ask(SaslHandshakeRequest("PLAIN"), 1)
        await silent.wait_closed()
        await half.wait_closed()
        assert door.broker.server.ended["unauthenticated"] == 2


@trio_test
async def test_a_login_that_ends_is_done_again_or_ends_the_connection(tmp_path: Path) -> None:
    async with guarded(tmp_path, connections_max_reauth_ms=1500) as door:
        keeps, forgets = await door.connect(), await door.connect()
        answer = await plain_login(keeps, "alice", "sesame")
        assert answer.session_lifetime_ms == 1500
        await plain_login(forgets, "alice", "sesame")
        assert (await keeps.ask(SaslHandshakeRequest("PLAIN"), 1)).error_code == 0, "the first time at once"
        assert (await keeps.ask(SaslAuthenticateRequest(b"\0alice\0sesame"), 2)).error_code == 0
        too_soon = await keeps.ask(SaslHandshakeRequest("PLAIN"), 1)
        assert too_soon.error_code == ILLEGAL_SASL_STATE
        await trio.sleep(1.05)
        other = await keeps.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
        assert other.error_code == ILLEGAL_SASL_STATE, "by the same mechanism only"
        # What is in flight is answered in its order.
        await keeps.send_bytes(
            keeps.prepare(MetadataRequest(topics=[])) + keeps.prepare(SaslHandshakeRequest("PLAIN"), 1)
        )
        assert len((await keeps.receive()).brokers) == 1
        assert (await keeps.receive()).error_code == 0
        again = await keeps.ask(SaslAuthenticateRequest(b"\0alice\0sesame"), 2)
        assert (again.error_code, again.session_lifetime_ms) == (0, 1500)
        await trio.sleep(0.6)
        assert len((await keeps.ask(MetadataRequest(topics=[]))).brokers) == 1
        await forgets.send(MetadataRequest(topics=[]), answered=False)
        await forgets.wait_closed()
        assert door.broker.server.ended["expired"] == 1


@pytest.mark.parametrize("message", [b"\0bob\0sesame", b"\0alice\0wrong"])
@trio_test
async def test_a_connection_stays_whose_it_was(tmp_path: Path, message: bytes) -> None:
    async with guarded(tmp_path) as door:
        client = await door.connect()
        await plain_login(client, "alice", "sesame")
        await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = await client.ask(SaslAuthenticateRequest(message), 2)
        assert answer.error_code == SASL_AUTHENTICATION_FAILED
        await client.wait_closed()


@pytest.mark.parametrize("begins_again", [False, True])
@trio_test
async def test_nothing_that_came_behind_a_login_that_failed_is_done(tmp_path: Path, begins_again: bool) -> None:
    async with guarded(tmp_path) as door:
        client = await door.connect()
        await plain_login(client, "alice", "sesame")
        await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        await trio.sleep(1.05 if begins_again else 0)
        before = door.broker.server.requests[MetadataRequest.API_KEY]
        await client.send_bytes(
            client.prepare(SaslAuthenticateRequest(b"\0alice\0wrong"), 2)
            + client.prepare(SaslHandshakeRequest("PLAIN"), 1, answered=False) * begins_again
            + client.prepare(MetadataRequest(topics=[]), answered=False) * 3
        )
        assert (await client.receive()).error_code == SASL_AUTHENTICATION_FAILED
        await client.wait_closed()
        assert door.broker.server.requests[MetadataRequest.API_KEY] == before


@trio_test
async def test_users_are_told_without_what_is_kept_of_their_passwords(tmp_path: Path) -> None:
    async with guarded(tmp_path) as door:
        await give_password(door, "carol", "knock")
        client = await open_client(door)
        told = await client.ask(DescribeUserScramCredentialsRequest(None))
        (carol,) = told.results
        assert [(each.mechanism, each.iterations) for each in carol.credential_infos] == [(1, 4096), (2, 4096)]
        gone = [ScramCredentialDeletion("carol", number) for number in (1, 2)]
        assert (await client.ask(AlterUserScramCredentialsRequest(gone))).results[0].error_code == 0
        assert (await client.ask(DescribeUserScramCredentialsRequest(None))).results == []
        late = await door.connect()
        answer = await scram_login(late, ScramClient("carol", "knock"), "SCRAM-SHA-256")
        assert answer.error_code == SASL_AUTHENTICATION_FAILED
        await client.stream.aclose()


@trio_test
async def test_who_was_deleted_is_served_no_longer(tmp_path: Path) -> None:
    async with guarded(tmp_path) as door:
        for user in ("carol", "dave"):
            await give_password(door, user, "knock")
        clients = {}
        for user, mechanism, name in (
            ("carol", "SCRAM-SHA-256", "sha256"),
            ("carol2", "SCRAM-SHA-512", "sha512"),
            ("dave", "SCRAM-SHA-256", "sha256"),
        ):
            clients[user] = await door.connect()
            login = await scram_login(clients[user], ScramClient(user.rstrip("2"), "knock", name), mechanism)
            assert login.error_code == 0
        gone = AlterUserScramCredentialsRequest([ScramCredentialDeletion("carol", 1)])
        assert (await clients["carol"].ask(gone)).results[0].error_code == 0, "what it asked is answered yet"
        with pytest.raises(Closed):
            await clients["carol"].ask(MetadataRequest(topics=[]))
        for user in ("carol2", "dave"):
            assert (await clients[user].ask(MetadataRequest(topics=[]))).brokers


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from("vhaxm"), min_size=1, max_size=6))
def test_nobody_is_served_before_a_login_whatever_was_said(
    tmp_path_factory: pytest.TempPathFactory, said: list[str]
) -> None:
    """Orders of version, handshake, wrong and right message, and another request, against the rule in words."""
    requests = {
        "v": ApiVersionsRequest("a", "1"),
        "h": SaslHandshakeRequest("PLAIN"),
        "x": SaslAuthenticateRequest(b"\0alice\0wrong"),
        "a": SaslAuthenticateRequest(b"\0alice\0sesame"),
        "m": MetadataRequest(topics=[]),
    }
    expected = ""
    for place, each in enumerate(said):
        before = "".join(said[:place])
        if before in ("", "v", "h", "vh", "ha", "vha") and before + each in (
            "v",
            "h",
            "vh",
            "ha",
            "vha",
            "ham",
            "vham",
        ):
            expected += each
            continue
        if before + each in ("hx", "vhx"):
            expected += each
        break

    @trio_test
    async def tried() -> None:
        async with guarded(tmp_path_factory.mktemp("gate"), connection_failed_authentication_delay_ms=0) as door:
            client = await door.connect()
            answered = ""
            try:
                for each in said[: len(expected) + 1]:
                    await client.ask(requests[each])
                    answered += each
            except (Closed, trio.BrokenResourceError):
                pass
            is_known = "a" in expected
            assert answered == expected if not is_known else answered.startswith(expected)

    tried()
