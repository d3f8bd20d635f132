"""A catalogue that several nodes share, in memory, each with a session of its own that can be ended."""

from collections.abc import Callable, Sequence

from attrs import define, field

from engine.catalogue.catalogue import Commit, Delete, Entry, OnNews, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.watch import LocalWatch
from engine.errors import StorageError

DURATION_S = 1.0


@define(eq=False)
class SharedCatalogue:
    """What is ephemeral goes with the session that it was put in."""

    memory: MemoryCatalogue = field(factory=MemoryCatalogue)
    holders: dict[str, "ModelSession"] = field(factory=dict)

    def door(self) -> "CatalogueDoor":
        """For one node."""
        return CatalogueDoor(self)

    def end(self, session: "ModelSession") -> None:
        """Whether or not the node has heard of it."""
        keys = [key for key, holder in self.holders.items() if holder is session]
        session.has_ended = True
        for key in keys:
            del self.holders[key]
        if keys:
            self.memory.commit(Commit((), tuple(Delete(key) for key in keys)))


@define(eq=False)
class ModelSession:
    """One node's standing, session after session."""

    shared: SharedCatalogue
    has_ended: bool = True
    opened: int = 0
    duration_s: float = DURATION_S
    before_end: list[Callable[[], object]] = field(factory=list)

    @property
    def is_lost(self) -> bool:
        return self.has_ended

    def open(self) -> None:
        self.has_ended = False
        self.opened += 1

    def silent_s(self) -> float:
        return 0.0

    def close(self) -> None:
        for follow in self.before_end:
            follow()
        self.shared.end(self)


@define(eq=False)
class CatalogueDoor:
    """The catalogue as one node has it; while it is `cut_off` every call fails."""

    shared: SharedCatalogue
    session: ModelSession = field(init=False)
    cut_off: bool = False

    def __attrs_post_init__(self) -> None:
        self.session = ModelSession(self.shared)

    def revision(self) -> int:
        return self._memory().revision()

    def get(self, key: str) -> Entry | None:
        return self._memory().get(key)

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        return self._memory().entries(prefix)

    def commit(self, commit: Commit) -> int:
        ephemeral = {change.key for change in commit.changes if isinstance(change, Put) and change.ephemeral}
        if ephemeral and self.session.is_lost:
            raise StorageError("the session has ended")
        revision = self._memory().commit(commit)
        for change in commit.changes:
            self.shared.holders.pop(change.key, None)
        self.shared.holders.update(dict.fromkeys(ephemeral, self.session))
        return revision

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> LocalWatch:
        return self._memory().watch(after_revision, prefix, on_news)

    def close(self) -> None:
        pass

    def end_session(self) -> None:
        """As if the node had been silent for too long."""
        self.shared.end(self.session)

    def _memory(self) -> MemoryCatalogue:
        if self.cut_off:
            raise StorageError("the catalogue does not answer")
        return self.shared.memory
