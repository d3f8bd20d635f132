"""The producer with threads: batches in order, tried again, each record with its outcome."""

from concurrent.futures import Future
from typing import Any

import pytest

from tests.tidegate.client.fakes import GONE, REFUSED, FakePool
from tidegate.client.batching import BatchBounds
from tidegate.client.blocking_producer import RecordProducer
from tidegate.client.messages.produce_pb2 import SendRequest, SendResponse
from tidegate.client.retrying import ClientError
from tidegate.client.values import RecordRefused


class _Call:
    def __init__(self, pool: FakePool, script: list[Any]) -> None:
        self._pool, self._script = pool, script

    def future(self, request: SendRequest, **_: Any) -> Future[Any]:
        self._pool.asked.append(request)
        done: Future[Any] = Future()
        entry = self._script.pop(0) if self._script else None
        if isinstance(entry, Exception):
            done.set_exception(entry)
        else:
            done.set_result(entry or taken(request))
        return done


def taken(request: SendRequest) -> SendResponse:
    count = len(request.records)
    return SendResponse(partitions=[0] * count, offsets=range(count), timestamps_ms=[1] * count)


def producer(pool: FakePool, deadline_s: float = 30.0, **bounds: Any) -> RecordProducer:
    return RecordProducer(pool, BatchBounds(**bounds), "all", "hash", deadline_s)  # type: ignore[arg-type]


def fake(*script: Any) -> FakePool:
    return FakePool(lambda pool, _, left: _Call(pool, left), *script)


def test_a_batch_is_tried_again_before_the_next_of_its_topic_goes() -> None:
    pool = fake(GONE, GONE)
    with producer(pool, max_records=2, linger_s=0.001) as made:
        futures = [made.send("t", b"%d" % number) for number in range(4)]
        assert made.flush(10)
        assert [future.result().offset for future in futures] == [0, 1, 0, 1]
    values = [[record.value for record in request.records] for request in pool.asked]
    assert values == [[b"0", b"1"]] * 3 + [[b"2", b"3"]]


def test_what_fails_for_good_is_told_to_every_record_of_the_batch() -> None:
    with producer(fake(REFUSED), linger_s=0.001) as made:
        futures = [made.send("t", b"x") for _ in range(2)]
        assert made.flush(10)
        for future in futures:
            with pytest.raises(ClientError, match="TopicAuthorizationFailed"):
                future.result()


def test_a_record_that_is_refused_has_its_own_outcome() -> None:
    refused = [{"index": 1, "refusal": {"error": "InvalidRecord", "message": "why"}}]
    answer = SendResponse(partitions=[0, -1], offsets=[5, -1], timestamps_ms=[1, -1], refused=refused)
    with producer(fake(answer), linger_s=0.001) as made:
        right, wrong = made.send("t", b"x"), made.send("t", b"y")
        assert right.result(10).offset == 5
        with pytest.raises(RecordRefused, match="InvalidRecord: why"):
            wrong.result(10)


def test_what_takes_too_long_fails() -> None:
    with producer(fake(*[GONE] * 100), deadline_s=0.2, linger_s=0.0) as made:
        future = made.send("t", b"x")
        with pytest.raises(ClientError, match="words"):
            future.result(10)


def test_a_closed_producer_takes_nothing_and_unknown_ways_are_refused() -> None:
    made = producer(fake())
    made.close()
    with pytest.raises(RuntimeError, match="closed"):
        made.send("t", b"x")
    with pytest.raises(ValueError, match="all, leader, none"):
        RecordProducer(fake(), BatchBounds(), "some", "hash", 1.0)  # type: ignore[arg-type]
