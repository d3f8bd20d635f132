"""Share sessions: the leader remembers which partitions a member fetches, so that requests carry only what changed.

A session belongs to a member of a group, and to the connection that it was opened by. Its epoch counts its requests,
fetches and acknowledgements alike: 0 opens one, -1 ends it, anything else has to be the next number. When its
connection is lost it ends; a member that has come back by another connection meanwhile has another session, which the
late news of the old connection does not touch.
"""

from collections.abc import Callable, Iterable

from attrs import define, field

from engine.errors import InvalidShareSessionEpoch, ShareSessionLimitReached, ShareSessionNotFound
from engine.ids import TopicId

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1

MAX_PARTITIONS = 500_000
"""The most partitions remembered over all sessions."""

SessionKey = tuple[str, str]
"""A group and one of its members."""
PartitionKey = tuple[TopicId, int]


@define(eq=False)
class ShareSession:
    """One member's session."""

    key: SessionKey
    connection: object
    epoch: int = 1
    """Which the next request has to name."""
    partitions: dict[PartitionKey, None] = field(factory=dict)
    end_wait: Callable[[], object] | None = None
    """Ends the wait of its fetch that waited last."""

    def in_turn(self) -> list[PartitionKey]:
        """The partitions, another one first each time."""
        partitions = list(self.partitions)
        if len(partitions) < 2:
            return partitions
        turn = self.epoch % len(partitions)
        return partitions[turn:] + partitions[:turn]


@define(eq=False)
class ShareSessions:
    """The sessions of all members, at most so many (`group.share.max.share.sessions`)."""

    most: int
    max_partitions: int = MAX_PARTITIONS
    _sessions: dict[SessionKey, ShareSession] = field(factory=dict, init=False)
    _by_connection: dict[int, dict[SessionKey, ShareSession]] = field(factory=dict, init=False)
    """By the identity of the connection, which lives at least as long as its sessions."""
    _partition_count: int = field(default=0, init=False)

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, key: SessionKey) -> ShareSession | None:
        """A member's session."""
        return self._sessions.get(key)

    def open(self, key: SessionKey, connection: object, partitions: Iterable[PartitionKey]) -> ShareSession:
        """A new session; what the member had is forgotten, and what it holds stays its own."""
        known = self._sessions.get(key)
        if known is not None:
            self.close(known)
        if len(self._sessions) >= self.most:
            raise ShareSessionLimitReached(f"there are {self.most} share sessions, as many as there may be")
        session = ShareSession(key, connection)
        self.add(session, partitions)
        self._sessions[key] = session
        self._by_connection.setdefault(id(connection), {})[key] = session
        return session

    def go_on(self, key: SessionKey, epoch: int) -> ShareSession:
        """The session that a request belongs to; the request counts."""
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFound(f"member {key[1]!r} of group {key[0]!r} has no share session here")
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            raise InvalidShareSessionEpoch(f"the share session expects epoch {session.epoch}, not {epoch}")
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1
        return session

    def add(self, session: ShareSession, partitions: Iterable[PartitionKey]) -> None:
        """Fetch these too."""
        before = len(session.partitions)
        for partition in partitions:
            session.partitions[partition] = None
        self._partition_count += len(session.partitions) - before
        if self._partition_count > self.max_partitions:
            for _ in range(len(session.partitions) - before):
                session.partitions.popitem()
                self._partition_count -= 1
            raise ShareSessionLimitReached(f"share sessions hold {self.max_partitions} partitions already")

    def forget(self, session: ShareSession, partitions: Iterable[PartitionKey]) -> list[PartitionKey]:
        """Fetch these no more; those that were fetched."""
        forgotten = [key for key in partitions if session.partitions.pop(key, self) is None]
        self._partition_count -= len(forgotten)
        return forgotten

    def close(self, session: ShareSession) -> None:
        """It has ended."""
        if self._sessions.get(session.key) is session:
            del self._sessions[session.key]
            self._partition_count -= len(session.partitions)
            bound = self._by_connection[id(session.connection)]
            del bound[session.key]
            if not bound:
                del self._by_connection[id(session.connection)]

    def of_connection(self, connection: object) -> list[ShareSession]:
        """Those that were opened by it and are the latest of their members."""
        return list(self._by_connection.get(id(connection), {}).values())

    def statistics(self) -> dict[str, int]:
        """How many there are, with how many partitions."""
        return {"sessions": len(self._sessions), "partitions": self._partition_count}
