"""Bytes and file regions reach the other end whole and in order, whatever the socket takes at a time."""

import os
import socket
from pathlib import Path

import pytest

from engine.files.files import FileRegion, OsFiles
from engine.workers import InlineWorkers
from wire.kafka import transmit
from wire.kafka.transmit import Pumped, Transmitter
from wire.transport import SocketTransport


@pytest.fixture
def pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def drain(transmitter: Transmitter, theirs: socket.socket, workers: InlineWorkers) -> bytes:
    """Pump and receive until nothing is left."""
    received = bytearray()
    while True:
        pumped = transmitter.pump()
        workers.run_held()
        try:
            while data := theirs.recv(10_000):
                received += data
        except BlockingIOError:
            pass
        if pumped is Pumped.EMPTY:
            return bytes(received)


def region(path: Path, content: bytes, position: int, size: int) -> FileRegion:
    path.write_bytes(content)
    return FileRegion(OsFiles().open(str(path)), position, size)


@pytest.mark.parametrize("size", [10, transmit.SMALL_REGION_BYTES + 1, 3_000_000])
def test_regions_are_sent_between_bytes(pair, tmp_path: Path, size: int) -> None:
    ours, theirs = pair
    content = os.urandom(size + 100)
    workers = InlineWorkers(hold=True)
    transmitter = Transmitter(SocketTransport(ours, ("a", 1)), workers, lambda: None)
    transmitter.push([b"head", region(tmp_path / "a", content, 50, size), b"middle", b"", b"tail" * 50_000])
    assert drain(transmitter, theirs, workers) == b"head" + content[50 : 50 + size] + b"middle" + b"tail" * 50_000


def test_a_small_region_leaves_together_with_the_bytes_around_it(pair, tmp_path: Path, monkeypatch) -> None:
    ours, theirs = pair
    calls: list[int] = []
    monkeypatch.setattr(os, "sendfile", lambda *_: calls.append(1))
    transmitter = Transmitter(SocketTransport(ours, ("a", 1)), InlineWorkers(), lambda: None)
    transmitter.push([b"head", region(tmp_path / "a", b"0123456789", 2, 5), b"tail"])
    assert transmitter.pump() is Pumped.EMPTY
    assert theirs.recv(100) == b"head23456tail"
    assert not calls


def test_pages_that_are_not_in_memory_are_read_by_a_worker(pair, tmp_path: Path, monkeypatch) -> None:
    ours, theirs = pair
    monkeypatch.setattr(transmit, "is_resident", lambda *_: False)
    content = os.urandom(100_000)
    workers = InlineWorkers(hold=True)
    resumed = []
    transmitter = Transmitter(SocketTransport(ours, ("a", 1)), workers, lambda: resumed.append(True))
    transmitter.push([b"head", region(tmp_path / "a", content, 0, 100_000)])
    assert transmitter.pump() is Pumped.READING
    assert len(workers.held) == 1
    assert drain(transmitter, theirs, workers) == b"head" + content
    assert resumed


def test_a_file_that_became_shorter_ends_the_connection(pair, tmp_path: Path) -> None:
    ours, _ = pair
    short = region(tmp_path / "a", b"x" * 100_000, 0, 100_000)
    (tmp_path / "a").write_bytes(b"")
    transmitter = Transmitter(SocketTransport(ours, ("a", 1)), InlineWorkers(), lambda: None)
    transmitter.push([short])
    with pytest.raises(OSError, match="shorter"):
        transmitter.pump()
