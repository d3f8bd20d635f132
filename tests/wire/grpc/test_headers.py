"""The headers of calls."""

import pytest

from wire.grpc.headers import CallHead, NotGrpc, percent_encoded, trailers_only
from wire.grpc.status import GrpcError, Status

HEADERS = {
    b":method": b"POST",
    b":path": b"/tidegate.v1.Produce/Send",
    b"content-type": b"application/grpc",
    b"te": b"trailers",
}


def head(**others: bytes) -> CallHead:
    changed = {name.replace("_", "-").encode(): value for name, value in others.items()}
    return CallHead.read(list({**HEADERS, **changed}.items()))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (b"1H", 3600.0),
        (b"2M", 120.0),
        (b"3S", 3.0),
        (b"4m", 0.004),
        (b"5u", 0.000005),
        (b"6n", 6e-9),
        (b"99999999S", 99999999.0),
    ],
)
def test_a_deadline_is_read_in_every_unit(said: bytes, seconds: float) -> None:
    assert head(grpc_timeout=said).timeout_s == pytest.approx(seconds)


@pytest.mark.parametrize("said", [b"", b"1", b"S", b"1.5S", b"-1S", b"123456789S", b"1X", "\u0661S".encode()])
def test_what_is_no_deadline_is_refused(said: bytes) -> None:
    with pytest.raises(GrpcError, match="grpc-timeout"):
        head(grpc_timeout=said)


@pytest.mark.parametrize("kind", [b"application/grpc", b"application/grpc+proto", b"application/grpc;charset=utf-8"])
def test_calls_are_known_by_their_content_type(kind: bytes) -> None:
    assert head(content_type=kind).path == "/tidegate.v1.Produce/Send"


@pytest.mark.parametrize("kind", [b"", b"application/json", b"application/grpc-web", b"text/html"])
def test_others_are_told_by_http(kind: bytes) -> None:
    with pytest.raises(NotGrpc) as refused:
        head(content_type=kind)
    assert refused.value.status == 415


def test_a_call_without_trailers_is_refused() -> None:
    with pytest.raises(GrpcError, match="te: trailers"):
        head(te=b"gzip")


def test_an_unknown_packing_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(GrpcError, match="identity, gzip") as refused:
        head(grpc_encoding=b"snappy")
    assert refused.value.status is Status.UNIMPLEMENTED
    assert (b"grpc-accept-encoding", b"identity,gzip") in trailers_only(Status.UNIMPLEMENTED)


def test_messages_at_the_end_are_percent_encoded_and_bounded() -> None:
    assert percent_encoded("100% grün\n") == b"100%25 gr%C3%BCn%0A"
    assert len(percent_encoded("x" * 10_000)) == 1024
    percent_encoded("ü" * 2000).decode("ascii")
