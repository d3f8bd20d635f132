"""Members with threads: a stream that breaks is joined again."""

from typing import Any

import pytest

from tests.tidegate.client.fakes import ABORTED, GONE, REFUSED, FakePool, played
from tidegate.client.blocking_members import GroupReader, ShareReader
from tidegate.client.messages.consume_pb2 import GroupResponse, ShareResponse
from tidegate.client.retrying import ClientError
from tidegate.client.values import RecordRefused

JOINED = GroupResponse(joined={"member_id": "m"})
RECORDS = GroupResponse(
    polled={"partitions": [{"topic": "t", "partition": 1, "records": [{"offset": 7, "value": b"v"}]}]}
)


class _Stream:
    def __init__(self, entries: list[Any], questions: Any) -> None:
        self._entries, self._questions = played(entries), questions

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def is_active(self) -> bool:
        return False


def fake(*streams: list[Any]) -> FakePool:
    def made(pool: FakePool, _: str, script: list[Any]) -> Any:
        def call(questions: Any, **_: Any) -> _Stream:
            pool.asked.append(next(questions))
            return _Stream(script.pop(0), questions)

        return call

    return FakePool(made, *streams)


def member(pool: FakePool) -> GroupReader:
    return GroupReader(pool, "g", ("t",), "earliest", 5000, 30_000, 10.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("failure", [GONE, ABORTED])
def test_a_member_joins_again_when_its_stream_breaks_or_its_group_has_forgotten_it(failure: Exception) -> None:
    pool = fake([JOINED, failure], [failure], [JOINED, RECORDS])
    (record,) = member(pool).poll()
    assert (record.topic, record.partition, record.offset, record.value) == ("t", 1, 7, b"v")
    assert [request.join.group for request in pool.asked] == ["g"] * 3


def test_a_refusal_is_told_at_once() -> None:
    with pytest.raises(ClientError, match="TopicAuthorizationFailed"):
        member(fake([REFUSED])).poll()


def test_a_commit_that_is_refused_is_told() -> None:
    answer = GroupResponse(committed={"refusal": {"error": "IllegalGeneration", "message": "why"}})
    with pytest.raises(ClientError, match="IllegalGeneration: why"):
        member(fake([JOINED, answer])).commit()


def test_receipts_that_do_not_count_are_told() -> None:
    lent = {"records": [{"topic": "t", "record": {"offset": 1}, "receipt": "r", "delivery_count": 2, "lock_ms": 500}]}
    refused = {"refused": [{"receipt": "r", "refusal": {"error": "InvalidRecordState", "message": "late"}}]}
    pool = fake([ShareResponse(joined={}), ShareResponse(lent=lent), ShareResponse(settled=refused)])
    worker = ShareReader(pool, "g", ("t",), 30_000, 10.0)  # type: ignore[arg-type]
    (lease,) = worker.poll()
    assert (lease.delivery_count, lease.lock_s) == (2, 0.5)
    with pytest.raises(RecordRefused, match="late"):
        worker.ack(lease)
