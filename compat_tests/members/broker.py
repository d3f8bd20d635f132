"""A broker with both of its doors that can be killed like `kill -9`, and a caller of the HTTP one."""

import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, frozen

from compat_tests import brokers
from compat_tests.mortal import MortalProcess

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
class HttpBroker(MortalProcess):
    """Tidegate on one directory, on the ports that it got when it first started."""

    bootstrap: str = "127.0.0.1:0"
    http: str = "127.0.0.1:-1"

    def start(self) -> None:
        settings = {**SETTINGS, "http.port": self.http.rsplit(":", 1)[1]}
        self.bootstrap, self.http = self.launch(self.bootstrap.rsplit(":", 1)[1], settings)

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
