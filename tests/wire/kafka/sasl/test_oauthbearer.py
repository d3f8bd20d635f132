"""OAUTHBEARER: by its messages, over the wire, and with keys that come and go."""

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from coordinators.access.checking import Checking, TooManyChecked
from coordinators.access.key_sets import KeySet
from coordinators.access.tokens import TokenRules
from engine.clock import ManualClock
from engine.errors import InvalidConfig, SaslAuthenticationFailed
from engine.workers import Workers
from tests.coordinators.access.issuing import AUDIENCE, EC, ISSUER, NOW_S, RSA, claims, document, token, unsigned
from tests.wire.kafka.door import config, open_door
from tidegate.broker import Broker
from tidegate.fetching_keys import fetcher
from wire.kafka.messages.metadata import MetadataRequest
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest
from wire.kafka.sasl.oauthbearer import OAuthExchange

RULES = TokenRules(ISSUER, frozenset({AUDIENCE}))


class AtOnce:
    """Workers that are none."""

    def submit(self, job: Callable[[], object], done: Callable[[object, BaseException | None], object]) -> None:
        try:
            result, failure = job(), None
        except BaseException as error:
            result, failure = None, error
        done(result, failure)


def workers() -> Workers:
    return AtOnce()  # type: ignore[return-value]


class Issuer:
    """Its keys, and how often they were fetched."""

    def __init__(self, *keys: object) -> None:
        self.keys, self.fetched, self.is_down = keys, 0, False

    def fetch(self) -> bytes:
        self.fetched += 1
        if self.is_down:
            raise OSError("no answer")
        return document(*self.keys)


def message(text: str, who: str = "") -> bytes:
    return f"n,{who},\x01auth=Bearer {text}\x01\x01".encode()


def exchange(issuer: Issuer, clock: ManualClock) -> OAuthExchange:
    return OAuthExchange(KeySet(issuer.fetch, clock, workers()), RULES, clock)


def clock() -> ManualClock:
    return ManualClock(wall_ms=NOW_S * 1000)


@pytest.mark.parametrize("who", ["", "a=alice"])
@trio_test
async def test_a_token_shows_who_it_is_and_until_when(who: str) -> None:
    turn = await exchange(Issuer(RSA), clock()).take(message(token(), who))
    assert turn.shown is not None
    assert (str(turn.shown.principal), turn.shown.expires_at_ms) == ("User:alice", (NOW_S + 300) * 1000)


@pytest.mark.parametrize(("text", "who"), [(unsigned(), ""), (token(), "a=admin"), (token(claims(exp=1)), "")])
@trio_test
async def test_a_token_that_does_not_count_is_told_so_and_fails_after_that(text: str, who: str) -> None:
    made = exchange(Issuer(RSA), clock())
    turn = await made.take(message(text, who))
    assert turn.shown is None
    assert json.loads(turn.answer) == {"status": "invalid_token"}
    for following in (b"\x01", message(token())):
        with pytest.raises(SaslAuthenticationFailed):
            await made.take(following)


@pytest.mark.parametrize(
    "text",
    [b"", b"\x01", b"n,,", b"n,,\x01\x01", b"n,,\x01auth=Basic x\x01\x01", b"p=x,,\x01auth=Bearer a\x01\x01", b"\xff"],
)
@trio_test
async def test_first_messages_that_are_none_fail(text: bytes) -> None:
    with pytest.raises(SaslAuthenticationFailed):
        await exchange(Issuer(RSA), clock()).take(text)


@trio_test
async def test_an_unknown_key_is_looked_up_once_in_a_while_whoever_asks() -> None:
    issuer, now = Issuer(RSA), clock()
    keys = KeySet(issuer.fetch, now, workers())
    assert await keys.find("rsa") is not None
    for _ in range(100):
        assert await keys.find("ec") is None
    assert issuer.fetched == 1
    issuer.keys = (EC,)
    now.advance_ms(11_000)
    assert await keys.find("ec") is not None
    assert await keys.find("rsa") is None, "what the issuer has no longer"
    issuer.is_down = True
    now.advance_ms(11_000)
    assert await keys.find("new") is None
    assert await keys.find("ec") is not None, "while it is down the last keys count"


@trio_test
async def test_only_who_waits_for_a_key_needs_a_place() -> None:
    """Tokens that name no key of the issuer's wait until it answers, which may be long: others come in meanwhile."""
    made, checking = exchange(Issuer(RSA), clock()), Checking(most=0)
    await made.keys.find("rsa")
    place = partial(checking.place, "10.0.0.7")
    assert str((await made.validated(token(), place)).principal) == "User:alice"
    with pytest.raises(TooManyChecked):
        await made.validated(token(key=EC, algorithm="ES256"), place)


