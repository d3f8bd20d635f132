"""Talking to an etcd: whose turn it is, what a refusal says, and what an endpoint is."""

import socket
from base64 import b64encode

import pytest

from engine.catalogue.etcd.gateway import EtcdEndpoint, EtcdRefusal, EtcdUnavailable, Gateway, decoded, encoded, number
from tidegate.etcd import RunningEtcd

RANGE = "/v3/kv/range"


def _nobody() -> EtcdEndpoint:
    """Where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return EtcdEndpoint("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize("url", ["https://a:1", "ftp://a", "http://a/path", "http://"])
def test_an_endpoint_that_is_none_is_named(url: str) -> None:
    with pytest.raises(ValueError, match="no etcd endpoint"):
        EtcdEndpoint.parse(url)


def test_an_endpoint_has_etcds_port_unless_told() -> None:
    assert str(EtcdEndpoint.parse("host")) == "http://host:2379"


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
