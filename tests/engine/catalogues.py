"""What the tests of a data directory's catalogue share: one with topics in it, and its files as a crash leaves them."""

from pathlib import Path

from engine.catalogue.catalogue import Catalogue, Commit, Delete, Put
from engine.catalogue.guarded import GuardedCatalogue, open_catalogue
from engine.catalogue.records import PartitionRecord, TopicRecord
from engine.files.files import OsFiles

FILES = OsFiles()


def topic(name: str, partitions: int = 1, **configs: str) -> TopicRecord:
    topic_id = name.encode().ljust(16, b"\0")[:16]
    return TopicRecord(name, topic_id, partitions, {key.replace("_", "."): value for key, value in configs.items()})


def create(catalogue: Catalogue, record: TopicRecord) -> None:
    rows = [Put(record.key, record.encode())]
    rows += [
        Put(record.partition_key(index), PartitionRecord.on(1).encode()) for index in range(record.partition_count)
    ]
    catalogue.commit(Commit((), tuple(rows)))


def delete(catalogue: Catalogue, record: TopicRecord) -> None:
    """Its first step: the files are still there."""
    rows = [Delete(record.key), Put(record.deleting_key, record.encode())]
    rows += [Delete(record.partition_key(index)) for index in range(record.partition_count)]
    catalogue.commit(Commit((), tuple(rows)))


def lay_out(data_dir: Path, record: TopicRecord) -> Path:
    """A partition with records, as the log would have it."""
    folder = data_dir / "topics" / record.id.hex() / "0"
    folder.mkdir(parents=True)
    (folder / "00000000000000000000.log").write_bytes(b"records")
    return folder


def opened(data_dir: Path) -> GuardedCatalogue:
    return open_catalogue(str(data_dir), FILES)


def rows(catalogue: Catalogue) -> dict[str, tuple[bytes, int]]:
    return {entry.key: (entry.value, entry.revision) for entry in catalogue.entries("")[1]}


def image(data_dir: Path, target: Path) -> Path:
    """The files as a kill would leave them: the database is not closed."""
    for path in sorted(data_dir.rglob("*")):
        if path.is_file():
            copied = target / path.relative_to(data_dir)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(path.read_bytes())
    return target
