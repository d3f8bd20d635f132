"""What letters say, which are meant, what is sent in their place, and lists of them."""

import time
from pathlib import Path
from typing import Any

import pytest

from tools.cli.dead_letters import (
    DeadLetter,
    LetterFilter,
    Listed,
    Transform,
    expression,
    is_letters_topic,
    read_list,
    transform,
)
from tools.cli.errors import CliError, UsageMistake
from tools.cli.formats import Record

SHARE = (
    ("__dlq.errors.topic", b"orders"),
    ("__dlq.errors.partition", b"2"),
    ("__dlq.errors.offset", b"17"),
    ("__dlq.errors.group", b"mail"),
    ("__dlq.errors.delivery.count", b"5"),
    ("__dlq.errors.message", b"Offset rejected by client."),
)


def letter(*headers: tuple[str, bytes | None], topic: str = "orders.dlq", **named: Any) -> DeadLetter:
    fields = {"timestamp_ms": 1_000, "key": b"k", "value": b"v", **named}
    return DeadLetter(Record(topic, 1, 7, headers=headers, **fields))


def test_what_a_letter_says_of_itself() -> None:
    row = letter(*SHARE).as_row("open")
    assert (row["origin_topic"], row["origin_partition"], row["origin_offset"]) == ("orders", 2, 17)
    assert (row["group"], row["deliveries"], row["reason"]) == ("mail", 5, "Offset rejected by client.")
    spring = letter(("kafka_dlt-original-topic", b"x"), ("kafka_dlt-original-offset", (2**33).to_bytes(8, "big")))
    assert (spring.origin, spring.number("origin_offset")) == ("x", 2**33)


def test_a_tenants_letter_is_from_its_namespace_whoever_reads_it() -> None:
    headers = (*SHARE, ("__dlq.errors.tenant", b"acme"))
    for topic, origin, group in (
        ("orders.dlq", "orders", "mail"),
        ("acme.orders.dlq", "acme.orders", "acme.mail"),
        ("zulu.orders.dlq", "orders", "mail"),
    ):
        found = letter(*headers, topic=topic)
        assert (found.origin, found.group, found.as_row("open")["group"]) == (origin, group, group)
    assert LetterFilter(group="acme.mail").takes(letter(*headers, topic="acme.orders.dlq"))


def test_of_two_deaths_the_last_counts() -> None:
    assert letter(*SHARE, ("__dlq.errors.message", b"again")).told("error") == "again"


@pytest.mark.parametrize("text", [b"-1", b"many", b"9" * 30, "\u0663".encode()])
def test_a_number_that_is_none_is_not_believed(text: bytes) -> None:
    said = letter(("__dlq.errors.offset", text), ("__dlq.errors.delivery.count", text), key=None, value=None)
    assert said.number("origin_offset") is None
    assert said.as_row("open")["deliveries"] is None
    assert not said.is_bare


@pytest.mark.parametrize(
    ("name", "origin"), [("orders.dlq", "orders"), ("orders-DLT", "orders"), ("dlq.orders", "orders"), ("plain", None)]
)
def test_a_letter_without_headers_belongs_to_the_topic_its_own_is_named_after(name: str, origin: str | None) -> None:
    assert letter(topic=name).origin == origin
    assert is_letters_topic(name) is (origin is not None)


@pytest.mark.parametrize(
    ("wanted", "is_taken"),
    [
        (LetterFilter(reason=expression("rejected")), True),
        (LetterFilter(reason=expression("^expired")), False),
        (LetterFilter(key=expression("^k$"), value=expression("v")), True),
        (LetterFilter(value=expression("w")), False),
        (LetterFilter(group="mail", origin="orders"), True),
        (LetterFilter(group="bill"), False),
        (LetterFilter(origin="others"), False),
        (LetterFilter(since_ms=1_000, until_ms=1_001), True),
        (LetterFilter(since_ms=1_001), False),
        (LetterFilter(until_ms=1_000), False),
        (LetterFilter(headers=(("__dlq.errors.group", None),)), True),
        (LetterFilter(headers=(("__dlq.errors.group", b"bill"),)), False),
    ],
)
def test_filters(wanted: LetterFilter, is_taken: bool) -> None:
    assert wanted.takes(letter(*SHARE)) is is_taken


def test_a_letter_without_a_value_has_nothing_found_in_it() -> None:
    assert not LetterFilter(value=expression("")).takes(letter(value=None))


def test_no_expression_takes_long() -> None:
    began = time.monotonic()
    assert not LetterFilter(value=expression("(a*)*b$")).takes(letter(value=b"a" * 100_000))
    assert time.monotonic() - began < 5


def test_what_is_no_expression_is_told() -> None:
    with pytest.raises(UsageMistake, match="no regular expression"):
        expression("(")


def test_death_is_kept_under_another_name_and_what_was_asked_for_is_not_asked_again() -> None:
    first = letter(("tide-ttl", b"5"), ("tide-priority", b"high"), ("own", b"x"), *SHARE)
    sent = Transform().headers(first, "run-1")
    assert sent[:3] == [("__tide-ttl", b"5"), ("tide-priority", b"high"), ("own", b"x")]
    died = dict(sent[3:])
    assert died["__redriven.message"] == b"Offset rejected by client."
    assert (died["__redriven.source"], died["__redriven.run"]) == (b"orders.dlq-1@7", b"run-1")
    assert (died["__redriven.count"], died["__redriven.timestamp"]) == (b"1", b"1000")
    assert not any(name.startswith("__dlq.") for name, _ in sent)
    again = DeadLetter(Record("orders.dlq", 0, 9, 2_000, b"k", b"v", (*sent, *SHARE)))
    second = Transform().headers(again, "run-2")
    assert dict(second)["__redriven.count"] == b"2"
    assert dict(second)["__redriven.timestamp"] == b"1000"
    assert len(second) == len({name for name, _ in second})


def test_headers_are_set_and_removed() -> None:
    change = transform(["attempt=2", "-own", "own2=new"])
    sent = change.headers(letter(("own", b"x"), ("own2", b"y"), ("kept", None)), "run")
    assert [each for each in sent if not each[0].startswith("__")] == [
        ("kept", None),
        ("attempt", b"2"),
        ("own2", b"new"),
    ]
    for wrong in ("own", "-", "-__redriven.run"):
        with pytest.raises(UsageMistake):
            transform([wrong])


def test_a_list_of_the_pipeline(tmp_path: Path) -> None:
    file = tmp_path / "redrive.jsonl"
    file.write_text(
        '{"topic": "a.dlq", "partition": 0, "offset": 3, "to": "a", "to_partition": 2, "key_base64": null}\n\n'
        '{"topic": "b.dlq", "partition": 1, "offset": 4}\n'
    )
    found = read_list(file)
    assert found.of("a.dlq") == {(0, 3): Listed("a", 2)}
    assert found.of("b.dlq") == {(1, 4): Listed()}
    assert found.of("c.dlq") == {}


@pytest.mark.parametrize(
    "text", ["[]\n", '{"topic": "a"}\n', "no json\n", "", '{"topic":"a","partition":"x","offset":1}']
)
def test_a_list_that_names_no_letters(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(UsageMistake):
        read_list(tmp_path / "list")
    with pytest.raises(CliError):
        read_list(tmp_path / "none")
