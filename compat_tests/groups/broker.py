"""A broker that can be killed like `kill -9` and started again on its data."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from compat_tests import brokers
from compat_tests.mortal import MortalProcess


@define(eq=False)
class MortalBroker(MortalProcess):
    """Tidegate on one directory, and on the port that it got when it first started."""

    settings: dict[str, str] = field(factory=dict, kw_only=True)
    port: int = 0

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        address, _ = self.launch(self.port, {"http.port": "0", **self.settings})
        self.port = int(address.rsplit(":", 1)[1])

    def restart(self) -> None:
        self.kill()
        self.start()


@contextmanager
def mortal_broker(settings: dict[str, str]) -> Iterator[MortalBroker]:
    """Only Tidegate: what a restart leaves of Kafka is Kafka's own business."""
    with tempfile.TemporaryDirectory(prefix="compat-mortal-") as directory:
        broker = MortalBroker(Path(directory), settings={**brokers.SETTINGS, **settings})
        broker.start()
        try:
            yield broker
        finally:
            broker.close()
