"""Where an archive lies while what writes it is killed: in a folder, or in a bucket of an object store."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from attrs import field, frozen

from compat_tests.spark.object_store import ObjectStore, object_store

COMMITS = ("_log/*.json", "topic=*/_delta_log/*.json", "topic=*/metadata/*.metadata.json")


@frozen
class ArchivePlace:
    """An archive by its address; what Spark must be told and must have to reach it."""

    address: str
    names: Callable[[], Iterator[str]]
    """Of all files there, from the archive on."""
    settings: Mapping[str, str] = field(factory=dict)
    needs: tuple[str, ...] = ()

    def commits(self) -> int:
        """How many commits there are, whatever the kind of archive."""
        return sum(any(fnmatch(name, pattern) for pattern in COMMITS) for name in self.names())


def in_folder(folder: Path) -> ArchivePlace:
    """On this machine's disk."""
    return ArchivePlace(
        str(folder), lambda: (str(path.relative_to(folder)) for pattern in COMMITS for path in folder.glob(pattern))
    )


@contextmanager
def in_bucket(folder: Path) -> Iterator[ArchivePlace]:
    """In an object store of its own, which is not killed."""
    folder.mkdir()
    with object_store(folder) as store:
        address = f"{store.make('archive')}/orders"
        settings = {f"spark.hadoop.{key}": value for key, value in store.settings.items()}
        yield ArchivePlace(address, lambda: _keys(store), settings, ("s3",))


def _keys(store: ObjectStore) -> Iterator[str]:
    pages: Any = store.client().get_paginator("list_objects_v2").paginate(Bucket="archive", Prefix="orders/")
    for page in pages:
        for entry in page.get("Contents", ()):
            yield entry["Key"].removeprefix("orders/")
