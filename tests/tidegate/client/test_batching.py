"""When batches are due, what fits into one, and that the records of a topic keep their order."""

from typing import Any

from tidegate.client.batching import BatchBounds, Batching, ReadyBatch
from tidegate.client.values import new_record


def batching(**bounds: Any) -> Batching[int]:
    return Batching(BatchBounds(**bounds))


def add(found: Batching[int], count: int, topic: str = "t", now: float = 0.0, size: int = 1) -> None:
    for number in range(count):
        found.add(topic, new_record(bytes(size)), number, now)


def taken(found: Batching[int], now: float = 0.0) -> list[ReadyBatch[int]]:
    return list(found.take_due(now))


def test_a_batch_is_due_when_its_first_record_has_waited() -> None:
    found = batching(linger_s=0.005)
    add(found, 3)
    assert not taken(found, 0.004)
    assert found.next_due() == 0.005
    (batch,) = taken(found, 0.005)
    assert len(batch.records) == 3


def test_a_batch_is_due_at_once_when_it_is_full_or_nothing_is_to_wait() -> None:
    found = batching(max_records=100)
    add(found, 100)
    assert len(taken(found)) == 1
    found = batching(linger_s=0.0)
    add(found, 1)
    assert len(taken(found)) == 1


def test_a_batch_ends_before_the_record_that_would_make_it_too_large() -> None:
    found = batching(max_bytes=64 * 1024)
    add(found, 3, size=30_000)
    (batch,) = taken(found)
    assert len(batch.records) == 2


def test_one_batch_of_a_topic_is_on_its_way_at_a_time_and_others_are_not_held_back() -> None:
    found = batching(max_records=1)
    add(found, 2, "a")
    add(found, 1, "b")
    first = taken(found)
    assert sorted(batch.topic for batch in first) == ["a", "b"]
    assert not taken(found)
    found.done(first[0])
    assert [batch.waiting for batch in taken(found)] == [[1]]


def test_flushing_has_everything_go_and_ends_when_all_is_done() -> None:
    found = batching(linger_s=1000.0)
    add(found, 3)
    assert not taken(found)
    found.flush()
    (batch,) = taken(found)
    found.done(batch)
    assert found.count == 0
    add(found, 1)
    assert not taken(found), "what comes later waits again"


def test_it_is_full_when_too_many_wait() -> None:
    found = batching(max_waiting=2)
    add(found, 2)
    assert found.is_full
    (batch,) = taken(found, 1.0)
    found.done(batch)
    assert not found.is_full
