"""Making a catalogue anew, for a stopped broker: from its second copy, and what the old one and the files still tell.

What must not be handed out twice stays spent: topics keep their ids, and producer ids go on well above all that are
known to have been given. The old database is set aside, never removed.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress

from attrs import define, field, frozen

from engine.catalogue.catalogue import Entry
from engine.catalogue.copy import CatalogueCopy, CopiedState, copy_path, read_copy
from engine.catalogue.guarded import unknown_topics
from engine.catalogue.records import DELETING, PRODUCER_IDS, TOPICS, PartitionRecord, TopicRecord
from engine.catalogue.sqlite import FILE_NAME, SqliteCatalogue
from engine.errors import BrokerError, StorageError
from engine.files.files import Files
from engine.log.segment import LOG_SUFFIX, walk_headers

PRODUCER_IDS_SKIPPED = 100_000
"""Above what the copy says: more than could have been reserved since its last change."""
PRODUCER_IDS_SKIPPED_UNKNOWN = 10_000_000
"""Above the greatest that any log holds, where no copy says what was reserved."""
SUFFIXES = ("", "-wal", "-shm", "-journal")
NEW_SUFFIX = ".new"


@frozen
class Rebuilt:
    """What was made."""

    topics: int
    deleting: int
    revision: int
    from_copy: bool
    """Whether a whole second copy was there: then nothing was guessed."""
    adopted: tuple[str, ...]
    set_aside: tuple[str, ...]


class UnknownTopics(StorageError):
    """There are topics on disk whose names nobody knows."""

    def __init__(self, topic_ids: list[str]) -> None:
        super().__init__(f"{len(topic_ids)} topics on disk are known to nobody: {', '.join(topic_ids)}")
        self.topic_ids = topic_ids


def rebuild(data_dir: str, files: Files, *, node_id: int, names: Mapping[str, str], adopt: bool = False) -> Rebuilt:
    """Make it anew; whoever calls holds the directory's lock. `names` are of topics by their ids, for those that
    nothing else tells; with `adopt` the rest of them are called `recovered-<id>`. Raises `UnknownTopics`, OSError."""
    draft = _Draft.of(data_dir, files)
    adopted = draft.adopt(node_id, names, adopt=adopt)
    draft.move_producer_ids()
    revision = 1 + max([draft.copied.revision, *(entry.revision for entry in draft.entries.values())])
    entries = [draft.entries[key] for key in sorted(draft.entries)]
    set_aside = _put_in_place(data_dir, files, revision, entries)
    CatalogueCopy(files, copy_path(data_dir)).rewrite(revision, entries)
    topics, deleting = (sum(entry.key.startswith(prefix) for entry in entries) for prefix in (TOPICS, DELETING))
    return Rebuilt(topics, deleting, revision, draft.is_whole, tuple(adopted), tuple(set_aside))


@define(eq=False)
class _Draft:
    """What the new catalogue will hold."""

    data_dir: str
    files: Files
    copied: CopiedState
    is_whole: bool
    old: dict[str, Entry]
    """What the old database can still be made to say."""
    entries: dict[str, Entry] = field(factory=dict)

    @classmethod
    def of(cls, data_dir: str, files: Files) -> "_Draft":
        copied = read_copy(files, copy_path(data_dir))
        is_whole = copied is not None and copied.damaged_at is None and bool(copied.entries)
        draft = cls(data_dir, files, copied or CopiedState(), is_whole, _readable_rows(data_dir))
        draft.entries = dict(draft.copied.entries)
        if not is_whole:
            # Neither is whole: of each row the later one that can be read.
            for key, entry in draft.old.items():
                known = draft.entries.get(key)
                if known is None or known.revision < entry.revision:
                    draft.entries[key] = entry
            draft.drop_incomplete()
        return draft

    def drop_incomplete(self) -> None:
        """Rows that cannot be read, and topics without all their partitions, are no rows."""
        for key, entry in tuple(self.entries.items()):
            if key.startswith((TOPICS, DELETING)) and _topic(entry) is None:
                del self.entries[key]
        for topic in self._topics():
            if any(topic.partition_key(index) not in self.entries for index in range(topic.partition_count)):
                del self.entries[topic.key]

    def _topics(self) -> list[TopicRecord]:
        found = (_topic(entry) for key, entry in self.entries.items() if key.startswith(TOPICS))
        return [topic for topic in found if topic is not None]

    def adopt(self, node_id: int, names: Mapping[str, str], *, adopt: bool) -> list[str]:
        """Topics on disk that no row tells: those that the old database names, then those that the caller does."""
        taken = {topic.name for topic in self._topics()}
        told = {topic.id.hex(): topic for topic in map(_topic, self.old.values()) if topic is not None}
        unknown: list[str] = []
        adopted: list[str] = []
        for topic_id in unknown_topics(self.data_dir, self.files, list(self.entries.values())):
            topic = told.get(topic_id)
            name = names.get(topic_id) or (topic.name if topic is not None else None)
            if name is None and adopt:
                name = f"recovered-{topic_id}"
            if name is None:
                unknown.append(topic_id)
                continue
            if name in taken:
                raise StorageError(f"two topics would be called {name!r}: {topic_id} needs another name")
            taken.add(name)
            adopted.append(name)
            self._add(self._on_disk(topic_id, name, topic), node_id)
        if unknown:
            raise UnknownTopics(unknown)
        return adopted

    def _on_disk(self, topic_id: str, name: str, told: TopicRecord | None) -> TopicRecord:
        folders = self.files.list_directories(os.path.join(self.data_dir, "topics", topic_id))
        count = 1 + max((int(folder) for folder in folders if folder.isdecimal()), default=0)
        if told is not None:
            count = max(count, told.partition_count)
        return TopicRecord(name, bytes.fromhex(topic_id), count, told.configs if told is not None else {})

    def _add(self, topic: TopicRecord, node_id: int) -> None:
        self.entries[topic.key] = Entry(topic.key, topic.encode(), self.copied.revision + 1)
        for index in range(topic.partition_count):
            key = topic.partition_key(index)
            value = PartitionRecord.on(node_id).encode()
            self.entries[key] = self.old.get(key) or Entry(key, value, self.copied.revision + 1)

    def move_producer_ids(self) -> None:
        """Go on where nobody can have been."""
        known = [_number(rows.get(PRODUCER_IDS)) for rows in (self.copied.entries, self.old)]
        greatest = max((number for number in known if number is not None), default=None)
        if self.is_whole and greatest is None:
            return  # nobody was given one
        skipped = PRODUCER_IDS_SKIPPED
        if not self.is_whole:
            greatest = max(greatest or 0, _greatest_producer_id(self.data_dir, self.files) + 1)
            skipped = PRODUCER_IDS_SKIPPED_UNKNOWN
        value = str((greatest or 0) + skipped).encode()
        self.entries[PRODUCER_IDS] = Entry(PRODUCER_IDS, value, self.copied.revision + 1)


def _topic(entry: Entry) -> TopicRecord | None:
    if not entry.key.startswith((TOPICS, DELETING)):
        return None
    try:
        topic = TopicRecord.decode(entry.value)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return topic if entry.key in (topic.key, topic.deleting_key) else None


def _number(entry: Entry | None) -> int | None:
    return int(entry.value) if entry is not None and entry.value.isdigit() else None


def _readable_rows(data_dir: str) -> dict[str, Entry]:
    """What of the old database can be read, up to the first thing that cannot."""
    found: dict[str, Entry] = {}
    path = os.path.join(data_dir, FILE_NAME)
    if not os.path.exists(path):
        return found
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        for key, value, revision in connection.execute("SELECT key, value, revision FROM entries"):
            if isinstance(key, str) and isinstance(value, bytes) and isinstance(revision, int):
                found[key] = Entry(key, value, revision)
    return found


def _greatest_producer_id(data_dir: str, files: Files) -> int:
    """Of all batches on disk; damaged files are read as far as that goes."""
    greatest = -1
    for path in _segments(files, os.path.join(data_dir, "topics")):
        file = files.open(path)
        with closing(file), suppress(BrokerError):
            for _, header in walk_headers(file, 0, file.size()):
                greatest = max(greatest, header.producer_id)
    return greatest


def _segments(files: Files, directory: str) -> Iterator[str]:
    for name in files.list(directory):
        if name.endswith(LOG_SUFFIX):
            yield os.path.join(directory, name)
    for name in files.list_directories(directory):
        yield from _segments(files, os.path.join(directory, name))


def _put_in_place(data_dir: str, files: Files, revision: int, entries: list[Entry]) -> list[str]:
    """The new database in the place of the old one, which is set aside; a crash in between is repeated by the next
    attempt, for then there is none."""
    path = os.path.join(data_dir, FILE_NAME)
    for suffix in SUFFIXES:
        files.unlink(path + NEW_SUFFIX + suffix)
    SqliteCatalogue.make(path + NEW_SUFFIX, revision, entries)
    present = files.list(data_dir)
    number = 1
    while any(f"{FILE_NAME}.damaged-{number}{suffix}" in present for suffix in SUFFIXES):
        number += 1
    set_aside = []
    for suffix in reversed(SUFFIXES):
        if FILE_NAME + suffix in present:
            files.rename(path + suffix, f"{path}.damaged-{number}{suffix}")
            set_aside.append(f"{FILE_NAME}.damaged-{number}{suffix}")
    files.rename(path + NEW_SUFFIX, path)
    files.sync_directory(data_dir)
    return set_aside
