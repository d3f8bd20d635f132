"""The client with threads: tries again what passes, tells what does not, reads on from where it was."""

from typing import Any

import pytest

from tests.tidegate.client.fakes import GONE, REFUSED, FakePool, played
from tidegate.client.blocking import Client
from tidegate.client.messages import admin_pb2
from tidegate.client.messages.records_pb2 import PartitionRecords, Record
from tidegate.client.retrying import ClientError


class _Stream:
    def __init__(self, entries: list[Any]) -> None:
        self._entries = played(entries)
        self.cancelled = False

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def cancel(self) -> None:
        self.cancelled = True


def made(pool: FakePool, name: str, script: list[Any]) -> Any:
    def call(request: Any, **options: Any) -> Any:
        assert options["metadata"] == pool.metadata
        pool.asked.append(request)
        entry = script.pop(0)
        if isinstance(entry, list):
            return _Stream(entry)
        if isinstance(entry, Exception):
            raise entry
        return entry

    return call


def client(*script: Any, deadline_s: float = 30.0) -> tuple[Client, FakePool]:
    pool, found = FakePool(made, *script), Client("unused", deadline_s=deadline_s)
    found.close()
    found._pool = pool  # type: ignore[assignment]
    return found, pool


def portion(*offsets: int) -> PartitionRecords:
    records = [Record(offset=offset, value=b"%d" % offset) for offset in offsets]
    return PartitionRecords(topic="t", partition=0, records=records, next_offset=offsets[-1] + 1)


DESCRIBED = admin_pb2.TopicDescription(
    name="t", partitions=[admin_pb2.PartitionDescription(partition=0, start_offset=3, end_offset=9)]
)


def test_what_passes_is_tried_again() -> None:
    found, pool = client(GONE, GONE, admin_pb2.ListTopicsResponse(topics=[{"name": "t", "partitions": 2}]))
    assert found.topics() == {"t": 2}
    assert len(pool.asked) == 3


def test_what_does_not_pass_is_told_at_once_and_what_does_not_pass_in_time_too() -> None:
    found, pool = client(REFUSED)
    with pytest.raises(ClientError, match="TopicAuthorizationFailed"):
        found.topics()
    assert len(pool.asked) == 1
    found, pool = client(*[GONE] * 100, deadline_s=0.2)
    with pytest.raises(ClientError, match="words"):
        found.topics()
    assert 1 < len(pool.asked) < 20


def test_a_stream_that_breaks_is_read_on_from_where_it_was() -> None:
    found, pool = client(DESCRIBED, [portion(3, 4), GONE], [portion(5)])
    assert [record.offset for record in found.read("t")] == [3, 4, 5]
    starts = [request.partitions[0].start.offset for request in pool.asked[1:]]
    assert starts == [3, 5]


@pytest.mark.parametrize(("start", "offset"), [("earliest", 3), ("latest", 9), (7, 7)])
def test_reading_begins_where_it_is_told(start: Any, offset: int) -> None:
    found, pool = client(DESCRIBED, [])
    assert list(found.read("t", start=start)) == []
    assert pool.asked[1].partitions[0].start.offset == offset


def test_a_start_that_is_none_is_refused() -> None:
    found, _ = client(DESCRIBED)
    with pytest.raises(ValueError, match="'earliest' or 'latest'"):
        list(found.read("t", start="middle"))  # type: ignore[arg-type]
