"""What the tests of catalogues share: one etcd for all of them."""

from collections.abc import Iterator

import pytest

from tidegate.etcd import RunningEtcd


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEtcd]:
    with RunningEtcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running
