"""The operations door around the broker's life."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from coordinators.cluster.replica_manager import ReplicaManager
from tests.tidegate.processes import serving
from tests.wire.http.door import Caller, open_http_door
from tests.wire.kafka.door import config, open_door
from tidegate.broker import Broker
from tidegate.listening import CannotListen


@trio_test
async def test_probes_are_answered_while_logs_are_recovered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, go_on = trio.Event(), trio.Event()

    async def slow(self: ReplicaManager, **options: object) -> None:
        reached.set()
        await go_on.wait()

    monkeypatch.setattr(ReplicaManager, "open_all", slow)
    broker = Broker(config(tmp_path, {"http.port": -1}))
    async with trio.open_nursery() as nursery:
        done = trio.Event()

        async def run() -> None:
            async with broker:
                await done.wait()

        nursery.start_soon(run)
        await reached.wait()
        assert broker.http_address is not None
        port = int(broker.http_address.rsplit(":", 1)[1])
        for path, status in (("/health/live", 200), ("/health/ready", 503), ("/topics", 503), ("/metrics", 200)):
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                assert (await Caller(stream).ask("GET", path)).status == status, path
        go_on.set()
        done.set()


@trio_test
async def test_it_is_off_with_port_0(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        assert door.broker.http_address is None


@trio_test
async def test_elsewhere_than_on_loopback_a_token_is_needed(tmp_path: Path) -> None:
    with pytest.raises(CannotListen, match=r"http\.host=0\.0\.0\.0 is not loopback.*http\.token"):
        async with Broker(config(tmp_path, {"http.port": -1, "http.host": "0.0.0.0"})):
            pass
    async with open_http_door(tmp_path, {"http.host": "0.0.0.0", "http.token": "secret"}) as door:
        assert (await door.ask("GET", "/health")).status == 401
        answer = await door.ask("GET", "/health", {"authorization": "Bearer secret", "host": "broker.example"})
        assert answer.status == 200
        assert (await door.ask("GET", "/health/ready")).status == 200


@trio_test
async def test_on_loopback_only_its_own_names_are_answered_to(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        assert (await door.ask("GET", "/health", {"host": "evil.example"})).status == 421
        assert (await door.ask("GET", "/health", {"host": f"127.0.0.1:{door.port}"})).status == 200


def test_the_ready_line_tells_its_address(tmp_path: Path) -> None:
    with serving(tmp_path, "--http-port", "-1") as server:
        assert server.line.startswith("tidegate ready kafka=127.0.0.1:")
        http = server.line.split(" http=")[1]
        assert http.startswith("127.0.0.1:")
        assert int(http.split(":")[1]) > 0
