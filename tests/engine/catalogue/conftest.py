"""What the tests of catalogues share: one etcd for all of them, and how a catalogue in it is opened."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalogue.etcd.catalogue import EtcdCatalogue
from engine.catalogue.etcd.gateway import EtcdEndpoint, Gateway
from engine.catalogue.etcd.session import EtcdSession, Wait
from tidegate.etcd import RunningEtcd

Opened = Callable[..., EtcdCatalogue]


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEtcd]:
    with RunningEtcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens a catalogue of this test's own, in the etcd at the given URLs."""
    catalogues: list[EtcdCatalogue] = []

    def opened(
        *urls: str,
        timeout_s: float = 2.0,
        is_alive: Callable[[], bool] = lambda: True,
        wait: Wait = threading.Event.wait,
    ) -> EtcdCatalogue:
        gateway = Gateway([EtcdEndpoint.parse(url) for url in urls], timeout_s=timeout_s)
        session = EtcdSession(gateway, 1.0, time.monotonic, is_alive, wait)
        catalogues.append(EtcdCatalogue(gateway, f"/{tmp_path.name}", os.urandom, session))
        return catalogues[-1]

    yield opened
    for each in catalogues:
        each.close()
