"""A broker in a process of its own that can be killed like `kill -9` and started again on the same directory."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import define

from compat_tests import brokers


@define(eq=False)
class MortalProcess:
    """Tidegate on one directory. Who starts it says on which ports."""

    directory: Path
    _process: "subprocess.Popen[bytes] | None" = None

    def launch(self, kafka_port: int | str, settings: Mapping[str, str]) -> tuple[str, str]:
        """Start it, and wait until it is ready; the addresses of its doors for Kafka and HTTP."""
        command = [sys.executable, "-m", "tidegate", "serve", "--data-dir", str(self.directory / "data")]
        command += ["--kafka-port", str(kafka_port)]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        log_file = self.directory / "tidegate.log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=brokers.PROJECT_ROOT, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL
            )
        return brokers._ready_addresses(self._process, log_file)

    def kill(self) -> None:
        """As `kill -9`."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def close(self) -> None:
        """Kill it, if it runs."""
        if self._process is not None:
            self.kill()
