"""`tide-delay` and `tide-deliver-at`, from every client to every client."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests import admin
from compat_tests.clients import CLIENTS, PYTHON_CLIENTS
from compat_tests.clients.base import CODECS, Record
from compat_tests.conftest import unique_name
from compat_tests.extensions.holding import batch, tide, tidegate_only, wall_ms, watching
from compat_tests.waiting import eventually
from compat_tests.wire.batches import parse
from compat_tests.wire.requests import fetched, produce, produced

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
LATE_MS = 20_000
"""Machines that run tests are slow at times; how late releases are is measured elsewhere."""


@pytest.mark.parametrize("name", CLIENTS)
def test_a_delayed_record_comes_when_it_is_due_and_not_before(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic()
    deliver_at_ms = int(wall_ms()) + 1200
    records = [
        Record(b"now", b"k"),
        Record(b"delayed", b"k", tide(delay=700)),
        Record(b"at a time", b"k", tide(deliver_at=deliver_at_ms)),
        Record(b"at once", b"k", tide(delay=0)),
    ]
    with watching(bootstrap, topic) as watcher:
        CLIENTS[name].produce(bootstrap, topic, records)
        assert 700 <= watcher.arrival(b"delayed").waited_ms < 700 + LATE_MS
        assert deliver_at_ms <= watcher.arrival(b"at a time").at_ms < deliver_at_ms + LATE_MS
        assert watcher.arrival(b"at once").waited_ms < LATE_MS
        eventually(lambda: len(watcher.arrivals), 4)
    assert watcher.values[0] == b"now"
    assert [arrival.record.offset for arrival in watcher.arrivals] == [0, 1, 2, 3]


@pytest.fixture(scope="module")
def released(bootstrap: str) -> tuple[str, int]:
    """A topic with a record that was held, and when that was made."""
    topic = unique_name("released")
    admin.create_topic(bootstrap, topic)
    made_ms = int(wall_ms()) - 60_000
    record = Record(b"value", b"key", (("before", b"1"), *tide(delay=1, schedule_id="a"), ("after", b"2")), made_ms)
    CLIENTS["confluent"].produce(bootstrap, topic, [record])
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"value")
    return topic, made_ms


@pytest.mark.parametrize("name", CLIENTS)
def test_a_released_record_is_what_was_sent_but_would_not_be_held_again(
    bootstrap: str, released: tuple[str, int], name: str
) -> None:
    topic, made_ms = released
    (found,) = CLIENTS[name].consume(bootstrap, topic, 1)
    assert found.content == (
        b"key",
        b"value",
        (("before", b"1"), ("__tide-delay", b"1"), ("__tide-schedule-id", b"a"), ("after", b"2")),
    )
    assert (found.offset, found.timestamp_ms) == (0, made_ms)


@pytest.mark.parametrize("codec", CODECS)
def test_of_a_mixed_batch_the_immediate_records_come_at_once(bootstrap: str, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    records = [Record(b"%d" % index, b"k", tide(delay=600) if index % 3 == 1 else ()) for index in range(9)]
    answer = produced(bootstrap, produce(topic, batch(records, codec)))
    assert (answer.error_code, answer.base_offset) == (0, -1)
    at_once = parse(bytes(fetched(bootstrap, topic).records))
    assert [value for each in at_once for value in each.values] == [b"0", b"2", b"3", b"5", b"6", b"8"]
    produced(bootstrap, produce(topic, batch([Record(b"later", b"k")])))
    with watching(bootstrap, topic) as watcher:
        assert watcher.arrival(b"7").waited_ms >= 600
    assert watcher.values == [b"0", b"2", b"3", b"5", b"6", b"8", b"later", b"1", b"4", b"7"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", PYTHON_CLIENTS)
def test_every_codec_of_every_client(bootstrap: str, make_topic: MakeTopic, name: str, codec: str) -> None:
    topic = make_topic()
    records = [Record(b"%d" % index * 200, b"k", tide(delay=150) if index % 2 else ()) for index in range(10)]
    CLIENTS[name].produce(bootstrap, topic, records, codec)
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"9" * 200)
    # A client may have sent more than one batch: only what is not held keeps its order for certain.
    assert [value for value in watcher.values if value in {r.value for r in records[::2]}] == [
        record.value for record in records[::2]
    ]
    assert sorted(value or b"" for value in watcher.values) == sorted(record.value or b"" for record in records)
    held = [arrival for arrival in watcher.arrivals if arrival.record.headers]
    assert len(held) == 5
    assert min(arrival.waited_ms for arrival in held) >= 150


def test_a_large_compressed_batch_of_held_records(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    records = [
        Record(b"%06d" % index + index.to_bytes(4, "big") * 50, b"k", tide(delay=1500 - index)) for index in range(1000)
    ]
    with watching(bootstrap, topic) as watcher, ThreadPoolExecutor(4) as pool:
        for answer in pool.map(
            lambda part: produced(bootstrap, produce(topic, batch(part, "lz4"))),
            [records[start : start + 250] for start in range(0, 1000, 250)],
        ):
            assert answer.error_code == 0
        eventually(lambda: len(watcher.arrivals), 1000, seconds=30)
    assert {arrival.record.value for arrival in watcher.arrivals} == {record.value for record in records}


def test_records_due_at_the_same_instant_keep_their_order(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    headers = tide(deliver_at=int(wall_ms()) + 800)
    wanted = [b"%d" % number for number in range(300)]
    for start in range(0, 300, 100):
        records = [Record(value, b"k", headers) for value in wanted[start : start + 100]]
        assert produced(bootstrap, produce(topic, batch(records))).error_code == 0
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(wanted[-1])
    assert watcher.values == wanted


def test_what_falls_due_first_comes_first(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    records = [Record(b"%d" % delay, b"k", tide(delay=delay)) for delay in (900, 300, 700, 100, 500)]
    assert produced(bootstrap, produce(topic, batch(records))).error_code == 0
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"900")
    assert watcher.values == [b"100", b"300", b"500", b"700", b"900"]
