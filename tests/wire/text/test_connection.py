"""Bytes in, commands out, however the bytes are cut."""

from hypothesis import given
from hypothesis import strategies as st

from wire.text.commands import BadCommand, Command, FetchCommand, PingCommand, PublishCommand
from wire.text.config import TextLimits
from wire.text.connection import TextConnection

LIMITS = TextLimits(max_line_bytes=100, max_payload_bytes=1000)


def taken(connection: TextConnection) -> list[Command | BadCommand]:
    found = []
    while (command := connection.take()) is not None:
        found.append(command)
    return found


def understood(*pieces: bytes) -> tuple[TextConnection, list[Command | BadCommand]]:
    connection = TextConnection(LIMITS)
    found = []
    for piece in pieces:
        connection.receive(piece)
        found += taken(connection)
    return connection, found


def payloads(commands: list[Command | BadCommand]) -> list[bytes]:
    return [command.payload for command in commands if isinstance(command, PublishCommand)]


def test_a_payload_may_have_any_bytes() -> None:
    connection, found = understood(b"PUB t 9\r\n\r\nPING\r\n\0\r\nPING\r\n")
    assert payloads(found) == [b"\r\nPING\r\n\0"]
    assert found[1] == PingCommand()
    assert connection.is_between


def test_lines_and_payloads_may_end_with_a_line_feed_alone() -> None:
    _, found = understood(b"PUB t 2\nhi\nFETCH t 0\nPING\n")
    assert payloads(found) == [b"hi"]
    assert found[1:] == [FetchCommand("t", 0), PingCommand()]


def test_an_empty_payload_has_its_line_end_too() -> None:
    _, found = understood(b"PUB t 0\r\n", b"\r", b"\nPUB t 0\n\n")
    assert payloads(found) == [b"", b""]


def test_a_refused_publish_has_its_payload_passed_over() -> None:
    connection, found = understood(b"PUB t 6 colour=1\r\nPI", b"NG\r\n", b"\r\nPING\r\n")
    assert [type(each) for each in found] == [BadCommand, PingCommand]
    assert not connection.has_ended


def test_a_payload_that_is_longer_than_said_ends_the_connection() -> None:
    connection, found = understood(b"PUB t 2\r\nhello\r\nPING\r\n")
    assert [each.code for each in found if isinstance(each, BadCommand)] == ["BAD_PAYLOAD"]
    assert connection.has_ended
    connection.receive(b"PING\r\n")
    assert taken(connection) == []


def test_a_payload_that_is_shorter_than_said_ends_the_connection() -> None:
    connection, found = understood(b"PUB t 7\r\nhello\r\nPING\r\n")
    assert [type(each) for each in found] == [BadCommand]
    assert connection.has_ended


def test_a_line_that_is_too_long_ends_the_connection_before_it_has_ended() -> None:
    connection, found = understood(b"x" * 60, b"x" * 60)
    assert [each.code for each in found if isinstance(each, BadCommand)] == ["LINE_TOO_LONG"]
    assert connection.has_ended


def test_a_payload_beyond_the_limit_is_never_kept() -> None:
    connection, found = understood(b"PUB t 1001\r\n")
    assert [each.code for each in found if isinstance(each, BadCommand)] == ["PAYLOAD_TOO_LARGE"]
    assert connection.has_ended


def test_something_of_a_command_is_no_pause() -> None:
    for piece in (b"PI", b"PUB t 3\r\n", b"PUB t 3\r\nab", b"PUB t 3 x=1\r\n"):
        connection, _ = understood(piece)
        assert not connection.is_between


SAMPLES = st.one_of(
    st.just(b"PING\r\n"),
    st.just(b"FETCH t 3 count=2\n"),
    st.just(b"nonsense\r\n"),
    st.binary(max_size=300).map(lambda value: b"PUB t %d\r\n%b\r\n" % (len(value), value)),
    st.binary(max_size=300).map(lambda value: b"PUB t %d key=a header.x=1\n%b\n" % (len(value), value)),
    st.binary(max_size=300).map(lambda value: b"PUB t %d wrong=1\r\n%b\r\n" % (len(value), value)),
)


def told(commands: list[Command | BadCommand]) -> list[object]:
    return [(each.code, each.text) if isinstance(each, BadCommand) else each for each in commands]


@given(st.lists(SAMPLES, max_size=8), st.lists(st.integers(1, 400), max_size=20))
def test_how_bytes_are_cut_makes_no_difference(samples: list[bytes], cuts: list[int]) -> None:
    data = b"".join(samples)
    _, whole = understood(data)
    pieces, position = [], 0
    for cut in cuts:
        pieces.append(data[position : position + cut])
        position += cut
    _, cut_up = understood(*pieces, data[position:])
    assert told(cut_up) == told(whole)
    assert len(whole) == len(samples)


@given(st.lists(st.binary(max_size=400), max_size=10))
def test_whatever_comes_no_more_is_kept_than_the_limits_say(pieces: list[bytes]) -> None:
    connection = TextConnection(LIMITS)
    for piece in pieces:
        connection.receive(piece)
        taken(connection)
        if connection.has_ended:
            return
        assert len(connection._buffer) - connection._position <= LIMITS.max_payload_bytes + 2
