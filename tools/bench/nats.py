"""NATS' core server, built by Go from its module on first use; a peer of the text door."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tools.reference.broker import free_port

FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench"
MODULE = "github.com/nats-io/nats-server/v2@v2.15.2"
BUILD_S, PATIENCE_S = 600.0, 20.0


@frozen
class NatsServer:
    """A server that runs."""

    address: str
    pid: int


@contextmanager
def nats_server() -> Iterator[NatsServer | None]:
    """One for the length of the block; None where it cannot be had."""
    binary = _built()
    if binary is None:
        yield None
        return
    port = free_port()
    process = subprocess.Popen([str(binary), "-a", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield NatsServer(f"127.0.0.1:{port}", process.pid)
    finally:
        process.kill()
        process.wait()


def _built() -> Path | None:
    binary = FOLDER / "nats-server"
    if not binary.exists() and shutil.which("go") is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        told = {**os.environ, "GOBIN": str(FOLDER)}
        subprocess.run(["go", "install", MODULE], env=told, capture_output=True, timeout=BUILD_S, check=False)
    return binary if binary.exists() else None


def _wait(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
