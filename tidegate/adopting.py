"""A broker that ran by itself becomes the first node of a cluster: its catalogue moves to etcd, its records stay.

The broker is stopped, and its directory locked. Whatever moment the power goes at, doing it again ends well:

1. A mark and the cluster's id are put under an empty prefix: from here on the rows there are those of this directory.
2. All rows are put, and read back, and compared.
3. The directory notes that it is this node's, in this cluster. Only from now on it can be started so, and no row is put
   any more; until now it could be started by itself, as before.
4. The catalogue of its own is set aside, under another name.
5. The mark goes.

Who is interrupted before the third step begins anew: rows of before are removed, for the broker may have gone on by
itself meanwhile. That is done only where the mark is this directory's and no node has registered.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from attrs import frozen

from engine.catalogue import copy, guarded, sqlite
from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Delete, Entry, Put
from engine.catalogue.records import (
    CLUSTER_ID,
    CLUSTER_SECRET,
    CONTROLLER,
    NODES,
    PARTITIONS,
    TOPICS,
    NodeRecord,
    PartitionRecord,
    cluster_id,
)
from engine.errors import StorageError
from engine.files.files import OsFiles
from tidegate import belonging
from tidegate.belonging import Belonging, WrongDataDirectory
from tidegate.data_directory import DataDirectory, sync_directory

MARK = "adopting"
"""The key of the mark; nodes do not know it and leave it alone."""
SET_ASIDE = ".adopted"
PUT_TOGETHER = 100
T = TypeVar("T")
Progress = Callable[[int], object]
"""Told of so many more rows."""


class CannotAdopt(StorageError):
    """Why not, and what to do."""


class AdoptionMark(msgspec.Struct, frozen=True):
    """Whose rows these are."""

    cluster_id: str
    node_id: int


@frozen
class Adopted:
    """What has been moved; nothing if that was done before."""

    cluster_id: str
    node_id: int
    topics: int = 0
    rows: int = 0
    set_aside: tuple[str, ...] = ()


def adopt(directory: Path, node_id: int, shared: Catalogue, progress: Progress = lambda _rows: None) -> Adopted:
    """Move the catalogue of a directory whose broker is stopped. Raises `CannotAdopt`, or why etcd or the directory
    cannot be used; nothing is lost then."""
    if not (directory / "topics").is_dir() and belonging.read(directory) is None:
        raise CannotAdopt(f"{directory} is no data directory of a broker")
    with DataDirectory(directory):
        noted = belonging.read(directory)
        if noted is not None:
            return _finish(directory, Belonging(noted.cluster_id, node_id), noted, shared)
        rows = _own_rows(directory, node_id)
        found = {entry.key: entry.value for entry in rows}
        wanted = Belonging(found[CLUSTER_ID].decode(), node_id)
        _begin(wanted, found, shared)
        _put(rows, shared, progress)
        _verify(found, shared)
        belonging.take_over(directory, wanted)
        done = _finish(directory, wanted, wanted, shared)
        topics = sum(key.startswith(TOPICS) for key in found)
        return Adopted(done.cluster_id, node_id, topics, len(rows), done.set_aside)


# -- what there is


def _own_rows(directory: Path, node_id: int) -> Sequence[Entry]:
    """All rows that are not of the node's last life."""
    if not (directory / sqlite.FILE_NAME).exists():
        raise CannotAdopt(
            f"{directory} has no catalogue of its own; "
            f"'tidegate catalogue rebuild --data-dir {directory}' makes a lost one anew"
        )
    own = guarded.open_catalogue(str(directory), OsFiles())
    try:
        cluster_id(own, os.urandom)
        _, entries = own.entries("")
    finally:
        own.close()
    for entry in entries:
        _check_number(entry, node_id, directory)
    return [each for each in entries if not each.key.startswith(NODES) and each.key != CONTROLLER]


def _check_number(entry: Entry, node_id: int, directory: Path) -> None:
    if entry.key.startswith(PARTITIONS):
        numbers = set(PartitionRecord.decode(entry.value).replicas)
    elif entry.key.startswith(NODES):
        numbers = {NodeRecord.decode(entry.value).node_id}
    else:
        return
    if numbers != {node_id}:
        held = ", ".join(map(str, sorted(numbers)))
        raise CannotAdopt(f"{directory} is that of node {held}; give --node-id {held}")


# -- what is put


