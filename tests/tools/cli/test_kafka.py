"""Calls to a broker over aiokafka's connections, in our codec's messages."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from aiokafka.errors import SaslAuthenticationFailed

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker
from tools.cli.errors import CannotReach, CliError, Exit, Refused
from tools.cli.kafka import Kafka, _Request, _unreachable, check, client_options, connected, run, stopped
from tools.cli.profiles import Profile
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.list_groups import ListGroupsRequest


@pytest.fixture
def profile(broker: RunningBroker) -> Profile:
    return Profile(bootstrap=broker.bootstrap, timeout_s=30)


def test_every_version_can_be_asked_for(profile: Profile) -> None:
    async def work() -> list[int]:
        async with connected(profile) as kafka:
            request = FindCoordinatorRequest(coordinator_keys=["g"], key="g")
            answers = [await kafka.call(request, last_version=version) for version in range(1, 7)]
        return [answer.coordinators[0].error_code if answer.coordinators else answer.error_code for answer in answers]

    assert len(run(work())) == 6


def test_the_last_version_that_both_know_is_taken() -> None:
    request = _Request(ListGroupsRequest())
    assert request.prepare({16: (0, 3)}).version == 3
    assert request.prepare({16: (0, 99)}).version == 5
    assert _Request(ListGroupsRequest(), 4).prepare({16: (0, 99)}).version == 4


@pytest.mark.parametrize("versions", [{}, {16: (50, 60)}])
def test_a_broker_that_does_not_offer_a_call_is_told(versions: dict[int, tuple[int, int]]) -> None:
    from aiokafka.errors import IncompatibleBrokerVersion

    with pytest.raises(IncompatibleBrokerVersion, match="ListGroups"):
        _Request(ListGroupsRequest()).prepare(versions)


def test_topics_nodes_and_coordinators_are_found(profile: Profile, topic: str) -> None:
    async def work() -> None:
        async with connected(profile) as kafka:
            assert kafka.nodes == [1]
            assert (await kafka.topic(topic)).name == topic
            assert await kafka.coordinator("some-group") == 1
            assert [each.name for each in (await kafka.metadata([topic])).topics] == [topic]

    run(work())


def test_a_wrong_topic_is_not_made(profile: Profile, tidegate: Tidegate) -> None:
    async def work() -> None:
        async with connected(profile) as kafka:
            await kafka.topic("cli-never")

    with pytest.raises(Refused, match="'cli-never'") as refused:
        run(work())
    assert refused.value.status is Exit.NOT_FOUND
    assert tidegate("topic", "list", "cli-never", "-o", "json").data == []


def test_what_passes_is_asked_again() -> None:
    tries = []

    async def ask() -> str:
        tries.append(None)
        if len(tries) < 3:
            check(14, "loading")
        return "done"

    assert run(Kafka(None, Profile()).patiently(ask)) == "done"
    assert len(tries) == 3


def test_what_does_not_pass_is_told_at_once_and_the_rest_in_the_end() -> None:
    async def refuse(code: int) -> None:
        check(code, "x")

    kafka = Kafka(None, Profile(timeout_s=0.3))
    with pytest.raises(Refused):
        run(kafka.patiently(lambda: refuse(40)))
    with pytest.raises(Refused, match="COORDINATOR_LOAD_IN_PROGRESS"):
        run(kafka.patiently(lambda: refuse(14)))


def test_nobody_there_is_told() -> None:
    async def work() -> None:
        async with connected(Profile(bootstrap="127.0.0.1:1")):
            pass

    with pytest.raises(CannotReach, match="no Kafka broker answers"):
        run(work())


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and is no broker: it closes them."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_all() -> None:
            with suppress(OSError):
                while True:
                    server.accept()[0].close()

        thread = threading.Thread(target=close_all, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_something_else_than_a_broker_is_told(silent: str) -> None:
    async def work() -> None:
        async with connected(Profile(bootstrap=silent, timeout_s=5)):
            pass

    with pytest.raises(CannotReach) as raised:
        run(work())
    assert "security_protocol" in raised.value.hint


@pytest.mark.parametrize(
    ("cause", "kind", "said"),
    [
        (ssl.SSLError(1, "bad certificate"), CannotReach, "no TLS with"),
        (SaslAuthenticationFailed("wrong password"), Refused, "wrong password"),
        (ConnectionRefusedError(), CannotReach, "no Kafka broker answers"),
        (None, CannotReach, "no Kafka broker answers"),
    ],
)
def test_why_no_connection_came_about_is_told(cause: BaseException | None, kind: type[CliError], said: str) -> None:
    error = _unreachable(Profile(), cause)
    assert type(error) is kind
    assert said in str(error)
    assert error.hint


def test_a_profile_becomes_options_of_a_client() -> None:
    plain = client_options(Profile(bootstrap="a:1", timeout_s=2))
    assert (plain["bootstrap_servers"], plain["request_timeout_ms"], plain["ssl_context"]) == ("a:1", 2_000, None)
    secure = client_options(
        Profile(
            security_protocol="SASL_SSL",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="u",
            sasl_password="p",
            ssl_check_hostname=False,
        )
    )
    assert (secure["sasl_mechanism"], secure["sasl_plain_username"]) == ("SCRAM-SHA-512", "u")
    assert isinstance(secure["ssl_context"], ssl.SSLContext)
    assert not secure["ssl_context"].check_hostname
    with pytest.raises(CliError, match="certificates"):
        client_options(Profile(security_protocol="SSL", ssl_cafile="missing.pem"))


def test_a_topic_that_may_have_been_meant_is_told(tidegate: Tidegate) -> None:
    assert tidegate("topic", "create", "meant-orders").code == 0
    for arguments in (["topic", "describe"], ["consume", "-e"], ["topic", "purge", "--dry-run"]):
        ended = tidegate(*arguments, "meant-ordres")
        assert (ended.code, "did you mean 'meant-orders'?" in ended.err) == (4, True), ended.err
    assert "did you mean" not in tidegate("topic", "describe", "qqqqqqqqqq").err


def test_a_client_that_cannot_end_is_given_up() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async def fails() -> None:
        raise ValueError("torn")

    class Client:
        is_closed = False

        async def close(self) -> None:
            self.is_closed = True

    client = Client()
    assert not asyncio.run(stopped(client, never(), 0.01))
    assert client.is_closed
    with pytest.raises(ValueError, match="torn"):
        asyncio.run(stopped(Client(), fails(), 60))
