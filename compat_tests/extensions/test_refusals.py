"""What cannot be obeyed is refused whole, naming the record and the reason; nothing of the batch is stored."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from compat_tests.clients import confluent
from compat_tests.clients.base import CODECS, Header, Record
from compat_tests.extensions.holding import (
    batch,
    end_offset,
    java_line,
    scripted_java,
    tide,
    tidegate_only,
    wall_ms,
    watching,
)
from compat_tests.waiting import eventually
from compat_tests.wire.requests import produce, produced, topic_id

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
MESSAGE_TOO_LARGE, POLICY_VIOLATION, INVALID_RECORD = 10, 44, 87
YEAR_MS = 365 * 24 * 3600 * 1000

BAD: dict[str, tuple[tuple[Header, ...], str]] = {
    "no-number": (tide(delay="soon"), "tide-delay"),
    "empty": (tide(delay=""), "tide-delay"),
    "null": ((("tide-delay", None),), "tide-delay"),
    "fraction": (tide(delay="1.5"), "tide-delay"),
    "other-digits": (tide(delay="\u0665"), "tide-delay"),
    "negative": (tide(delay=-1), "tide-delay"),
    "too-many-digits": (tide(delay="9" * 30), "tide-delay"),
    "beyond-the-maximum": (tide(delay=YEAR_MS + 1), "delay.max.ms"),
    "time-no-number": (tide(deliver_at="tomorrow"), "tide-deliver-at"),
    "time-negative": (tide(deliver_at=-5), "tide-deliver-at"),
    "time-beyond-the-maximum": (tide(deliver_at=int(wall_ms()) + 2 * YEAR_MS), "delay.max.ms"),
    "both": (tide(delay=5, deliver_at=int(wall_ms()) + 1000), "exclude each other"),
    "unknown-priority": (tide(priority="urgent"), "tide-priority"),
    "priority-out-of-range": (tide(priority=5), "tide-priority"),
    "twice": ((*tide(delay=5), *tide(delay=5)), "twice"),
    "unknown-header": (tide(dealy=5), "tide-dealy"),
    "the-prefix-alone": ((("tide-", b"5"),), "tide-"),
    "long-id": (tide(delay=5, schedule_id="x" * 250), "249"),
    "empty-id": (tide(delay=5, schedule_id=""), "tide-schedule-id"),
    "cancel-with-delay": (tide(cancel="a", delay=5), "tide-cancel"),
    "ttl-no-number": (tide(ttl="forever"), "tide-ttl"),
    "expiry-negative": (tide(expires_at=-1), "tide-expires-at"),
    "both-expiries": (tide(ttl=5, expires_at=5), "exclude each other"),
}


def is_untouched(bootstrap: str, topic: str) -> bool:
    """Whether nothing is stored: what comes now is the first."""
    answer = produced(bootstrap, produce(topic, batch([Record(b"next", b"k")])))
    return (answer.error_code, answer.base_offset) == (0, 0)


def refusal(bootstrap: str, topic: str, bad: Record, **options: Any) -> Any:
    """The answer to a batch with that record in the middle."""
    records = [Record(b"good", b"k"), bad, Record(b"held", b"k", tide(delay=1))]
    return produced(bootstrap, produce(topic, batch(records), **options))


@pytest.mark.parametrize("case", BAD)
def test_the_answer_names_the_record_and_the_reason(bootstrap: str, make_topic: MakeTopic, case: str) -> None:
    topic = make_topic()
    headers, reason = BAD[case]
    answer = refusal(bootstrap, topic, Record(b"bad", b"k", headers))
    assert (answer.error_code, answer.base_offset) == (INVALID_RECORD, -1)
    ((index, message),) = [(each.batch_index, each.batch_index_error_message) for each in answer.record_errors]
    assert index == 1
    assert reason in message
    assert reason in answer.error_message
    assert is_untouched(bootstrap, topic)


@pytest.mark.parametrize("headers", [tide(delay=5, schedule_id="a"), tide(cancel="a")])
def test_an_id_needs_a_key(bootstrap: str, make_topic: MakeTopic, headers: tuple[Header, ...]) -> None:
    topic = make_topic()
    answer = refusal(bootstrap, topic, Record(b"bad", None, headers))
    assert answer.error_code == INVALID_RECORD
    assert "key" in answer.record_errors[0].batch_index_error_message
    assert is_untouched(bootstrap, topic)


def test_every_bad_record_of_a_batch_is_named(bootstrap: str, make_topic: MakeTopic) -> None:
    records = [Record(b"%d" % n, b"k", tide(delay="x") if n % 2 else tide(delay=1)) for n in range(6)]
    answer = produced(bootstrap, produce(make_topic(), batch(records)))
    assert [error.batch_index for error in answer.record_errors] == [1, 3, 5]


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_refuses(bootstrap: str, make_topic: MakeTopic, version: int) -> None:
    """The reasons came with version 8 (KIP-467)."""
    topic = make_topic()
    bad = Record(b"bad", b"k", tide(delay="x"))
    answer = refusal(bootstrap, topic, bad, version=version, identity=topic_id(bootstrap, topic))
    assert answer.error_code == INVALID_RECORD
    if version >= 8:
        assert [error.batch_index for error in answer.record_errors] == [1]
    assert is_untouched(bootstrap, topic)


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_batches_are_looked_into(bootstrap: str, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    records = [Record(b"good" * 1000, b"k"), Record(b"bad", b"k", tide(delay="x"))]
    answer = produced(bootstrap, produce(topic, batch(records, codec)))
    assert (answer.error_code, answer.record_errors[0].batch_index) == (INVALID_RECORD, 1)
    assert is_untouched(bootstrap, topic)


def test_priority_in_a_compacted_topic(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(cleanup_policy="compact")
    answer = refusal(bootstrap, topic, Record(b"bad", b"k", tide(priority="high")))
    assert (answer.error_code, answer.record_errors[0].batch_index) == (INVALID_RECORD, 1)
    assert "compact" in answer.record_errors[0].batch_index_error_message
    assert is_untouched(bootstrap, topic)


def test_a_topics_own_maximum(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(delay_max_ms=1000)
    assert refusal(bootstrap, topic, Record(b"bad", b"k", tide(delay=1001))).error_code == INVALID_RECORD
    assert is_untouched(bootstrap, topic)
    assert refusal(bootstrap, topic, Record(b"good", b"k", tide(delay=1000))).error_code == 0


def test_confluent_is_told(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for idempotent in (False, True):
        producer = confluent.producer_for(bootstrap, enable_idempotence=idempotent, linger_ms=200, log_level=0)
        records = [Record(b"good", b"k"), Record(b"bad", b"k", tide(delay="x"))]
        reports = confluent.send(producer, topic, records)
        assert producer.flush(30) == 0
        assert [error.code() for error, _ in reports] == [KafkaError.INVALID_RECORD] * 2
    assert is_untouched(bootstrap, topic)


def test_java_is_told_the_reason(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    bad = Record(b"bad", b"k", tide(priority="urgent"))
    first, second, third = scripted_java(
        bootstrap, topic, [java_line(Record(b"good", b"k")), java_line(bad), java_line(Record(b"held", b"k"))]
    )
    assert second.startswith("InvalidRecordException: tide-priority must be one of critical, high")
    assert first == third
    assert first.startswith("KafkaException: Failed to append record because it was part of a batch")
    assert is_untouched(bootstrap, topic)


def test_what_may_wait_is_bounded(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(stage_max_bytes=5000)
    held = batch([Record(b"." * 1000, b"k", tide(delay=1500, schedule_id="a"))])
    others = [batch([Record(b"." * 1000, b"k", tide(delay=1500))]) for _ in range(8)]
    codes = [produced(bootstrap, produce(topic, each)).error_code for each in (held, *others)]
    assert codes[:4] == [0] * 4
    assert codes[-4:] == [POLICY_VIOLATION] * 4
    refused = produced(bootstrap, produce(topic, others[0]))
    assert "stage.max.bytes" in refused.error_message
    # Whoever does not have to wait is let in, and once there is room so is everybody else.
    assert produced(bootstrap, produce(topic, batch([Record(b"plain")]))).base_offset == 0
    eventually(lambda: produced(bootstrap, produce(topic, others[0])).error_code, 0)


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_a_compression_bomb_is_refused(bootstrap: str, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic(extensions_max_decompressed_bytes=1 << 20)
    bomb = batch([Record(b"\0" * (16 << 20), b"k", tide(delay=1))], codec)
    assert len(bomb) < 1 << 20
    began = time.monotonic()
    answer = produced(bootstrap, produce(topic, bomb))
    assert answer.error_code == MESSAGE_TOO_LARGE, answer
    assert "extensions.max.decompressed.bytes" in answer.error_message
    assert time.monotonic() - began < 10
    assert is_untouched(bootstrap, topic)


def test_a_refusal_leaves_what_waits_alone(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    held = batch([Record(b"held", b"k", tide(delay=500, schedule_id="a"))])
    assert produced(bootstrap, produce(topic, held)).error_code == 0
    cancel_and_bad = [Record(b"", b"k", tide(cancel="a")), Record(b"", b"k", tide(delay="x"))]
    assert produced(bootstrap, produce(topic, batch(cancel_and_bad))).error_code == INVALID_RECORD
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"held")
    assert end_offset(bootstrap, topic) == 1
