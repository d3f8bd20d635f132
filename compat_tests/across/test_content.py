"""What a record holds comes back as it was: headers, nulls, empty and large values."""

from collections.abc import Callable

import pytest

from compat_tests.clients import CLIENTS, PYTHON_CLIENTS, Record

MakeTopic = Callable[..., str]
# The largest value whose batch still fits into the default max.message.bytes, for every client.
LARGE = 1_048_588 - 200

ODD_RECORDS = [
    Record(b"value", b"key"),
    Record(b"no key"),
    Record(b"empty key", b""),
    Record(None, b"no value"),
    Record(b"", b"empty value"),
    Record(b"headers", b"k", (("one", b"1"), ("two", b"2"))),
    Record(b"header twice", b"k", (("same", b"1"), ("same", b"2"), ("same", b"1"))),
    Record(b"null header", b"k", (("null", None), ("empty", b""))),
    Record(b"odd header", b"k", (("näme \u2603", bytes(range(256))),)),
    Record(bytes(range(256)) * 4, bytes(range(255, -1, -1))),
]
TEXT_RECORDS = [
    Record(b"value", b"key"),
    Record(b"no key"),
    Record(None, b"no value"),
    Record(b"headers", b"k", (("one", b"1"), ("two", b"2"))),
    Record(b"header twice", b"k", (("same", b"1"), ("same", b"2"))),
]


def content(records: list[Record]) -> list[tuple[object, ...]]:
    return [(record.key, record.value, record.headers) for record in records]


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("producer", PYTHON_CLIENTS)
def test_odd_records(bootstrap: str, make_topic: MakeTopic, producer: str, codec: str) -> None:
    topic = make_topic()
    records = ODD_RECORDS
    if producer == "kafkapython":  # it reads null headers, but sends none
        records = [record for record in records if all(value is not None for _, value in record.headers)]
    CLIENTS[producer].produce(bootstrap, topic, records, codec)
    for name, client in PYTHON_CLIENTS.items():
        found = client.consume(bootstrap, topic, len(records))
        assert [record.content for record in found] == content(records), f"as read by {name}"


def test_a_record_of_nothing(bootstrap: str, make_topic: MakeTopic) -> None:
    """Neither key nor value: librdkafka alone sends such a one."""
    topic = make_topic()
    CLIENTS["confluent"].produce(bootstrap, topic, [Record(None)])
    for name, client in PYTHON_CLIENTS.items():
        found = client.consume(bootstrap, topic, 1)
        assert [record.content for record in found] == [(None, None, ())], f"as read by {name}"


def test_records_of_text(bootstrap: str, make_topic: MakeTopic) -> None:
    """What kcat and the Java console can say too, among all of them."""
    topic = make_topic()
    expected = []
    for client in CLIENTS.values():
        client.produce(bootstrap, topic, TEXT_RECORDS)
        expected += content(TEXT_RECORDS)
    for name, client in CLIENTS.items():
        found = client.consume(bootstrap, topic, len(expected))
        assert [record.content for record in found] == expected, f"as read by {name}"


@pytest.mark.parametrize("producer", ["confluent", "kafkapython", "aio"])
def test_timestamps(bootstrap: str, make_topic: MakeTopic, producer: str) -> None:
    topic = make_topic()
    stamps = [1_600_000_000_000, 1_600_000_000_007, 1_500_000_000_000]
    records = [Record(b"x", timestamp_ms=stamp) for stamp in stamps]
    CLIENTS[producer].produce(bootstrap, topic, records)
    readers = CLIENTS if producer == "confluent" else PYTHON_CLIENTS
    for name, client in readers.items():
        found = [record.timestamp_ms for record in client.consume(bootstrap, topic, 3)]
        assert found == stamps, f"as read by {name}"


@pytest.mark.parametrize("producer", PYTHON_CLIENTS)
def test_large_records(bootstrap: str, make_topic: MakeTopic, producer: str) -> None:
    topic = make_topic()
    values = [bytes([number]) * LARGE for number in range(4)]
    CLIENTS[producer].produce(bootstrap, topic, [Record(value) for value in values])
    for name, client in PYTHON_CLIENTS.items():
        found = client.consume(bootstrap, topic, len(values))
        assert [record.value for record in found] == values, f"as read by {name}"


@pytest.mark.parametrize("reader", ["confluent", "kafkapython", "aio", "kcat", "java"])
def test_every_offset_is_a_place_to_begin(bootstrap: str, make_topic: MakeTopic, reader: str) -> None:
    topic = make_topic()
    CLIENTS["confluent"].produce(bootstrap, topic, [Record(f"{number}".encode()) for number in range(30)])
    offsets = [17] if reader == "java" else [0, 1, 13, 28, 29]
    for offset in offsets:
        found = CLIENTS[reader].consume(bootstrap, topic, 30 - offset, offset=offset)
        expected = [(number, f"{number}".encode()) for number in range(offset, 30)]
        assert [(record.offset, record.value) for record in found] == expected
