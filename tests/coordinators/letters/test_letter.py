"""What a dead letter says of itself, and the headers of what is sent in its place."""

import pytest
from attrs import frozen

from coordinators.letters.letter import COUNT, RUN, SOURCE, TIME, DeadLetter, is_letters_topic, resent_headers

Header = tuple[str, bytes | None]
TOLD = "__dlq.errors."


@frozen
class Lying:
    """A record where it lies."""

    headers: tuple[Header, ...] = ()
    topic: str = "orders.dlq"
    partition: int = 2
    offset: int = 7
    timestamp_ms: int = 1000
    key: bytes | None = b"k"
    value: bytes | None = b"v"


@pytest.mark.parametrize(
    ("topic", "headers", "origin"),
    [
        ("orders.dlq", (), "orders"),
        ("dlq-orders", (), "orders"),
        ("morgue", (), None),
        ("morgue", ((TOLD + "topic", b"bills"),), "bills"),
        ("orders.dlq", (("kafka_dlt-original-topic", b"bills"),), "bills"),
    ],
)
def test_it_says_where_it_came_from_or_its_topic_does(
    topic: str, headers: tuple[Header, ...], origin: str | None
) -> None:
    letter = DeadLetter(Lying(headers, topic))
    assert (letter.origin, is_letters_topic(topic)) == (origin, topic != "morgue")


def test_of_what_is_said_twice_the_last_counts_and_nonsense_is_no_number() -> None:
    headers: tuple[Header, ...] = ((TOLD + "offset", b"1"), (TOLD + "offset", b"5"), (TOLD + "partition", b"-1"))
    letter = DeadLetter(Lying(headers))
    assert (letter.number("origin_offset"), letter.number("origin_partition")) == (5, None)
    assert (letter.count(TOLD + "offset"), letter.count(TOLD + "partition"), letter.count("x")) == (5, None, None)


def test_what_is_sent_again_carries_its_own_headers_and_says_whence_it_comes() -> None:
    own: tuple[Header, ...] = (
        ("own", b"kept"),
        ("tide-priority", b"0"),
        ("tide-ttl", b"5"),
        (TOLD + "message", b"bad"),
    )
    sent = dict(resent_headers(DeadLetter(Lying(own)), "run"))
    assert sent == {
        "own": b"kept",
        "tide-priority": b"0",
        # What it asked for has had its time.
        "__tide-ttl": b"5",
        "__redriven.message": b"bad",
        SOURCE: b"orders.dlq-2@7",
        RUN: b"run",
        COUNT: b"1",
        TIME: b"1000",
    }
    again = dict(resent_headers(DeadLetter(Lying(tuple(sent.items()), offset=9, timestamp_ms=2000)), "next"))
    assert (again[COUNT], again[TIME], again[RUN], again[SOURCE]) == (b"2", b"1000", b"next", b"orders.dlq-2@9")


@pytest.mark.parametrize(("key", "offset", "is_bare"), [(None, b"3", True), (b"k", b"3", False), (None, b"", False)])
def test_one_that_only_says_where_its_record_lies_is_bare(key: bytes | None, offset: bytes, is_bare: bool) -> None:
    assert DeadLetter(Lying(((TOLD + "offset", offset),), key=key, value=None)).is_bare is is_bare
