"""Talking to an etcd: whose turn it is, what a refusal says, and what an endpoint is."""

import json
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.catalogue.etcd.gateway import (
    PAUSE_S,
    EtcdEndpoint,
    EtcdRefusal,
    EtcdUnavailable,
    Gateway,
    decoded,
    encoded,
    number,
)
from tidegate.etcd import RunningEtcd

RANGE = "/v3/kv/range"


def _nobody() -> EtcdEndpoint:
    """Where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return EtcdEndpoint("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize("url", ["ftp://a", "http://a/path", "http://"])
def test_an_endpoint_that_is_none_is_named(url: str) -> None:
    with pytest.raises(ValueError, match="no etcd endpoint"):
        EtcdEndpoint.parse(url)


def test_an_endpoint_has_etcds_port_unless_told() -> None:
    assert str(EtcdEndpoint.parse("host")) == "http://host:2379"
    assert str(EtcdEndpoint.parse("https://host")) == "https://host:2379"


def test_what_the_gateway_leaves_out_is_nothing() -> None:
    assert decoded(None) == b""
    assert decoded(encoded(b"x")) == b"x"
    assert number({}, "revision") == 0
    assert number({"revision": "7"}, "revision") == 7


def test_when_nobody_answers_everybody_who_was_asked_is_named() -> None:
    one, other = _nobody(), _nobody()
    with pytest.raises(EtcdUnavailable) as refusal:
        Gateway([one, other], timeout_s=1.0).call(RANGE, {"key": "AA=="})
    assert str(one) in str(refusal.value)
    assert str(other) in str(refusal.value)


def test_all_endpoints_are_tried_again_after_a_pause() -> None:
    pauses: list[float] = []
    gateway = Gateway([_nobody()], timeout_s=1.0, rounds=3, pause=pauses.append)
    with pytest.raises(EtcdUnavailable):
        gateway.call(RANGE, {"key": "AA=="})
    assert pauses == [PAUSE_S] * 2


@contextmanager
def _answering(*answers: tuple[int, str]) -> Iterator[tuple[EtcdEndpoint, list[bytes]]]:
    """Somebody who answers with these, one connection each; and what was asked."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for status, body in answers:
            client, _ = listener.accept()
            with client:
                asked.append(client.recv(1 << 16))
                head = f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                client.sendall(head.encode() + body.encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield EtcdEndpoint("127.0.0.1", listener.getsockname()[1]), asked
    listener.close()


@pytest.mark.parametrize("code", [2, 4, 14])
def test_what_is_undecided_is_asked_of_another(code: int) -> None:
    """Such as a member that has just lost its leader: it may have happened, or not."""
    undecided = json.dumps({"error": "etcdserver: leader changed", "message": "leader changed", "code": code})
    with _answering((503, undecided)) as (one, first), _answering((200, '{"answer": "1"}')) as (other, second):
        assert Gateway([one, other]).call(RANGE, {"key": "AA=="}) == {"answer": "1"}
    assert (len(first), len(second)) == (1, 1)


def test_an_etcd_that_ends_the_connection_with_its_answer_is_asked_on_another() -> None:
    with _answering((200, '{"answer": "1"}'), (200, '{"answer": "2"}')) as (endpoint, _):
        gateway = Gateway([endpoint])
        assert [gateway.call(RANGE, {}) for _ in range(2)] == [{"answer": "1"}, {"answer": "2"}]


def test_who_does_not_answer_in_time_is_not_asked_twice() -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    endpoint = EtcdEndpoint("127.0.0.1", silent.getsockname()[1])
    with pytest.raises(EtcdUnavailable) as refusal:
        Gateway([endpoint], timeout_s=0.05).call(RANGE, {"key": "AA=="})
    silent.close()
    assert str(refusal.value).count(str(endpoint)) == 1


def test_an_endpoint_that_is_passed_over_comes_last() -> None:
    one, two, three = (EtcdEndpoint("127.0.0.1", port) for port in (1, 2, 3))
    gateway = Gateway([one, two, three], timeout_s=1.0)
    gateway.pass_over(two)
    with pytest.raises(EtcdUnavailable) as refusal:
        gateway.open(RANGE, {}, 1.0)
    places = [str(refusal.value).index(str(each)) for each in (three, one, two)]
    assert places == sorted(places)


@pytest.mark.slow
def test_the_endpoint_that_answers_is_kept(etcd: RunningEtcd) -> None:
    gateway = Gateway([_nobody(), EtcdEndpoint.parse(etcd.url)])
    for _ in range(3):
        assert number(gateway.call(RANGE, {"key": "AA=="})["header"], "revision") > 0
    exchange = gateway.open("/v3/watch", {"create_request": {"key": "AA=="}}, 5.0)
    piece = exchange.piece()
    assert piece is not None
    assert b"created" in piece
    exchange.interrupt()
    with pytest.raises((EOFError, ConnectionError)):
        exchange.piece()
    exchange.close()
    gateway.close()


@pytest.mark.slow
def test_a_refusal_carries_etcds_words_and_its_code(etcd: RunningEtcd) -> None:
    gateway = Gateway([EtcdEndpoint.parse(etcd.url)])
    twice = [{"request_put": {"key": b64encode(b"a").decode()}}] * 2
    with pytest.raises(EtcdRefusal, match="duplicate key") as refusal:
        gateway.call("/v3/kv/txn", {"success": twice})
    assert refusal.value.code == 3
    with pytest.raises(EtcdRefusal, match=r"Not Found|404"):
        gateway.call("/v3/nothing", {})
    gateway.close()