def _begin(wanted: Belonging, own: dict[str, bytes], shared: Catalogue) -> None:
    """The mark is there, and nothing else but the cluster's id."""
    mark = msgspec.json.encode(AdoptionMark(wanted.cluster_id, wanted.node_id))
    _, entries = shared.entries("")
    if entries:
        _clear(entries, mark, own, shared)
    changes = (Put(MARK, mark), Put(CLUSTER_ID, own[CLUSTER_ID]))
    compares = (Compare(CLUSTER_ID, 0), *(() if entries else (Compare(MARK, 0),)))
    try:
        shared.commit(Commit(compares, changes))
    except CatalogueConflict:
        raise CannotAdopt("somebody else has just begun a cluster there; choose another etcd.prefix") from None


def _clear(entries: Sequence[Entry], mark: bytes, own: dict[str, bytes], shared: Catalogue) -> None:
    """Remove what an attempt of before has left. Raises if it is anything else."""
    there = {entry.key: entry for entry in entries}
    if MARK not in there:
        raise CannotAdopt(
            "etcd holds a cluster already under this prefix; a node with data of its own cannot join it. "
            "Choose another prefix (etcd.prefix), and the same for all nodes"
        )
    if there[MARK].value != mark:
        held = msgspec.json.decode(there[MARK].value, type=AdoptionMark)
        raise CannotAdopt(f"another directory is being adopted there: node {held.node_id}, cluster {held.cluster_id}")
    nodes = sorted(key.removeprefix(NODES) for key in there if key.startswith(NODES))
    if nodes:
        raise CannotAdopt(f"an adoption was cut short, and node {', '.join(nodes)} has joined already; stop it first")
    strange = sorted(set(there) - set(own) - {MARK, CLUSTER_SECRET, CONTROLLER})
    if strange:
        raise CannotAdopt(
            f"etcd holds rows that are not of this directory, such as {strange[0]}; choose another prefix"
        )
    gone = [Delete(key) for key in there if key not in (MARK, CLUSTER_SECRET)]
    for some in _together(gone):
        shared.commit(Commit((Compare(MARK, there[MARK].revision),), tuple(some)))


def _put(rows: Sequence[Entry], shared: Catalogue, progress: Progress) -> None:
    """Partitions first: they count only with their topic."""
    others = [each for each in rows if each.key != CLUSTER_ID]
    others.sort(key=lambda entry: not entry.key.startswith(PARTITIONS))
    for some in _together(others):
        # Nobody else writes these; if somebody does, it is not to be overwritten.
        compares = tuple(Compare(each.key, 0) for each in some)
        try:
            shared.commit(Commit(compares, tuple(Put(each.key, each.value) for each in some)))
        except CatalogueConflict as error:
            raise CannotAdopt(f"somebody else writes there: {error}; stop all nodes and do it again") from None
        progress(len(some))


def _verify(own: dict[str, bytes], shared: Catalogue) -> None:
    there = {entry.key: entry.value for entry in shared.entries("")[1]}
    for key, value in own.items():
        # Of partitions that nobody leads yet a controller may have said so meanwhile.
        if key not in there or (there[key] != value and not key.startswith(PARTITIONS)):
            raise CannotAdopt(f"etcd does not hold {key} as it was put; do it again")


# -- from here on it is the cluster's


def _finish(directory: Path, wanted: Belonging, noted: Belonging, shared: Catalogue) -> Adopted:
    belonging.claim(directory, wanted)
    entry = shared.get(CLUSTER_ID)
    if entry is None or entry.value.decode() != noted.cluster_id:
        there = "no cluster" if entry is None else f"the cluster {entry.value.decode()}"
        raise WrongDataDirectory(f"{directory} belongs to {noted}, and etcd holds {there} under this prefix")
    set_aside = []
    for path in (directory / sqlite.FILE_NAME, Path(copy.copy_path(str(directory)))):
        if path.exists():
            os.replace(path, directory / (path.name + SET_ASIDE))
            set_aside.append(path.name + SET_ASIDE)
            sync_directory(path.parent)
    sync_directory(directory)
    mark = shared.get(MARK)
    if mark is not None and mark.value == msgspec.json.encode(AdoptionMark(noted.cluster_id, noted.node_id)):
        with suppress(CatalogueConflict):
            shared.commit(Commit((Compare(MARK, mark.revision),), (Delete(MARK),)))
    return Adopted(noted.cluster_id, noted.node_id, set_aside=tuple(set_aside))


def _together(items: Sequence[T]) -> Iterable[Sequence[T]]:
    for start in range(0, len(items), PUT_TOGETHER):
        yield items[start : start + PUT_TOGETHER]
