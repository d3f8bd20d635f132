"""The grammar: what lines ask for, and how those that ask for nothing are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.text.answers import quoted
from wire.text.commands import (
    EARLIEST,
    LATEST,
    AuthCommand,
    BadCommand,
    FetchCommand,
    PingCommand,
    PublishCommand,
    QuitCommand,
    TopicsCommand,
    parse,
)
from wire.text.config import TextLimits

LIMITS = TextLimits(max_payload_bytes=1000, max_wait_ms=5000)


def bad(line: bytes) -> BadCommand:
    with pytest.raises(BadCommand) as caught:
        parse(line, LIMITS)
    return caught.value


def test_a_publish_names_topic_and_size() -> None:
    assert parse(b"PUB orders 5\r", LIMITS) == PublishCommand("orders", 5)


def test_a_publish_may_say_more() -> None:
    line = b"pub orders 0 key=user%20123 partition=2 delay=500 priority=high header.a%3Db=x%00y null=true full=true"
    assert parse(line, LIMITS) == PublishCommand(
        "orders",
        0,
        key=b"user 123",
        partition=2,
        headers=(("tide-delay", b"500"), ("tide-priority", b"high"), ("a=b", b"x\0y")),
        is_null=True,
        is_full=True,
    )


@pytest.mark.parametrize(
    ("line", "command"),
    [
        (b"FETCH t 7", FetchCommand("t", 7)),
        (b"fetch t earliest", FetchCommand("t", EARLIEST)),
        (b"FETCH t LATEST wait=5000", FetchCommand("t", LATEST, wait_ms=5000)),
        (b"FETCH t 0 partition=3 count=10 full=true", FetchCommand("t", 0, 3, 10, 0, is_full=True)),
        (b"AUTH alice s%20cret", AuthCommand("alice", "s cret")),
        (b"AUTH ey.a.b", AuthCommand(None, "ey.a.b")),
        (b"TOPICS", TopicsCommand()),
        (b"  ping ", PingCommand()),
        (b"QUIT\r", QuitCommand()),
    ],
)
def test_other_commands(line: bytes, command: object) -> None:
    assert parse(line, LIMITS) == command


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (b"", "BAD_COMMAND", "empty"),
        (b"SUB t", "BAD_COMMAND", "'SUB'"),
        (b"FETCH t", "BAD_ARGUMENT", "offset"),
        (b"FETCH t -1", "BAD_ARGUMENT", "offset is a number"),
        (b"FETCH t 99999999999999999999", "BAD_ARGUMENT", "offset"),
        (b"FETCH t 0 count=0", "BAD_ARGUMENT", "count is a number from 1"),
        (b"FETCH t 0 wait=5001", "BAD_ARGUMENT", "5000"),
        (b"FETCH t 0 key=1", "BAD_ARGUMENT", "'key'"),
        (b"FETCH t 0 now", "BAD_ARGUMENT", "'now'"),
        (b"PUB t 1 colour=1", "BAD_ARGUMENT", "'colour'"),
        (b"PUB t 1 header.=1", "BAD_ARGUMENT", "header"),
        (b"PUB t 1 delay=soon", "BAD_ARGUMENT", "delay"),
        (b"PUB t 1 priority=urgent", "BAD_ARGUMENT", "critical"),
        (b"PUB t 1 partition=-1", "BAD_ARGUMENT", "partition"),
        (b"PUB t 1 null=true", "BAD_ARGUMENT", "size"),
        (b"PUB t 1 full=yes", "BAD_ARGUMENT", "true or false"),
        (b"PUB \xff 1", "BAD_ARGUMENT", "UTF-8"),
        (b"AUTH", "BAD_ARGUMENT", "AUTH"),
        (b"PING now", "BAD_ARGUMENT", "PING"),
    ],
)
def test_what_is_wrong_is_named(line: bytes, code: str, words: str) -> None:
    found = bad(line)
    assert found.code == code
    assert words in found.text
    assert not found.ends


@pytest.mark.parametrize("line", [b"PUB", b"PUB t", b"PUB t x", b"PUB t -1", b"PUB t 1001", b"PUB t 99999999999"])
def test_a_publish_of_unknown_or_excessive_size_ends_the_connection(line: bytes) -> None:
    assert bad(line).ends


@given(st.binary(max_size=200))
def test_any_key_can_be_said(key: bytes) -> None:
    command = parse(b"PUB t 0 key=" + quoted(key), LIMITS)
    assert isinstance(command, PublishCommand)
    assert command.key == key


def understood_or_told(line: bytes) -> bool:
    try:
        parse(line, LIMITS)
    except BadCommand as refused:
        return bool(refused.code and refused.text)
    return True


@given(st.binary(max_size=200))
def test_any_line_is_understood_or_refused(line: bytes) -> None:
    assert understood_or_told(line)


@given(st.lists(st.sampled_from([b"PUB", b"FETCH", b"t", b"1", b"key=", b"header.x=1", b"count=1", b"full=true"])))
def test_words_in_any_order_are_understood_or_refused(words: list[bytes]) -> None:
    assert understood_or_told(b" ".join(words))
