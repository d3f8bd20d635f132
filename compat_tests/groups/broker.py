"""A broker that can be killed like `kill -9` and started again on its data."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define

from compat_tests import brokers


@define(eq=False)
class MortalBroker:
    """Tidegate on one directory, and on the port that it got when it first started."""

    directory: Path
    settings: dict[str, str]
    port: int = 0
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "tidegate", "serve", "--data-dir", str(self.directory / "data")]
        command += ["--kafka-port", str(self.port), "--http-port", "0"]
        for key, value in self.settings.items():
            command += ["--set", f"{key}={value}"]
        log_file = self.directory / "tidegate.log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=brokers.PROJECT_ROOT, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL
            )
        self.port = int(brokers._ready_addresses(self._process, log_file)[0].rsplit(":", 1)[1])

    def kill(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def restart(self) -> None:
        self.kill()
        self.start()

    def close(self) -> None:
        if self._process is not None:
            self.kill()


@contextmanager
def mortal_broker(settings: dict[str, str]) -> Iterator[MortalBroker]:
    """Only Tidegate: what a restart leaves of Kafka is Kafka's own business."""
    with tempfile.TemporaryDirectory(prefix="compat-mortal-") as directory:
        broker = MortalBroker(Path(directory), {**brokers.SETTINGS, **settings})
        broker.start()
        try:
            yield broker
        finally:
            broker.close()
