"""The catalogue: state that is not a log (topics, configs, membership), as keys and values with revisions.

The interface is small enough for SQLite in a data directory and for etcd under a cluster. Every commit
that is taken raises the catalogue's revision by one; an entry remembers the revision of its last change. A
commit names the revisions that it was planned against and is refused whole (`CatalogueConflict`) if one
of them is no longer true. Calls block: they run in a thread, one at a time.

`records.py` gives the values their types; `sqlite.py` keeps them.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from engine.errors import BrokerError
from engine.metrics import Histogram


class CatalogueConflict(BrokerError):
    """Somebody else changed what the commit was planned against; plan again."""


class CatalogueCompacted(BrokerError):
    """The changes since that revision are no longer kept; list everything and watch from there."""


@frozen
class Entry:
    """A key and its value; `revision` is that of its last change."""

    key: str
    value: bytes
    revision: int


@frozen
class Compare:
    """What must hold for a commit to be taken: the key's revision; 0 is "does not exist"."""

    key: str
    revision: int


@frozen
class Put:
    """Writes the key. One that is `ephemeral` goes when the session ends of whoever put it (`Catalogue.session`)."""

    key: str
    value: bytes
    ephemeral: bool = False


@frozen
class Delete:
    """Removes the key; nothing happens if there is none."""

    key: str


@frozen
class Commit:
    """Changes that are made together, or not at all. No key may be changed twice."""

    compares: tuple[Compare, ...] = ()
    changes: tuple[Put | Delete, ...] = ()

    @classmethod
    def joined(cls, parts: Sequence["Commit"]) -> "Commit":
        """All of them as one."""
        chain = itertools.chain.from_iterable
        return cls(tuple(chain(part.compares for part in parts)), tuple(chain(part.changes for part in parts)))


@frozen
class Event:
    """A change that was made; `value` is None for a deletion."""

    revision: int
    key: str
    value: bytes | None


class Watch(Protocol):
    """A stream of changes in the order of their revisions."""

    def next(self, timeout_s: float) -> Sequence[Event]:
        """The events not yet seen, whole revisions. Waits for some; may be empty."""
        ...

    @property
    def reached(self) -> int:
        """Every event up to this revision has been given by `next`. A revision may leave no event."""
        ...

    def close(self) -> None:
        """Ends the watch; a waiting `next` returns empty."""
        ...


OnNews = Callable[[], object]


class Session(Protocol):
    """A node's standing with a catalogue that several nodes share: it ends some time after the node's last word, and
    everything that was put as ephemeral under it goes. A catalogue of one node's own keeps its session for ever.

    Nothing that must be safe may rest on a session being there: it may end any time without the node knowing.
    """

    def open(self) -> None:
        """[thread] Begin one, or a new one after the last was lost; raises if nobody answers."""
        ...

    @property
    def is_lost(self) -> bool:
        """[any thread] Whether it is certain that it has ended, or never began."""
        ...

    def silent_s(self) -> float:
        """[any thread] For how long nobody has confirmed it; 0.0 where there is nobody to ask."""
        ...

    @property
    def duration_s(self) -> float:
        """After so long a silence it ends."""
        ...

    def close(self) -> None:
        """[thread] End it now: what is ephemeral goes at once."""
        ...


class Catalogue(Protocol):
    """What every implementation does; `tests/engine/catalogue/test_catalogue.py` runs against all of them."""

    def revision(self) -> int:
        """The revision of the last change; 0 if there was none."""
        ...

    def get(self, key: str) -> Entry | None: ...

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        """The entries whose keys begin so, in the order of keys, and the revision that this is a view of."""
        ...

    def commit(self, commit: Commit) -> int:
        """The new revision, once it is durable.

        `CatalogueConflict` if a comparison fails, `StorageError` if it could not be written: nothing has
        changed then. A commit without changes only compares and keeps the revision.
        """
        ...

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> Watch:
        """The changes after that revision, past and coming; `CatalogueCompacted` if too far back. `on_news` is called
        in any thread, without arguments, whenever there may be something new for `next`."""
        ...

    @property
    def session(self) -> Session:
        """That under which this node puts what is ephemeral."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class MeasuredCatalogue(Protocol):
    """One that others answer for, and that tells how long they take."""

    @property
    def durations(self) -> Mapping[str, Histogram]:
        """[any thread] Of its calls, by what they asked for."""
        ...


class Lasting:
    """The session of a catalogue of one node's own."""

    is_lost = False
    duration_s = float("inf")

    def open(self) -> None:
        """There is nobody else to tell."""

    def silent_s(self) -> float:
        return 0.0

    def close(self) -> None:
        """What was put stays."""


LASTING = Lasting()


def check_commit(commit: Commit) -> None:
    """A commit that changes a key twice is a bug of its planner."""
    keys = [change.key for change in commit.changes]
    assert len(set(keys)) == len(keys), "a commit changes a key twice"
