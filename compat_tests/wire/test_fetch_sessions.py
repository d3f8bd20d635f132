"""Fetch sessions (KIP-227): only what changed is asked for and answered."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import define
from kafka.protocol.consumer import FetchRequest

from compat_tests.wire.batches import build
from compat_tests.wire.connection import Wire
from compat_tests.wire.requests import (
    NO_TOPIC_ID,
    fetch,
    fetch_partition,
    produce,
    produced,
    topic_id,
)

UNKNOWN_TOPIC_OR_PARTITION, FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH = 3, 70, 71
FINAL_EPOCH = -1


@define
class Session:
    """A session under way: counts its own epochs."""

    wire: Wire
    topic: str
    identity: str
    version: int
    session_id: int = 0
    epoch: int = 0

    def ask(self, partitions: list[Any], forgotten: list[int] | None = None, **options: Any) -> Any:
        request = fetch(
            self.topic,
            partitions,
            version=self.version,
            identity=self.identity,
            session_id=self.session_id,
            session_epoch=options.pop("epoch", self.epoch),
            **options,
        )
        if forgotten:
            topic = FetchRequest.ForgottenTopic(topic=self.topic, topic_id=self.identity, partitions=forgotten)
            request.forgotten_topics_data = [topic]
        answer = self.wire.ask(request)
        self.epoch += 1
        return answer


@pytest.fixture(params=[7, 12, 13, 16])
def session(bootstrap: str, make_topic: Callable[..., str], request: pytest.FixtureRequest) -> Iterator[Session]:
    """A topic of three partitions with a record each, and a connection."""
    topic = make_topic(3)
    for partition in range(3):
        answer = produced(bootstrap, produce(topic, build([b"first"]), partition=partition))
        assert answer.error_code == 0
    identity = topic_id(bootstrap, topic) if request.param >= 13 else NO_TOPIC_ID
    with Wire(bootstrap) as wire:
        yield Session(wire, topic, identity, request.param)


def begin(session: Session) -> Any:
    answer = session.ask([fetch_partition(0, partition=partition) for partition in range(3)])
    assert answer.error_code == 0
    session.session_id = answer.session_id
    return answer


def answered(answer: Any) -> dict[int, int]:
    """The partitions in an answer with the number of bytes they bring."""
    assert answer.error_code == 0
    return {
        partition.partition_index: len(partition.records or b"")
        for topic in answer.responses
        for partition in topic.partitions
    }


def test_the_first_answer_is_full_and_bears_an_id(session: Session) -> None:
    answer = begin(session)
    assert answer.session_id > 0
    assert sorted(answered(answer)) == [0, 1, 2]


def test_an_increment_brings_what_changed_alone(session: Session, bootstrap: str) -> None:
    begin(session)
    at_end = [fetch_partition(1, partition=partition) for partition in range(3)]
    assert answered(session.ask(at_end)) == {}
    produced(bootstrap, produce(session.topic, build([b"second"]), partition=1))
    found = answered(session.ask([]))
    assert list(found) == [1]
    assert found[1] > 0


def test_what_is_not_consumed_comes_again(session: Session) -> None:
    begin(session)
    assert sorted(answered(session.ask([]))) == [0, 1, 2]


def test_an_empty_increment_waits(session: Session) -> None:
    begin(session)
    session.ask([fetch_partition(1, partition=partition) for partition in range(3)])
    began = time.monotonic()
    answer = session.ask([], max_wait_ms=400)
    assert 0.35 <= time.monotonic() - began < 5
    assert answered(answer) == {}
    assert answer.session_id == session.session_id


def test_a_forgotten_partition_comes_no_more(session: Session) -> None:
    begin(session)
    assert sorted(answered(session.ask([], forgotten=[0, 2]))) == [1]
    assert sorted(answered(session.ask([]))) == [1]


def test_a_partition_may_join_later(session: Session) -> None:
    session.session_id = session.ask([fetch_partition(1)]).session_id
    assert answered(session.ask([])) == {}
    assert list(answered(session.ask([fetch_partition(0, partition=2)]))) == [2]


def test_a_wrong_epoch(session: Session) -> None:
    begin(session)
    answer = session.ask([], epoch=9)
    assert (answer.error_code, answer.responses) == (INVALID_FETCH_SESSION_EPOCH, [])


def test_an_unknown_session(session: Session) -> None:
    session.session_id = 12_345
    answer = session.ask([], epoch=1)
    assert (answer.error_code, answer.responses) == (FETCH_SESSION_ID_NOT_FOUND, [])


def test_a_closed_session_is_unknown(session: Session) -> None:
    begin(session)
    assert session.ask([], epoch=FINAL_EPOCH).session_id == 0
    assert session.ask([], epoch=1).error_code == FETCH_SESSION_ID_NOT_FOUND


def test_a_failing_partition_is_told_every_time(session: Session) -> None:
    partitions = [fetch_partition(1), fetch_partition(0, partition=9)]
    session.session_id = session.ask(partitions).session_id
    answer = session.ask([])
    assert [partition.partition_index for partition in answer.responses[0].partitions] == [9]
    assert answer.responses[0].partitions[0].error_code == UNKNOWN_TOPIC_OR_PARTITION


def test_without_a_session_all_is_answered_always(session: Session) -> None:
    partitions = [fetch_partition(1, partition=partition) for partition in range(3)]
    answer = session.ask(partitions, epoch=FINAL_EPOCH)
    assert answer.session_id == 0
    assert answered(answer) == {0: 0, 1: 0, 2: 0}
