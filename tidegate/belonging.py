"""To which cluster a data directory belongs, and as which of its nodes: noted there once, and checked at every start.

A directory that is started as another node, or in another cluster, would bring records where they do not belong.
"""

import os
from pathlib import Path

import msgspec
from crc32c import crc32c

from engine.errors import StorageError
from engine.files.files import open_private
from tidegate.data_directory import TEMPORARY_SUFFIX, sync_directory

FILE_NAME = "cluster.member"
RECORDS = "topics"


class WrongDataDirectory(StorageError):
    """The data directory is not this node's; the message says whose it is and what to do."""


class Belonging(msgspec.Struct, frozen=True):
    """What the file says."""

    cluster_id: str
    node_id: int

    def __str__(self) -> str:
        return f"node {self.node_id} of the cluster {self.cluster_id}"

    def encode(self) -> bytes:
        """A checksum, then the rest."""
        body = msgspec.json.encode(self)
        return f"{crc32c(body):08x}\n".encode() + body


def read(directory: Path) -> Belonging | None:
    """What is noted; None if nothing is."""
    path = directory / FILE_NAME
    try:
        checksum, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if checksum != f"{crc32c(body):08x}".encode():
        raise WrongDataDirectory(f"{path}, which tells to which cluster the data belongs, is damaged")
    return msgspec.json.decode(body, type=Belonging)


def claim(directory: Path, wanted: Belonging) -> None:
    """Note it if nothing is noted; refuse if it says something else."""
    noted = read(directory)
    if noted is None:
        _refuse_records(directory)
        _note(directory, wanted)
    elif noted.cluster_id != wanted.cluster_id:
        raise WrongDataDirectory(
            f"the data directory {directory} belongs to {noted}, and etcd holds the cluster {wanted.cluster_id}; "
            f"choose another directory with --data-dir, or look whether --etcd and etcd.prefix are what they were"
        )
    elif noted.node_id != wanted.node_id:
        raise WrongDataDirectory(
            f"the data directory {directory} belongs to {noted}, and was started as node {wanted.node_id}; "
            f"give --node-id {noted.node_id}, or choose another directory with --data-dir"
        )


def take_over(directory: Path, wanted: Belonging) -> None:
    """Note it of a directory that holds records: whoever calls knows that they are the cluster's."""
    assert read(directory) is None, "a directory belongs to one cluster"
    _note(directory, wanted)


def refuse_in_cluster(directory: Path, own_catalogue: str) -> None:
    """A directory with a catalogue of its own cannot be a cluster's just so."""
    if read(directory) is None and (directory / own_catalogue).exists():
        raise WrongDataDirectory(
            f"the data directory {directory} holds the topics of a broker that ran by itself; "
            f"choose another directory with --data-dir, or take them into the cluster with `tidegate cluster adopt`"
        )


def refuse_alone(directory: Path) -> None:
    """A directory of a cluster's node cannot be started by itself."""
    noted = read(directory)
    if noted is not None:
        raise WrongDataDirectory(
            f"the data directory {directory} belongs to {noted}; give --etcd with where that cluster's etcd is, "
            f"or choose another directory with --data-dir"
        )


def _refuse_records(directory: Path) -> None:
    if any((directory / RECORDS).glob("*")):
        raise WrongDataDirectory(
            f"the data directory {directory} holds records and nothing tells whose; choose another with --data-dir"
        )


def _note(directory: Path, wanted: Belonging) -> None:
    path = directory / FILE_NAME
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    descriptor = open_private(str(temporary), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "wb") as file:
        file.write(wanted.encode())
        file.flush()
        os.fsync(descriptor)
    os.replace(temporary, path)
    sync_directory(directory)
