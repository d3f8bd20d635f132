"""Those who try to get in, in great numbers: whoever is in already is served meanwhile."""

import ssl
import time
from pathlib import Path

import trio
from trio.testing import trio_test

from tests.wire.kafka.door import Client, Closed, Door
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.sasl.clients import ScramClient, plain_login, scram_login
from tests.wire.kafka.sasl.test_gate import give_password, guarded
from tests.wire.tls.authorities import client_context
from tests.wire.tls.test_identity import encrypted
from wire.kafka.messages.api_versions import ApiVersionsRequest

PATIENCE_S = 2.0
"""What one request of a client that behaves may take at worst, here with all sides on one loop and a machine that
others use, too."""


async def _slowest(client: Client, until: trio.Event) -> float:
    slowest = 0.0
    while not until.is_set():
        began = time.monotonic()
        assert (await produced(client, "t", batch())).error_code == 0
        slowest = max(slowest, time.monotonic() - began)
        await trio.sleep(0.005)
    return slowest


@trio_test
async def test_wrong_passwords_in_great_numbers_do_not_stop_who_knows_his(tmp_path: Path) -> None:
    async with guarded(tmp_path, sasl_authentication_timeout_ms=60_000) as door:
        await give_password(door, "carol", "knock")
        good = await door.connect()
        assert (await plain_login(good, "alice", "sesame")).error_code == 0
        await create_topic(good, "t", 1)
        tried, ended, found = 0, trio.Event(), []

        async def guess(number: int) -> None:
            nonlocal tried
            for attempt in range(10):
                client = await door.connect()
                if number % 5 == 0:
                    answer = await plain_login(client, "alice", f"wrong-{number}-{attempt}")
                else:
                    answer = await scram_login(client, ScramClient("carol", f"{number}-{attempt}"), "SCRAM-SHA-256")
                assert answer.error_code == 58
                tried += 1
                await client.stream.aclose()

        async def behave() -> None:
            found.append(await _slowest(good, ended))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(behave)
            async with trio.open_nursery() as guesses:
                for number in range(20):
                    guesses.start_soon(guess, number)
            ended.set()
        assert tried == 200
        assert found[0] < PATIENCE_S
        again = await door.connect()
        began = time.monotonic()
        assert (await plain_login(again, "alice", "sesame")).error_code == 0
        assert time.monotonic() - began < PATIENCE_S


async def _shake(door: Door, context: ssl.SSLContext) -> None:
    host, port = door.broker.kafka_address.rsplit(":", 1)
    stream = trio.SSLStream(await trio.open_tcp_stream(host, int(port)), context, server_hostname="localhost")
    client = Client(stream)  # type: ignore[arg-type]
    try:
        assert (await client.ask(ApiVersionsRequest("a", "1"))).error_code == 0
    except Closed:
        raise AssertionError("a handshake was not let through") from None
    finally:
        await trio.aclose_forcefully(stream)


@trio_test
async def test_handshakes_in_great_numbers_take_turns_with_requests(tmp_path: Path) -> None:
    async with encrypted(tmp_path) as door:
        host, port = door.broker.kafka_address.rsplit(":", 1)
        context = client_context()
        stream = trio.SSLStream(await trio.open_tcp_stream(host, int(port)), context, server_hostname="localhost")
        good = Client(stream)  # type: ignore[arg-type]
        await create_topic(good, "t", 1)
        ended, found = trio.Event(), []

        async def behave() -> None:
            found.append(await _slowest(good, ended))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(behave)
            async with trio.open_nursery() as flood:
                for _ in range(200):
                    flood.start_soon(_shake, door, context)
            ended.set()
        assert found[0] < PATIENCE_S
        await stream.aclose()
