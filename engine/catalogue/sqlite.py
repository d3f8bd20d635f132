"""The catalogue of a single node: SQLite in the data directory.

A write-ahead log with `synchronous=FULL`: a commit is one fsync, and it is durable when the call returns. The
process holds the only connection (the data directory has a lock file), so exclusive locking saves
the shared-memory file. History for watches is bounded: the newest `HISTORY_REVISIONS` are kept.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from attrs import define, field

from engine.catalogue.catalogue import (
    LASTING,
    CatalogueCompacted,
    CatalogueConflict,
    Commit,
    Delete,
    Entry,
    Event,
    Lasting,
    OnNews,
    Put,
    check_commit,
)
from engine.catalogue.watch import CommitSignal, LocalWatch
from engine.errors import StorageError
from engine.files.files import open_private

FILE_NAME = "catalogue.sqlite"
IN_MEMORY = ":memory:"
SCHEMA_VERSION = 1
HISTORY_REVISIONS = 1_000
# Old history is dropped in steps, so that most commits do not pay for it.
HISTORY_STEP = 100

_SCHEMA = """
CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE events (revision INTEGER NOT NULL, key TEXT NOT NULL, value BLOB);
CREATE INDEX events_by_revision ON events (revision);
CREATE TABLE head (revision INTEGER NOT NULL, compacted_revision INTEGER NOT NULL);
INSERT INTO head VALUES (0, 0);
"""


@define(eq=False)
class SqliteCatalogue:
    """Opened with `SqliteCatalogue.open(path)`; `:memory:` keeps nothing."""

    _path: str
    _connection: sqlite3.Connection
    _revision: int
    _lock: threading.RLock = field(factory=threading.RLock, init=False)
    _signal: CommitSignal = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._signal = CommitSignal(self._revision)

    @classmethod
    def open(cls, path: str) -> "SqliteCatalogue":
        """Makes the file if there is none; `StorageError` if it cannot be read or is of another version."""
        try:
            if path != IN_MEMORY:
                # Before SQLite makes it: the files beside it get the same mode.
                os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW))
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            try:
                revision = _prepare(connection, path)
            except BaseException:
                connection.close()
                raise
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            # A damaged row may have another type than was written.
            raise StorageError(f"The catalogue {path} cannot be opened: {error}") from error
        return cls(path, connection, revision)

    @classmethod
    def make(cls, path: str, revision: int, entries: Sequence[Entry]) -> None:
        """A new file that holds these, as of that revision and without history; durable when it returns."""
        made = cls.open(path)
        try:
            with made._storage(), made._transaction():
                rows = [(entry.key, entry.value, entry.revision) for entry in entries]
                made._connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
                made._connection.execute("UPDATE head SET revision = ?, compacted_revision = ?", (revision, revision))
        finally:
            made.close()

    def revision(self) -> int:
        return self._revision

    def get(self, key: str) -> Entry | None:
        with self._storage():
            query = "SELECT key, value, revision FROM entries WHERE key = ?"
            row = self._connection.execute(query, (key,)).fetchone()
        return Entry(*row) if row else None

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        with self._storage():
            # Keys are ASCII, so everything that begins with the prefix sorts before prefix + DEL.
            query = "SELECT key, value, revision FROM entries WHERE key >= ? AND key < ? ORDER BY key"
            rows = self._connection.execute(query, (prefix, prefix + "\x7f")).fetchall()
            return self._revision, [Entry(*row) for row in rows]

    def commit(self, commit: Commit) -> int:
        check_commit(commit)
        with self._storage(), self._transaction():
            self._compare(commit)
            if not commit.changes:
                return self._revision
            revision = self._revision + 1
            self._record(commit.changes, revision)
            self._connection.execute("UPDATE head SET revision = ?", (revision,))
            self._compact(revision)
        # The commit is durable here; before, the old revision was the truth.
        self._revision = revision
        self._signal.committed(revision)
        return revision

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> LocalWatch:
        self.events(after_revision, prefix)
        return LocalWatch(self.events, self._signal, prefix, after_revision, on_news)

    @property
    def path(self) -> str:
        """Where it is."""
        return self._path

    def check(self) -> None:
        """Raises `StorageError` if its structure is broken."""
        with self._storage():
            _quick_check(self._connection, self._path)

    @property
    def session(self) -> Lasting:
        return LASTING

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _compare(self, commit: Commit) -> None:
        for compare in commit.compares:
            query = "SELECT revision FROM entries WHERE key = ?"
            row = self._connection.execute(query, (compare.key,)).fetchone()
            if (row[0] if row else 0) != compare.revision:
                raise CatalogueConflict(f"{compare.key} was changed meanwhile")

    def _record(self, changes: Sequence[Put | Delete], revision: int) -> None:
        execute, executemany = self._connection.execute, self._connection.executemany
        puts = [change for change in changes if isinstance(change, Put)]
        executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", [(p.key, p.value, revision) for p in puts])
        executemany("INSERT INTO events VALUES (?, ?, ?)", [(revision, p.key, p.value) for p in puts])
        for change in changes:
            if isinstance(change, Delete):
                removed = execute("DELETE FROM entries WHERE key = ?", (change.key,)).rowcount
                if removed:
                    execute("INSERT INTO events VALUES (?, ?, NULL)", (revision, change.key))

    def _compact(self, revision: int) -> None:
        compacted = revision - HISTORY_REVISIONS
        if compacted > 0 and revision % HISTORY_STEP == 0:
            self._connection.execute("DELETE FROM events WHERE revision <= ?", (compacted,))
            self._connection.execute("UPDATE head SET compacted_revision = ?", (compacted,))

    def events(self, after_revision: int, prefix: str) -> Sequence[Event]:
        """The changes after that revision; `CatalogueCompacted` if too far back."""
        with self._storage():
            (compacted,) = self._connection.execute("SELECT compacted_revision FROM head").fetchone()
            if after_revision < compacted:
                raise CatalogueCompacted(f"changes up to revision {compacted} are no longer kept")
            query = "SELECT revision, key, value FROM events WHERE revision > ? ORDER BY revision, rowid"
            rows = self._connection.execute(query, (after_revision,)).fetchall()
        return [Event(*row) for row in rows if row[1].startswith(prefix)]

    @contextmanager
    def _storage(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StorageError(f"The catalogue {self._path} failed: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _prepare(connection: sqlite3.Connection, path: str) -> int:
    """Sets the connection up, makes the tables of a new file, and tells the revision."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        connection.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;")
    elif version != SCHEMA_VERSION:
        raise StorageError(f"The catalogue {path} has format {version}; this program reads {SCHEMA_VERSION}")
    _quick_check(connection, path)
    (revision,) = connection.execute("SELECT revision FROM head").fetchone()
    return int(revision)


def _quick_check(connection: sqlite3.Connection, path: str) -> None:
    problems = [text for (text,) in connection.execute("PRAGMA quick_check(5)")]
    if problems != ["ok"]:
        raise StorageError(f"The catalogue {path} is damaged: {'; '.join(map(str, problems))}")
