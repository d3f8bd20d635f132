"""Starts the broker under test: Tidegate, or Apache Kafka as the reference.

The environment variable `COMPAT_TARGET` says which (`tidegate` by default, or `kafka`), and
`COMPAT_BOOTSTRAP` points at one that runs already. With `COMPAT_TENANT=name` scenarios come by a listener of a tenant
of that name, where names are rewritten: what is the operator's then fails, and nothing else should.
"""

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.reference.broker import reference_kafka

PROJECT_ROOT = Path(__file__).resolve().parents[1]
READY = re.compile(r"^tidegate ready .*\bkafka=(\S+:\d+)(?:.*\bhttp=(\S+:\d+))?")
READY_SECONDS = 20.0
STOP_SECONDS = 20.0
# What the scenarios rely on; both brokers would do most of this by themselves.
SETTINGS = {
    "auto.create.topics.enable": "true",
    "num.partitions": "1",
    # Records of long ago, which some scenarios write, would be deleted by retention in the middle of them.
    "log.initial.task.delay.ms": "86400000",
}


def target() -> str:
    """Which broker the scenarios run against."""
    choice = os.environ.get("COMPAT_TARGET", "tidegate")
    assert choice in ("tidegate", "kafka"), f"COMPAT_TARGET is {choice!r}: it takes tidegate or kafka"
    return choice


@contextmanager
def broker(settings: Mapping[str, str] | None = None, *, port: int | None = None) -> Iterator[str]:
    """A broker of its own for as long as the block runs; yields the address it listens on."""
    merged = {**SETTINGS, **(settings or {})}
    if target() == "kafka":
        with reference_kafka(merged, port=port, heap="512m") as kafka:
            yield kafka.bootstrap
    else:
        tenant = os.environ.get("COMPAT_TENANT")
        if tenant:
            merged |= tenant_settings(tenant, port or 0)
        with _tidegate(merged, port or 0, tenant) as bootstrap:
            yield bootstrap


def tenant_settings(tenant: str, port: int = 0) -> dict[str, str]:
    """A listener that is all the tenant's, where its names are without the prefix."""
    return {
        "listeners": f"TENANT://127.0.0.1:{port}",
        "listener.security.protocol.map": "TENANT:PLAINTEXT",
        "listener.name.tenant.tenant": tenant,
        "listener.name.tenant.tenant.rewrite": "true",
    }


def create_tenant(http: str, name: str) -> None:
    """By the operations door."""
    headers = {"Content-Type": "application/json", "X-Tidegate": "1"}
    request = urllib.request.Request(f"http://{http}/tenants", json.dumps({"name": name}).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 201


@contextmanager
def _tidegate(settings: Mapping[str, str], port: int, tenant: str | None = None) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="compat-tidegate-") as directory:
        command = [sys.executable, "-m", "tidegate", "serve", "--data-dir", f"{directory}/data"]
        if tenant is None:
            command += ["--kafka-port", str(port), "--http-port", "0"]
        else:
            command += ["--set", "http.port=-1"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        log_file = Path(directory) / "tidegate.log"
        with log_file.open("wb") as log:
            server = subprocess.Popen(
                command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL
            )
        try:
            address, http = _ready_addresses(server, log_file)
            if tenant is not None:
                create_tenant(http, tenant)
            yield address
        finally:
            _stop(server)


def _ready_addresses(server: "subprocess.Popen[bytes]", log_file: Path) -> tuple[str, str]:
    """Reads the server's standard output up to its ready line."""
    assert server.stdout is not None
    seen = b""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if not select.select([server.stdout], [], [], 0.5)[0]:
            continue
        piece = os.read(server.stdout.fileno(), 4096)
        seen += piece
        for line in seen.decode(errors="replace").splitlines():
            if found := READY.match(line):
                return found[1], found[2] or ""
        if not piece:
            break
    raise AssertionError(f"tidegate is not ready (status {server.poll()}): {seen!r}\n{log_file.read_text()[-4000:]}")


def _stop(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if server.stdout is not None:
        server.stdout.close()
