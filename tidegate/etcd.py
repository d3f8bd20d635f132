"""An etcd of one member, in a directory, for as long as a `with` block: for clusters on one machine, and for tests."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from engine.catalogue.etcd.gateway import EtcdEndpoint, EtcdRefusal, EtcdUnavailable, Gateway

PATIENCE_S = 30.0
ASK_AGAIN_S = 0.02
STOP_S = 10.0
HEARTBEAT_MS, ELECTION_MS = 50, 500
"""Shorter than etcd's defaults: a lease is then given up one second after the last word of who held it."""
PLACES = (Path("/usr/bin/etcd"), Path(__file__).resolve().parent.parent / ".cache/etcd/usr/bin/etcd")


class EtcdMissing(Exception):
    """There is no etcd to run; the message says how to get one."""


class EtcdDidNotStart(Exception):
    """It ended, or did not answer; the message holds the end of its log."""


def find() -> Path:
    """The program: the one on the path, or what `tools/setup/etcd.sh` has unpacked."""
    on_path = shutil.which("etcd")
    if on_path is not None:
        return Path(on_path)
    for place in PLACES:
        if place.is_file():
            return place
    raise EtcdMissing("there is no etcd: install it (Debian: etcd-server), or name a running one")


class RunningEtcd:
    """A process. It may be killed and started again on the same data and port."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._port, self._peer_port = _free_ports()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process is not None, "it is not running"
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._log_file.open("ab") as log:
            # Ctrl-C is for whoever runs us, who stops it in turn.
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End it; nothing happens if it is not running."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def __enter__(self) -> "RunningEtcd":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def _log_file(self) -> Path:
        return self.directory / "etcd.log"

    def _command(self) -> list[str]:
        peers = f"http://127.0.0.1:{self._peer_port}"
        return [
            str(find()),
            *("--name", "one", "--data-dir", str(self.directory / "data")),
            *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
            *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"one={peers}"),
            *("--heartbeat-interval", str(HEARTBEAT_MS), "--election-timeout", str(ELECTION_MS)),
            *("--auto-compaction-mode", "revision", "--auto-compaction-retention", "100000"),
            *("--logger", "zap", "--log-level", "warn"),
        ]

    def _wait_until_ready(self) -> None:
        gateway = Gateway([EtcdEndpoint.parse(self.url)], timeout_s=1.0)
        deadline = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < deadline:
                assert self._process is not None
                if self._process.poll() is not None:
                    break
                try:
                    # A read that needs a majority: from then on it takes writes too.
                    gateway.call("/v3/kv/range", {"key": "AA=="})
                except (EtcdUnavailable, EtcdRefusal):
                    time.sleep(ASK_AGAIN_S)
                else:
                    return
        finally:
            gateway.close()
        raise EtcdDidNotStart(f"etcd does not answer; it logged:\n{self._log_file.read_text()[-2000:]}")


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]
