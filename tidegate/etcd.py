"""An etcd in a directory, for as long as a `with` block, of one member or of several: for clusters on one machine, and
for tests.

Only the standard library is used: it runs in the programs of users, who may have packages of the same names as ours.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0
ASK_AGAIN_S = 0.02
ANSWER_S = 1.0
STOP_S = 10.0
HEARTBEAT_MS, ELECTION_MS = 50, 500
"""Shorter than etcd's defaults: a lease is then given up one second after the last word of who held it."""
PLACES = (Path("/usr/bin/etcd"), Path(__file__).resolve().parent.parent / ".cache/etcd/usr/bin/etcd")
HOST = "127.0.0.1"


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
    raise EtcdMissing(
        "there is no etcd on this machine: install it (Debian: apt install etcd-server; or 3.5.3 and later from "
        "https://etcd.io) so that `etcd` is on the path, or name one that runs"
    )


class EtcdTls:
    """Files (PEM) by which an etcd and its clients know each other: who vouches for both, and what both show."""

    def __init__(self, ca: Path, certificate: Path, key: Path) -> None:
        self.ca = ca
        self.certificate = certificate
        self.key = key

    def options(self) -> list[str]:
        """Of etcd."""
        return [
            *("--cert-file", str(self.certificate), "--key-file", str(self.key)),
            *("--trusted-ca-file", str(self.ca), "--client-cert-auth"),
        ]

    def context(self) -> ssl.SSLContext:
        """Of its clients."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.certificate, self.key)
        return context


class RunningEtcd:
    """A process: an etcd, or one of its members. It may be killed and started again on the same data and port."""

    def __init__(self, directory: Path, name: str = "one", tls: EtcdTls | None = None) -> None:
        self.directory = directory
        self.name = name
        self.tls = tls
        self._port, self._peer_port = _free_ports()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self.peers: Mapping[str, str] = {name: self.peer_url}

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"{'http' if self.tls is None else 'https'}://{HOST}:{self._port}"

    @property
    def peer_url(self) -> str:
        """Where other members find it."""
        return f"http://{HOST}:{self._peer_port}"

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process is not None, "it is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.begin()
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def begin(self) -> None:
        """Start it. One of several members answers when most of them run."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            # Ctrl-C is for whoever runs us, who stops it in turn.
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            # If we are killed, nobody else would end it.
            guard = Path(__file__).with_name("_guard.py")
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(guard), str(self.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it; nothing happens if it is not running."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.send_signal(signal.SIGCONT)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._forget()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def _forget(self) -> None:
        self._process = None
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait()
            self._guard = None

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def __enter__(self) -> "RunningEtcd":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def log_file(self) -> Path:
        """Where it logs to."""
        return self.directory / "etcd.log"

    def _command(self) -> list[str]:
        members = ",".join(f"{name}={url}" for name, url in self.peers.items())
        return [
            str(find()),
            *("--name", self.name, "--data-dir", str(self.directory / "data")),
            *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
            *("--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url),
            *("--initial-cluster", members),
            *("--heartbeat-interval", str(HEARTBEAT_MS), "--election-timeout", str(ELECTION_MS)),
            *("--auto-compaction-mode", "revision", "--auto-compaction-retention", "100000"),
            *("--logger", "zap", "--log-level", "warn"),
            *(() if self.tls is None else self.tls.options()),
        ]

    def wait_until_ready(self) -> None:
        """Wait until it takes writes."""
        deadline = time.monotonic() + PATIENCE_S
        while self.is_running and time.monotonic() < deadline:
            # It says so after a read that needs a majority: from then on it takes writes too.
            if self._ask("GET", "/health").get("health") == "true":
                return
            time.sleep(ASK_AGAIN_S)
        raise EtcdDidNotStart(f"etcd does not answer; it logged:\n{self.log_file.read_text()[-2000:]}")

    def leads(self) -> bool:
        """Whether it is the leader among the members."""
        status = self._ask("POST", "/v3/maintenance/status", "{}")
        return "leader" in status and status["leader"] == status["header"]["member_id"]

    def _connection(self) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection(HOST, self._port, timeout=ANSWER_S)
        return http.client.HTTPSConnection(HOST, self._port, timeout=ANSWER_S, context=self.tls.context())

    def _ask(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        """The answer; empty if there is none."""
        connection = self._connection()
        with suppress(OSError, http.client.HTTPException, ValueError):
            try:
                connection.request(method, path, body)
                answer: dict[str, Any] = json.loads(connection.getresponse().read())
                return answer
            finally:
                connection.close()
        return {}


class EtcdMembers:
    """An etcd of several members, each a process: most of them must run for it to answer."""

    def __init__(self, directory: Path, count: int = 3) -> None:
        self.members = [RunningEtcd(directory / f"member-{n}", f"member-{n}") for n in range(1, count + 1)]
        for member in self.members:
            member.peers = {each.name: each.peer_url for each in self.members}

    @property
    def url(self) -> str:
        """Where clients find it: all members, separated by commas."""
        return ",".join(member.url for member in self.members)

    def leader(self) -> RunningEtcd:
        """The member that leads now; waits for an election."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for member in self.members:
                if member.is_running and member.leads():
                    return member
            time.sleep(ASK_AGAIN_S)
        raise EtcdDidNotStart("no member of etcd leads")

    def start(self) -> None:
        """Start all members and wait until they answer."""
        try:
            for member in self.members:
                member.begin()
            for member in self.members:
                member.wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End all that run."""
        for member in self.members:
            member.stop()

    def __enter__(self) -> "EtcdMembers":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind((HOST, 0))
        return first.getsockname()[1], second.getsockname()[1]
