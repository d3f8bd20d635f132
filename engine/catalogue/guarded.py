"""The catalogue of a data directory, with its second copy: opened only if both, and the directories, agree.

A change is committed to the database first and appended to the copy before anybody is told. So a copy that is behind
by a change was overtaken by a crash and catches up; a database that is behind, or holds other values, has lost what
was acknowledged. That is refused, and the copy brings it back (`tidegate catalogue rebuild`). Refused too are topics
on disk that no row knows: their records would be hidden, and nobody would miss them until they are asked for.
"""

import logging
import os
import re
import threading
from collections.abc import Sequence

from attrs import define, field

from engine.catalogue.catalogue import LASTING, CatalogueCompacted, Commit, Entry, Lasting, OnNews
from engine.catalogue.copy import CatalogueCopy, CopiedState, copy_path, damaged_at, read_copy
from engine.catalogue.records import DELETING, TOPICS, TopicRecord
from engine.catalogue.sqlite import FILE_NAME, SqliteCatalogue
from engine.catalogue.watch import CommitSignal, LocalWatch
from engine.errors import StorageError
from engine.files.files import Files

logger = logging.getLogger("tidegate.catalogue")

NAMED_AT_MOST = 5
_TOPIC_ID = re.compile("[0-9a-f]{32}")


class CatalogueDamaged(StorageError):
    """The catalogue is not what was acknowledged; the message says what to do."""


@define(eq=False)
class GuardedCatalogue:
    """Made by `open_catalogue`; as an interface it is the database's."""

    _database: SqliteCatalogue
    _copy: CatalogueCopy
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    _signal: CommitSignal = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._signal = CommitSignal(self._database.revision())

    def revision(self) -> int:
        return self._database.revision()

    def get(self, key: str) -> Entry | None:
        return self._database.get(key)

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        return self._database.entries(prefix)

    def commit(self, commit: Commit) -> int:
        with self._lock:
            before = self._database.revision()
            revision = self._database.commit(commit)
            if revision != before:
                self._note(revision, commit)
        if revision != before:
            self._signal.committed(revision)
        return revision

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> LocalWatch:
        self._database.events(after_revision, prefix)
        # By a signal of its own: nobody is told of a change before the copy has it.
        return LocalWatch(self._database.events, self._signal, prefix, after_revision, on_news)

    @property
    def session(self) -> Lasting:
        return LASTING

    def close(self) -> None:
        with self._lock:
            self._database.close()
            self._copy.close()

    @property
    def path(self) -> str:
        """Where the database is."""
        return self._database.path

    def problem(self) -> str | None:
        """[thread] What is wrong with it or its copy on disk; None if nothing is."""
        with self._lock:
            try:
                self._database.check()
                at = damaged_at(self._copy.files, self._copy.path)
            except (OSError, StorageError) as error:
                return str(error)
            return None if at is None else f"its second copy is damaged at byte {at}"

    def _note(self, revision: int, commit: Commit) -> None:
        """The change is durable in the database: a copy that fails must not make it undone, and catches up later."""
        try:
            if self._copy.is_current:
                self._copy.append(revision, commit.changes)
            else:
                self._copy.rewrite(*self._database.entries(""))
        except OSError as error:
            logger.error("the catalogue's second copy cannot be written, the next change tries again: %s", error)


def open_catalogue(data_dir: str, files: Files) -> GuardedCatalogue:
    """Open it, or make it in a new directory; `CatalogueDamaged` if topics would be lost from sight."""
    path = os.path.join(data_dir, FILE_NAME)
    try:
        copied = read_copy(files, copy_path(data_dir))
        if FILE_NAME not in files.list(data_dir):
            _refuse_if_lost(data_dir, files, copied)
        database = _opened(data_dir, path)
        try:
            copy = CatalogueCopy(files, copy_path(data_dir))
            _reconcile(data_dir, database, copy, copied)
            _refuse_unknown(data_dir, files, database.entries("")[1])
        except BaseException:
            database.close()
            raise
    except OSError as error:
        raise StorageError(f"The catalogue {path} cannot be opened: {error}") from error
    return GuardedCatalogue(database, copy)


