"""What the broker answers is told, and nobody waits for ever: commands against a broker that refuses."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.protocol.coordination import FindCoordinatorResponse_v1
from aiokafka.protocol.produce import ProduceResponse_v8

from tests.tools.cli.conftest import Tidegate
from tools.cli.answers import METADATA, PRODUCE, Answer, Answers
from tools.cli.errors import CannotReach, Exit, Refused

FULL, NO_COORDINATOR, REBALANCING = 56, 15, 27


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Any], None]:
    """A broker that gives one answer to requests of a kind: as on a full disk."""
    ask = AIOKafkaClient.send
    given: dict[int, Any] = {}

    async def send(client: Any, node: Any, request: Any, **named: Any) -> Any:
        # What is sent may be wrapped, to choose its version.
        key = getattr(getattr(request, "request", request), "API_KEY", None)
        return given[key] if key in given else await ask(client, node, request, **named)

    monkeypatch.setattr(AIOKafkaClient, "send", send)
    monkeypatch.setattr("tools.cli.answers.GRACE_S", 0.1)
    monkeypatch.setattr("tools.cli.commands.consume.STOP_S", 0.1)
    monkeypatch.setattr("tools.cli.sending.STOP_S", 0.1)
    return given.__setitem__


def full_disk(topic: str) -> Any:
    return ProduceResponse_v8(topics=[(topic, [(0, FULL, -1, -1, 0, [], "no space left")])], throttle_time_ms=0)


def test_a_full_disk_is_told_and_not_that_nobody_answers(
    tidegate: Tidegate, topic: str, refusing: Callable[[int, Any], None]
) -> None:
    refusing(PRODUCE, full_disk(topic))
    ended = tidegate("produce", topic, "x", "--timeout", "1")
    assert ended.code == Exit.REFUSED
    assert "the broker answers KAFKA_STORAGE_ERROR: no space left; its disk is full" in ended.err


@pytest.mark.parametrize(
    "command",
    [
        ("consume", "--group", "g", "-e"),
        ("consume", "--group", "g"),
        ("produce", "--transactional-id", "z", "x"),
    ],
)
def test_a_coordinator_that_cannot_be_had_is_not_waited_for(
    tidegate: Tidegate, topic: str, refusing: Callable[[int, Any], None], command: tuple[str, ...]
) -> None:
    missing = FindCoordinatorResponse_v1(
        throttle_time_ms=0, error_code=NO_COORDINATOR, error_message="", coordinator_id=-1, host="", port=-1
    )
    refusing(10, missing)
    ended = tidegate(command[0], topic, *command[1:], "--timeout", "0.5")
    assert ended.code == Exit.REFUSED
    assert "within 0.5 s: the broker answers COORDINATOR_NOT_AVAILABLE" in ended.err


def test_a_topic_that_cannot_be_made_is_told_with_the_reason(
    tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = AIOKafkaConnection.send

    async def send(connection: Any, request: Any, *arguments: Any, **named: Any) -> Any:
        answer = await ask(connection, request, *arguments, **named)
        if getattr(answer, "API_KEY", None) == METADATA and hasattr(answer, "SCHEMA"):
            answer.topics = [(FULL, name, False, []) for _, name, *_ in answer.topics]
        return answer

    monkeypatch.setattr(AIOKafkaConnection, "send", send)
    ended = tidegate("produce", "cli-cannot-be-made", "x", "--timeout", "0.5")
    assert ended.code == Exit.REFUSED
    assert "topic 'cli-cannot-be-made' cannot be made: the broker answers KAFKA_STORAGE_ERROR" in ended.err


def test_an_error_is_forgotten_when_the_request_succeeds() -> None:
    answers = Answers()
    answers.note(PRODUCE, [Answer(FULL), Answer(0)])
    answers.note(METADATA, [Answer(NO_COORDINATOR)])
    assert answers.last == Answer(NO_COORDINATOR)
    answers.note(METADATA, [Answer(0)])
    assert answers.last == Answer(FULL)
    answers.note(PRODUCE, [Answer(REBALANCING)])
    assert answers.last is None, "what passes by itself is no reason"


def test_errors_are_found_however_deep_they_lie() -> None:
    from aiokafka.protocol.commit import OffsetCommitResponse_v2

    class Client:
        cluster = type("Cluster", (), {"update_metadata": None})()

        async def send(self, _node: Any, _request: Any) -> Any:
            return OffsetCommitResponse_v2(topics=[("t", [(0, 0), (1, FULL)])])

    client, answers = Client(), Answers()
    answers.listen(client)
    asyncio.run(client.send(0, object()))
    assert answers.last == Answer(FULL)


def test_who_has_waited_long_enough_says_what_was_answered() -> None:
    answers = Answers()
    assert isinstance(answers.given_up("it is not done", 3), CannotReach)
    answers.note(PRODUCE, [Answer(FULL, "no space left")])
    said = answers.given_up("it is not done", 3)
    assert isinstance(said, Refused)
    assert str(said) == "it is not done within 3 s: the broker answers KAFKA_STORAGE_ERROR: no space left"
