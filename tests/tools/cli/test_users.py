"""Users of a cluster, made by its etcd before any of its nodes can be asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinators.access.scram import BY_NAME
from tidegate.etcd import RunningEtcd
from tools.cli.errors import CliError, NotFound
from tools.cli.users import EtcdUsers

MECHANISM = BY_NAME["SCRAM-SHA-512"]


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEtcd]:
    with RunningEtcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


def test_the_first_user_of_a_cluster_is_made_without_a_node(etcd: RunningEtcd) -> None:
    users = EtcdUsers(etcd.url)
    users.put("admin", "sesame", [MECHANISM], 4096)
    assert users.list() == [{"user": "admin", "mechanisms": ["SCRAM-SHA-512"], "iterations": [4096]}]
    users.delete("admin")
    assert users.list() == []
    with pytest.raises(NotFound):
        users.delete("admin")


def test_an_etcd_that_does_not_answer_is_said_to(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="etcd"):
        EtcdUsers("http://127.0.0.1:9").list()
