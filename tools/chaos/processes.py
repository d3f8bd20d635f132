"""The processes of a run: nodes and members of etcd, each of which can be killed, paused, and started again."""

import contextlib
import json
import socket
import subprocess
import time
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegate import etcd
from tidegate.testing import RunningBroker

HOST = "127.0.0.1"
START_S = 60.0
ASK_AGAIN_S = 0.05


class ChaosNode(RunningBroker):
    """A node, perhaps in a network namespace of its own."""

    def __init__(
        self, node_id: int, config: Mapping[str, str], directory: Path, *, host: str = HOST, inside: Sequence[str] = ()
    ) -> None:
        settings = {"node.id": str(node_id), "http.port": "0", **config}
        settings["listeners"] = f"PLAINTEXT://{host}:{free_port()}"
        super().__init__(settings, directory / f"node-{node_id}", directory / f"node-{node_id}.log", START_S)
        self.node_id = node_id
        self.address = settings["listeners"].removeprefix("PLAINTEXT://")
        self._inside = tuple(inside)
        self.is_paused = False

    @property
    def bootstrap(self) -> str:
        """Known before it runs."""
        return self.address

    def pause(self) -> None:
        super().pause()
        self.is_paused = True

    def resume(self) -> None:
        super().resume()
        self.is_paused = False

    def kill(self) -> None:
        self.is_paused = False
        super().kill()

    def _command(self) -> list[str]:
        return [*self._inside, *super()._command()]


class EtcdMember:
    """One of several etcds that vote; one alone is a majority."""

    def __init__(self, name: str, peers: Mapping[str, str], url: str, directory: Path) -> None:
        self.name, self.url = name, url
        self._peers = dict(peers)
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start it; it answers once a majority runs."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def leads(self) -> bool:
        """Whether it answers and says that it is the leader."""
        with contextlib.suppress(OSError, ValueError):
            status = self.ask("/v3/maintenance/status", {})
            return bool(status.get("leader") == status["header"]["member_id"])
        return False

    def ask(self, path: str, question: Mapping[str, str]) -> dict[str, Any]:
        """What it answers."""
        request = urllib.request.Request(f"{self.url}{path}", data=json.dumps(question).encode())
        with urllib.request.urlopen(request, timeout=1) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def _command(self) -> list[str]:
        peers = self._peers[self.name]
        return [
            str(etcd.find()),
            *("--name", self.name, "--data-dir", str(self._directory / "data")),
            *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
            *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
            *("--initial-cluster", ",".join(f"{name}={url}" for name, url in self._peers.items())),
            *("--heartbeat-interval", str(etcd.HEARTBEAT_MS), "--election-timeout", str(etcd.ELECTION_MS)),
            *("--logger", "zap", "--log-level", "warn"),
        ]


class EtcdMembers:
    """All of them."""

    def __init__(self, count: int, directory: Path, host: str = HOST) -> None:
        names = [f"etcd-{number}" for number in range(1, count + 1)]
        peers = {name: f"http://{host}:{free_port()}" for name in names}
        self.members = [EtcdMember(name, peers, f"http://{host}:{free_port()}", directory / name) for name in names]

    @property
    def urls(self) -> str:
        """As nodes are told of them."""
        return ",".join(member.url for member in self.members)

    def start(self) -> None:
        """All, and wait until they have a leader."""
        for member in self.members:
            member.begin()
        if self.members:
            self.leader()

    def leader(self) -> EtcdMember:
        """Who leads; waits until somebody does."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            for member in self.members:
                if member.leads():
                    return member
            time.sleep(ASK_AGAIN_S)
        raise RuntimeError("etcd has no leader")

    def value(self, key: str) -> bytes | None:
        """What stands under a key."""
        for member in self.members:
            with contextlib.suppress(OSError, ValueError):
                found = member.ask("/v3/kv/range", {"key": b64encode(key.encode()).decode()}).get("kvs", [])
                return b64decode(found[0]["value"]) if found else None
        return None

    def kill(self) -> None:
        """All of them."""
        for member in self.members:
            member.kill()


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])