@trio_test
async def test_who_shows_a_token_while_the_first_keys_are_fetched_waits_for_them() -> None:
    """Else the tokens of all who come in the moment after a start were refused."""
    fetched: list[Callable[[], None]] = []

    class Later(AtOnce):
        def submit(self, job: Callable[[], object], done: Callable[[object, BaseException | None], object]) -> None:
            fetched.append(lambda: AtOnce.submit(self, job, done))

    issuer = Issuer(RSA)
    keys = KeySet(issuer.fetch, clock(), Later())  # type: ignore[arg-type]
    found: list[object] = []

    async def find() -> None:
        found.append(await keys.find("rsa"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(keys.keep)
        await wait_all_tasks_blocked()
        nursery.start_soon(find)
        await wait_all_tasks_blocked()
        assert found == []
        fetched.pop()()
        await wait_all_tasks_blocked()
        assert found[0] is not None
        assert issuer.fetched == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"[" * 200_000,
    ],
)
@trio_test
async def test_whatever_is_answered_for_keys_the_last_ones_count(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                with suppress(OSError):
                    connection.sendall(answer)

        issuer, now = Issuer(RSA), clock()
        keys = KeySet(issuer.fetch, now, workers())
        assert await keys.find("rsa") is not None
        keys.fetch = fetcher(f"http://127.0.0.1:{server.getsockname()[1]}/keys")
        now.advance_ms(11_000)
        thread = threading.Thread(target=answer_once)
        thread.start()
        assert await keys.find("other") is None
        thread.join()
    assert await keys.find("rsa") is not None
    assert "the last ones count" in caplog.text


@trio_test
async def test_over_the_wire_a_login_ends_with_its_token(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(document(RSA))
    settings: dict[str, object] = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{tmp_path}/keys.json",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.clock.skew.seconds": 0,
        "connection.failed.authentication.delay.ms": 0,
    }
    async with open_door(tmp_path / "data", settings) as door:
        # The first token has what checks it loaded, which takes a while on a busy machine.
        first_client = await door.connect()
        await first_client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
        now = int(time.time())
        lasting = message(token(claims(iat=now - 5, exp=now + 600)))
        assert (await first_client.ask(SaslAuthenticateRequest(lasting), 2)).session_lifetime_ms > 2000
        client = await door.connect()
        await client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
        now = int(time.time())
        made = token(claims(iat=now - 5, exp=now + 2))
        answer = await client.ask(SaslAuthenticateRequest(message(made)), 2)
        assert answer.error_code == 0
        assert 0 < answer.session_lifetime_ms <= 2000
        assert len((await client.ask(MetadataRequest(topics=[]))).brokers) == 1
        await trio.sleep(answer.session_lifetime_ms / 1000 + 0.1)
        await client.send(MetadataRequest(topics=[]), answered=False)
        await client.wait_closed()
        refused = await door.connect()
        await refused.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
        first = await refused.ask(SaslAuthenticateRequest(message(made)), 2)
        assert (first.error_code, json.loads(first.auth_bytes)) == (0, {"status": "invalid_token"})
        assert (await refused.ask(SaslAuthenticateRequest(b"\x01"), 2)).error_code == 58
        await refused.wait_closed()


@pytest.mark.parametrize("missing", ["jwks.endpoint.url", "expected.issuer", "expected.audience"])
@trio_test
async def test_without_all_three_it_does_not_start(tmp_path: Path, missing: str) -> None:
    """CVE-2026-33557, CVE-2026-110985: no keys configured, so no signature checked."""
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": "https://issuer.example/keys",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    del settings[f"sasl.oauthbearer.{missing}"]
    with pytest.raises(InvalidConfig, match="needs sasl"):
        async with Broker(config(tmp_path, dict(settings))):
            pass


@pytest.mark.parametrize("url", ["http://issuer.example/keys", "ftp://x/y", "keys.json", "file://host/keys", "jar:x"])
def test_keys_come_from_nowhere_that_others_could_write_on_the_way(url: str) -> None:
    with pytest.raises(InvalidConfig, match="https://"):
        fetcher(url)


def test_a_document_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(ValueError, match="more than"):
        fetcher(f"file://{tmp_path}/keys")()
