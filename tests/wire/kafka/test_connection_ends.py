"""What is left of a connection when it has ended: nothing that the collector of garbage must find.

A collection stops everything for some 30 ms, and one was due whenever a thousand connections had come and gone.
"""

import gc
import logging
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from tests.wire.kafka.door import open_door, until
from tidegate.dev_certificates import Authority
from tools.bench.crowd import Crowd, Refused
from tools.bench.strangers import PASSWORD, USER, furnish, settings_of, write_certificate
from tools.bench.tenants import free_ports
from wire.kafka.request import Peer
from wire.kafka.sasl.login import Login
from wire.kafka.server import KafkaConnection
from wire.tls.transport import TlsTransport

KINDS = (KafkaConnection, Peer, Login, TlsTransport)


@pytest.fixture
def without_collector(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    # What is captured of the log holds on to errors, and they to where they were raised.
    caplog.set_level(logging.CRITICAL, "tidegate")
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def left() -> dict[str, int]:
    """How many there are of what a connection is made of."""
    there = [type(each) for each in gc.get_objects()]
    return {kind.__name__: there.count(kind) for kind in KINDS}


def who_asks(address: str, trusted: Path) -> None:
    _come(address, trusted, PASSWORD)


def who_guesses(address: str, trusted: Path) -> None:
    with pytest.raises(Refused):
        _come(address, trusted, "guess")


def _come(address: str, trusted: Path, password: str) -> None:
    host, _, port = address.rpartition(":")
    Crowd(address, str(trusted), USER, password, 1)._come(host, int(port), ssl.create_default_context(cafile=trusted))


def who_speaks_no_tls(address: str, _: Path) -> None:
    host, _colon, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as sock:
        sock.sendall(struct.pack(">ihhih", 10, 18, 0, 7, -1))
        assert sock.recv(100) == b""


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("come", [who_asks, who_guesses, who_speaks_no_tls])
@trio_test
async def test_nothing_is_left_for_the_collector(tmp_path: Path, come: Callable[[str, Path], None]) -> None:
    authority, keystore, trusted = Authority.make(), tmp_path / "broker.pem", tmp_path / "ca.pem"
    trusted.write_bytes(authority.identity.certificate_pem)
    write_certificate(authority, keystore)
    inside, outside = (f"127.0.0.1:{port}" for port in free_ports(2))
    async with open_door(tmp_path / "data", {**settings_of(inside, outside, keystore)}) as door:
        await trio.to_thread.run_sync(furnish, inside)
        await until(lambda: not door.broker.server.connections)
        before = left()
        for _ in range(3):
            await trio.to_thread.run_sync(come, outside, trusted)
        await until(lambda: not door.broker.server.connections)
        assert left() == before
