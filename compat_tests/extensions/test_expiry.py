"""Records that expire before anybody reads them: never delivered, and no client stumbles over the holes they leave."""

import threading
import time
from collections.abc import Callable

import confluent_kafka
import pytest

from compat_tests.clients import CLIENTS
from compat_tests.clients.base import Record
from compat_tests.clients.kcat import kcat
from compat_tests.extensions.holding import (
    batch,
    end_offset,
    fetched_bytes,
    tide,
    tidegate_only,
    wall_ms,
    watching,
)
from compat_tests.wire.batches import parse
from compat_tests.wire.requests import produce, produced

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
EXPIRING = [Record(b"expires %d" % number, b"k", tide(ttl=1)) for number in range(5)]

BEGUN_AFTER_S = {"confluent": 0.5, "kafkapython": 0.5, "aio": 0.5, "kcat": 0.5, "java": 2.5}
"""By then a client has most likely met the holes and waits for more; if it has not, it finds both."""


def send(bootstrap: str, topic: str, *records: Record) -> None:
    answer = produced(bootstrap, produce(topic, batch(records)))
    assert answer.error_code == 0, answer.error_message


def send_and_wait(bootstrap: str, topic: str, *records: Record) -> None:
    """Until every one of them has had its millisecond."""
    send(bootstrap, topic, *records)
    time.sleep(0.05)


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_reads_past_what_has_expired(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic(priority_enable="true")
    send_and_wait(bootstrap, topic, *EXPIRING, Record(b"first"), *EXPIRING, Record(b"second"), *EXPIRING)
    assert end_offset(bootstrap, topic) == 17
    found = CLIENTS[name].consume(bootstrap, topic, 2)
    assert [(record.offset, record.value) for record in found] == [(5, b"first"), (11, b"second")]
    # From inside a hole, as after a restart.
    (second,) = CLIENTS[name].consume(bootstrap, topic, 1, offset=8)
    assert second.offset == 11


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_goes_on_after_an_answer_of_nothing_but_holes(
    bootstrap: str, make_topic: MakeTopic, name: str
) -> None:
    topic = make_topic(priority_enable="true")
    send_and_wait(bootstrap, topic, *EXPIRING)
    holes = parse(fetched_bytes(bootstrap, topic, 0))
    assert not any(value for each in holes for value in each.values)
    assert (holes[0].base_offset, holes[-1].last_offset) == (0, 4)
    found: list[tuple[int, bytes | None]] = []
    reader = threading.Thread(target=lambda: found.append(_read_one(name, bootstrap, topic)), daemon=True)
    reader.start()
    time.sleep(BEGUN_AFTER_S[name])
    send(bootstrap, topic, Record(b"later"))
    reader.join(60)
    assert found == [(5, b"later")]


def test_no_row_of_holes_looks_like_a_message_that_is_too_large(bootstrap: str, make_topic: MakeTopic) -> None:
    """librdkafka asks for twice as much after every answer without a message, and past a GiB tells its application."""
    topic = make_topic(priority_enable="true", priority_fetch_max_records=1)
    send_and_wait(bootstrap, topic, *EXPIRING * 8)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        assert consumer.poll(1.5) is None, "nothing but holes, and no error"
        send(bootstrap, topic, Record(b"later"))
        found = consumer.poll(20)
        assert found is not None
        assert (found.error(), found.offset(), found.value()) == (None, 40, b"later")
    finally:
        consumer.close()


def _read_one(name: str, bootstrap: str, topic: str) -> tuple[int, bytes | None]:
    if name == "kcat":
        # The client of the other scenarios would end at the end of the partition.
        where = ("-t", topic, "-p", "0", "-o", "beginning", "-c", "1")
        offset, value = kcat(bootstrap, "-C", "-q", *where, "-f", "%o %s").split()
        return int(offset), value
    (found,) = CLIENTS[name].consume(bootstrap, topic, 1)
    return found.offset, found.value


def test_a_held_record_that_expires_before_it_is_due_leaves_nothing(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    expires_at = tide(delay=600, expires_at=int(wall_ms()) + 100)
    send(bootstrap, topic, Record(b"expires", b"k", expires_at), Record(b"held", b"k", tide(delay=700)))
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"held")
    assert watcher.values == [b"held"]
    assert end_offset(bootstrap, topic) == 1


def test_a_time_to_live_counts_from_when_a_record_could_first_be_read(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    with watching(bootstrap, topic) as watcher:
        send(bootstrap, topic, Record(b"lives", b"k", tide(delay=400, ttl=20_000)))
        assert watcher.arrival(b"lives").waited_ms >= 400


def test_a_topics_own_time_to_live(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true", message_ttl_ms=1)
    send_and_wait(bootstrap, topic, Record(b"a"), Record(b"b"), Record(b"c", b"k", tide(ttl=60_000)))
    (found,) = CLIENTS["confluent"].consume(bootstrap, topic, 1)
    assert (found.offset, found.value) == (2, b"c")


def test_expired_records_go_to_the_dead_letters_where_that_is_asked_for(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true", expiry_policy="dlq")
    send_and_wait(bootstrap, topic, *EXPIRING[:2], Record(b"lives"))
    assert [record.value for record in CLIENTS["confluent"].consume(bootstrap, topic, 1)] == [b"lives"]
    with watching(bootstrap, f"{topic}.dlq") as watcher:
        watcher.arrival(b"expires 1")
    assert watcher.values == [b"expires 0", b"expires 1"]
    assert {arrival.record.key for arrival in watcher.arrivals} == {b"k"}