def _refuse_if_lost(data_dir: str, files: Files, copied: CopiedState | None) -> None:
    """Before a new one is made in the place of one that is gone."""
    if copied is not None and copied.entries:
        raise CatalogueDamaged(f"{FILE_NAME} is missing in {data_dir}, its copy is there. {_way_out(data_dir)}")
    _refuse_unknown(data_dir, files, ())


def _opened(data_dir: str, path: str) -> SqliteCatalogue:
    try:
        return SqliteCatalogue.open(path)
    except StorageError as error:
        raise CatalogueDamaged(f"{error}. {_way_out(data_dir)}") from error


def _reconcile(data_dir: str, database: SqliteCatalogue, copy: CatalogueCopy, copied: CopiedState | None) -> None:
    revision, entries = database.entries("")
    if copied is not None and copied.revision > revision:
        raise CatalogueDamaged(
            f"The catalogue in {data_dir} has lost changes: it ends at revision {revision}, its copy at "
            f"{copied.revision}. {_way_out(data_dir)}"
        )
    if copied is None or copied.damaged_at is not None:
        if copied is not None:
            logger.warning("the catalogue's second copy is damaged at byte %d: written anew", copied.damaged_at)
        if entries:
            copy.rewrite(revision, entries)
        return
    is_current = copied.revision == revision
    if is_current or _has_caught_up(database, copied):
        _check_equal(data_dir, copied, entries)
    if is_current:
        copy.resume(copied)
    else:
        copy.rewrite(revision, entries)


def _has_caught_up(database: SqliteCatalogue, copied: CopiedState) -> bool:
    """Whether a copy that was overtaken by a crash could be given what the database did since."""
    try:
        events = database.watch(copied.revision).next(0)
    except CatalogueCompacted:
        return False
    for event in events:
        copied.apply(event.revision, [(event.key, event.value)])
    return True


def _check_equal(data_dir: str, copied: CopiedState, entries: Sequence[Entry]) -> None:
    present = {entry.key: entry for entry in entries}
    differing = sorted(
        key for key in present.keys() | copied.entries.keys() if present.get(key) != copied.entries.get(key)
    )
    if differing:
        raise CatalogueDamaged(
            f"The catalogue in {data_dir} does not hold what was written: {_some(differing)} "
            f"{'differs' if len(differing) == 1 else 'differ'} from its copy. {_way_out(data_dir)}"
        )


def _refuse_unknown(data_dir: str, files: Files, entries: Sequence[Entry]) -> None:
    try:
        unknown = unknown_topics(data_dir, files, entries)
    except (ValueError, KeyError, TypeError) as error:
        raise CatalogueDamaged(f"A topic in the catalogue cannot be read: {error}. {_way_out(data_dir)}") from error
    if unknown:
        raise CatalogueDamaged(
            f"{data_dir}/topics holds records of {len(unknown)} topics that the catalogue does not know: "
            f"{_some(unknown)}. They would be hidden. {_way_out(data_dir)} "
            f"If they are left over from elsewhere, move them out of {data_dir}/topics."
        )


def unknown_topics(data_dir: str, files: Files, entries: Sequence[Entry]) -> list[str]:
    """Ids of topics with files on disk that are neither active nor being deleted.

    A topic is in the catalogue before it has a directory, and under `deleting/` until that is gone for good."""
    known = {TopicRecord.decode(entry.value).id.hex() for entry in entries if entry.key.startswith((TOPICS, DELETING))}
    root = os.path.join(data_dir, "topics")
    found = [name for name in files.list_directories(root) if _TOPIC_ID.fullmatch(name) and name not in known]
    return sorted(name for name in found if _holds_files(files, os.path.join(root, name)))


def _holds_files(files: Files, directory: str) -> bool:
    below = (os.path.join(directory, name) for name in files.list_directories(directory))
    return bool(files.list(directory)) or any(_holds_files(files, each) for each in below)


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED_AT_MOST
    return ", ".join(names[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _way_out(data_dir: str) -> str:
    return f"'tidegate catalogue rebuild --data-dir {data_dir}' makes it anew from what is there."
