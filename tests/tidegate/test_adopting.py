"""A broker that ran by itself becomes the first node of a cluster, whatever moment the power goes at."""

import os
from pathlib import Path

import pytest
from attrs import evolve

from engine.catalogue.catalogue import Catalogue, Commit, Put
from engine.catalogue.guarded import open_catalogue
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import CLUSTER_ID, NODES, NodeRecord, PartitionRecord, TopicRecord, cluster_id
from engine.catalogue.sqlite import FILE_NAME
from engine.files.files import OsFiles
from tidegate import belonging
from tidegate.adopting import MARK, CannotAdopt, adopt
from tidegate.belonging import Belonging, WrongDataDirectory
from tidegate.data_directory import DataDirectory, DataDirectoryInUse

TOPICS = [TopicRecord(f"t{number}", bytes([number] * 16), 100) for number in range(3)]


class PowerCut(Exception):
    """Nothing more happens."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory of node 1 with three topics."""
    with DataDirectory(tmp_path / "data") as directory:
        own = open_catalogue(str(directory.path), OsFiles())
        cluster_id(own, os.urandom)
        own.commit(Commit((), (Put(f"{NODES}1", NodeRecord(1, ("PLAINTEXT://h:9092",)).encode()),)))
        for topic in TOPICS:
            rows = [Put(topic.partition_key(index), PartitionRecord.on(1).encode()) for index in range(100)]
            own.commit(Commit((), (Put(topic.key, topic.encode()), *rows)))
        own.close()
        return directory.path


def rows(catalogue: Catalogue) -> dict[str, bytes]:
    return {entry.key: entry.value for entry in catalogue.entries("")[1]}


def own_rows(data: Path) -> dict[str, bytes]:
    own = open_catalogue(str(data), OsFiles())
    try:
        return {key: value for key, value in rows(own).items() if not key.startswith(NODES)}
    finally:
        own.close()


def test_all_rows_move_and_the_directory_is_the_clusters(data: Path) -> None:
    before, shared, told = own_rows(data), MemoryCatalogue(), list[int]()
    done = adopt(data, 1, shared, told.append)
    assert rows(shared) == before
    assert (done.topics, done.rows, done.node_id) == (3, len(before), 1)
    assert sum(told) == len(before) - 1
    assert belonging.read(data) == Belonging(before[CLUSTER_ID].decode(), 1)
    assert not (data / FILE_NAME).exists()
    assert (data / f"{FILE_NAME}.adopted").exists()
    assert not (data / "topics" / "catalogue.copy").exists()
    belonging.refuse_in_cluster(data, FILE_NAME)


def test_doing_it_again_changes_nothing(data: Path) -> None:
    shared = MemoryCatalogue()
    adopt(data, 1, shared)
    revision = shared.revision()
    again = adopt(data, 1, shared)
    assert (again.rows, again.set_aside, shared.revision()) == (0, (), revision)


CUTS = ("_put", "_verify", "belonging.take_over", "_finish", "os.replace", "sync_directory")


@pytest.mark.parametrize("step", CUTS)
@pytest.mark.parametrize("goes_on_alone", [False, True])
def test_whatever_cuts_it_short_doing_it_again_ends_well(
    data: Path, monkeypatch: pytest.MonkeyPatch, step: str, goes_on_alone: bool
) -> None:
    shared = MemoryCatalogue()

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as power:
        power.setattr(f"tidegate.adopting.{step}", cut)
        with pytest.raises(PowerCut):
            adopt(data, 1, shared)
    is_noted = belonging.read(data) is not None
    if goes_on_alone and not is_noted:
        # Until then it may be started by itself, as before.
        own = open_catalogue(str(data), OsFiles())
        own.commit(Commit((), (Put(TOPICS[0].key, evolve(TOPICS[0], configs={"retention.ms": "1"}).encode()),)))
        own.close()
    expected = own_rows(data) if (data / FILE_NAME).exists() else rows(shared)
    adopt(data, 1, shared)
    expected.pop(MARK, None)
    assert rows(shared) == expected
    assert not (data / FILE_NAME).exists()


def test_one_that_is_cut_between_rows_begins_anew(data: Path) -> None:
    shared = MemoryCatalogue()

    def cut(_count: int) -> None:
        raise PowerCut

    with pytest.raises(PowerCut):
        adopt(data, 1, shared, cut)
    assert 1 < len(rows(shared)) < 300
    adopt(data, 1, shared)
    assert sum(key.startswith("partitions/") for key in rows(shared)) == 300


def test_a_prefix_where_a_cluster_is_is_refused(data: Path) -> None:
    shared = MemoryCatalogue()
    cluster_id(shared, os.urandom)
    with pytest.raises(CannotAdopt, match="holds a cluster already"):
        adopt(data, 1, shared)
    assert (data / FILE_NAME).exists()
    assert belonging.read(data) is None


def test_another_directory_that_is_being_adopted_is_left_alone(data: Path, tmp_path: Path) -> None:
    shared = MemoryCatalogue()
    shared.commit(Commit((), (Put(MARK, b'{"cluster_id":"other","node_id":1}'),)))
    with pytest.raises(CannotAdopt, match="another directory"):
        adopt(data, 1, shared)


def test_nodes_that_came_too_early_are_stopped_first(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = MemoryCatalogue()

    def cut(_count: int) -> None:
        shared.commit(Commit((), (Put(f"{NODES}2", NodeRecord(2, ()).encode()),)))
        raise PowerCut

    with pytest.raises(PowerCut):
        adopt(data, 1, shared, cut)
    with pytest.raises(CannotAdopt, match="node 2 has joined"):
        adopt(data, 1, shared)


def test_the_number_must_be_the_one_that_it_had(data: Path) -> None:
    with pytest.raises(CannotAdopt, match="give --node-id 1"):
        adopt(data, 2, MemoryCatalogue())
    shared = MemoryCatalogue()
    adopt(data, 1, shared)
    with pytest.raises(WrongDataDirectory, match="--node-id 1"):
        adopt(data, 2, shared)
    with pytest.raises(WrongDataDirectory, match="no cluster"):
        adopt(data, 1, MemoryCatalogue())


def test_what_is_no_data_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotAdopt, match="no data directory"):
        adopt(tmp_path, 1, MemoryCatalogue())
    (tmp_path / "topics").mkdir()
    with pytest.raises(CannotAdopt, match="no catalogue of its own"):
        adopt(tmp_path, 1, MemoryCatalogue())


def test_a_broker_that_runs_is_not_adopted(data: Path) -> None:
    with DataDirectory(data), pytest.raises(DataDirectoryInUse):
        adopt(data, 1, MemoryCatalogue())
