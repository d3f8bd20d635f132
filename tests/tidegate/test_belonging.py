"""A data directory is one node's, in one cluster, and says so to whoever takes it for another's."""

import stat
from pathlib import Path

import pytest

from engine.catalogue.sqlite import FILE_NAME as OWN_CATALOGUE
from tidegate.belonging import FILE_NAME, Belonging, WrongDataDirectory, claim, read, refuse_alone, refuse_in_cluster

NODE = Belonging("a-cluster", 2)


def test_a_new_directory_becomes_the_nodes_and_stays_so(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    claim(tmp_path, NODE)
    claim(tmp_path, NODE)
    assert read(tmp_path) == NODE
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE_NAME]
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_another_number_is_refused_with_the_right_one(tmp_path: Path) -> None:
    claim(tmp_path, NODE)
    with pytest.raises(WrongDataDirectory, match=r"belongs to node 2 of the cluster a-cluster.*--node-id 2"):
        claim(tmp_path, Belonging("a-cluster", 3))


def test_another_cluster_is_refused(tmp_path: Path) -> None:
    claim(tmp_path, NODE)
    with pytest.raises(WrongDataDirectory, match=r"cluster a-cluster, and etcd holds the cluster another"):
        claim(tmp_path, Belonging("another", 2))


def test_what_cannot_be_read_is_not_guessed(tmp_path: Path) -> None:
    claim(tmp_path, NODE)
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes().replace(b"a-cluster", b"b-cluster"))
    with pytest.raises(WrongDataDirectory, match="damaged"):
        claim(tmp_path, NODE)


def test_records_that_nobody_knows_of_are_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "topics" / "0123").mkdir(parents=True)
    with pytest.raises(WrongDataDirectory, match="nothing tells whose"):
        claim(tmp_path, NODE)
    assert read(tmp_path) is None


def test_a_broker_by_itself_is_adopted_not_overwritten(tmp_path: Path) -> None:
    refuse_in_cluster(tmp_path, OWN_CATALOGUE)
    (tmp_path / OWN_CATALOGUE).touch()
    with pytest.raises(WrongDataDirectory, match="tidegate cluster adopt"):
        refuse_in_cluster(tmp_path, OWN_CATALOGUE)


def test_a_node_of_a_cluster_does_not_start_by_itself(tmp_path: Path) -> None:
    refuse_alone(tmp_path)
    claim(tmp_path, NODE)
    with pytest.raises(WrongDataDirectory, match="give --etcd"):
        refuse_alone(tmp_path)
