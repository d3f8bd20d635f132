"""Which catalogue a node stands on, and whether its loop lives, as the thread that keeps its session asks."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, trio_test

from engine.catalogue.etcd.catalogue import EtcdCatalogue
from engine.catalogue.etcd.gateway import EtcdUnavailable
from engine.catalogue.guarded import GuardedCatalogue
from engine.catalogue.records import CLUSTER_ID
from engine.clock import ManualClock, SystemClock
from engine.files.files import OsFiles
from tidegate.belonging import WrongDataDirectory
from tidegate.broker import Broker
from tidegate.catalogues import LoopStamp, open_catalogue
from tidegate.config import BrokerConfig
from tidegate.etcd import RunningEtcd


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEtcd]:
    with RunningEtcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


def _config(directory: Path, **keys: object) -> BrokerConfig:
    named = {name.replace("_", "."): value for name, value in keys.items()}
    return BrokerConfig.load(values={"log.dirs": str(directory), **named})


def _open(config: BrokerConfig, directory: Path):  # type: ignore[no-untyped-def]
    return open_catalogue(config, directory, OsFiles(), SystemClock())


@trio_test
async def test_without_etcd_it_is_the_directorys_own_and_looked_at_for_damage(tmp_path: Path) -> None:
    async with _open(_config(tmp_path), tmp_path) as opened:
        assert isinstance(opened.catalogue, GuardedCatalogue)
        (file,) = opened.other_files
        assert file.problem() is None


@trio_test
async def test_with_etcd_it_is_the_clusters_and_its_session_is_kept(tmp_path: Path, etcd: RunningEtcd) -> None:
    config = _config(tmp_path, etcd_endpoints=etcd.url, etcd_prefix="/kept", node_id=2)
    async with _open(config, tmp_path) as opened:
        assert isinstance(opened.catalogue, EtcdCatalogue)
        session = opened.catalogue.session
        await trio.to_thread.run_sync(session.open)
        assert session.duration_s == 2.0
        await trio.sleep(1.5)
        assert session.silent_s() < session.duration_s
    assert session.is_lost, "what was ephemeral goes at once"


@trio_test
async def test_a_loop_that_hangs_loses_the_session(tmp_path: Path, etcd: RunningEtcd) -> None:
    config = _config(tmp_path, etcd_endpoints=etcd.url, etcd_prefix="/hangs")
    async with _open(config, tmp_path) as opened:
        session = opened.catalogue.session
        await trio.to_thread.run_sync(session.open)
        time.sleep(3.5)  # noqa: ASYNC251 - that is what hangs
        with trio.fail_after(5):
            while not session.is_lost:  # noqa: ASYNC110 - a thread finds out
                await trio.sleep(0.05)


@trio_test
async def test_a_directory_of_another_cluster_or_node_is_refused(tmp_path: Path, etcd: RunningEtcd) -> None:
    async with _open(_config(tmp_path, etcd_endpoints=etcd.url, etcd_prefix="/one"), tmp_path) as opened:
        entry = opened.catalogue.get(CLUSTER_ID)
        assert entry is not None
    with pytest.RaisesGroup(pytest.RaisesExc(WrongDataDirectory, match=entry.value.decode())):
        async with _open(_config(tmp_path, etcd_endpoints=etcd.url, etcd_prefix="/other"), tmp_path):
            pass
    with pytest.raises(WrongDataDirectory, match="--node-id 1"):
        async with Broker(
            _config(
                tmp_path, etcd_endpoints=etcd.url, etcd_prefix="/one", node_id=3, listeners="PLAINTEXT://127.0.0.1:0"
            )
        ):
            pass
    with pytest.raises(WrongDataDirectory, match="give --etcd"):
        async with _open(_config(tmp_path), tmp_path):
            pass


@trio_test
async def test_a_broker_by_itself_does_not_become_a_node_just_so(tmp_path: Path, etcd: RunningEtcd) -> None:
    async with _open(_config(tmp_path), tmp_path):
        pass
    with pytest.RaisesGroup(pytest.RaisesExc(WrongDataDirectory, match="cluster adopt")):
        async with _open(_config(tmp_path, etcd_endpoints=etcd.url), tmp_path):
            pass


@trio_test
async def test_an_etcd_that_is_not_there_is_said_soon(tmp_path: Path) -> None:
    config = _config(tmp_path, etcd_endpoints="http://127.0.0.1:1")
    with trio.fail_after(10), pytest.RaisesGroup(pytest.RaisesExc(EtcdUnavailable, match="127.0.0.1:1")):
        async with _open(config, tmp_path):
            pass


def test_a_loop_lives_as_long_as_it_stamps() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        stamp, scope = LoopStamp(clock, 1.0), trio.CancelScope()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stamp.keep, scope)
            for _ in range(10):
                await trio.sleep(0.5)
                clock.advance_ms(500)
                assert stamp.is_alive()
            scope.cancel()
        clock.advance_ms(1_000)
        assert not stamp.is_alive()

    trio.run(scenario, clock=MockClock(autojump_threshold=0))
