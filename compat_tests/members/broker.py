"""A broker with both of its doors that can be killed like `kill -9`, and a caller of the HTTP one."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, frozen

from compat_tests import brokers

SETTINGS = {
    **brokers.SETTINGS,
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.share.min.record.lock.duration.ms": "1000",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


@frozen
class Told:
    """An answer: its status, and what it says."""

    status: int
    body: Any


@define(eq=False)
class HttpBroker:
    """Tidegate on one directory, on the ports that it got when it first started."""

    directory: Path
    bootstrap: str = "127.0.0.1:0"
    http: str = "127.0.0.1:-1"
    _process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tidegate", "serve", "--data-dir", str(self.directory / "data")]
        command += ["--kafka-port", self.bootstrap.rsplit(":", 1)[1]]
        for key, value in {**SETTINGS, "http.port": self.http.rsplit(":", 1)[1]}.items():
            command += ["--set", f"{key}={value}"]
        log_file = self.directory / "tidegate.log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=brokers.PROJECT_ROOT, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL
            )
        self.bootstrap, self.http = brokers._ready_addresses(self._process, log_file)

    def kill(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.kill()

    def call(self, method: str, path: str, **body: Any) -> Told:
        """One request to the operations door."""
        headers = {"X-Tidegate": "1", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://{self.http}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                said = answer.read()
                return Told(answer.status, json.loads(said) if said else None)
        except urllib.error.HTTPError as error:
            return Told(error.code, json.loads(error.read()))

    def done(self, method: str, path: str, **body: Any) -> Any:
        """What it says to a request that has to succeed."""
        told = self.call(method, path, **body)
        assert told.status < 300, told
        return told.body


@contextmanager
def http_broker() -> Iterator[HttpBroker]:
    with tempfile.TemporaryDirectory(prefix="compat-members-") as directory:
        broker = HttpBroker(Path(directory))
        broker.start()
        try:
            yield broker
        finally:
            broker.close()
