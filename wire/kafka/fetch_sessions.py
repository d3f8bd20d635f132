"""Fetch sessions (KIP-227): the broker remembers which partitions a consumer fetches, so that requests and
answers carry only what changed.

A session has an epoch that counts its requests: 0 asks for a new session, -1 ends it or goes without, anything
else continues the session and must be the next number. Partitions whose records were just sent go to the end,
so that each gets its turn when the byte budget is small.
"""

from collections.abc import Iterable
from random import Random

from attrs import define, field

from coordinators.records.portions import NOT_TOLD, Portion, Wanted
from engine.clock import Clock
from engine.errors import FetchSessionNotFound, FetchSessionTopicId, InvalidFetchSessionEpoch
from engine.ids import TopicId
from wire.kafka.messages.fetch import FetchRequest, FetchTopic

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
MAX_EPOCH = 2**31 - 1
NO_SESSION = 0

MAX_PARTITIONS = 500_000
"""The most partitions remembered over all sessions, at some 400 bytes each; past it clients go without."""

PartitionKey = tuple[str | TopicId, int]


class FetchedPartition(Wanted):
    """What a consumer asks of one partition, and what it was told last."""

    @property
    def key(self) -> PartitionKey:
        """Its identity within a session."""
        return self.topic, self.index

    def asks_anew(self, other: Wanted) -> None:
        """Want what `other` wants; what the consumer was told stays."""
        self.offset, self.max_bytes = other.offset, other.max_bytes
        self.leader_epoch, self.last_epoch = other.leader_epoch, other.last_epoch

    def must_answer(self, portion: Portion) -> bool:
        """Whether an incremental answer has to mention this partition; remembers what is said."""
        changed = (
            portion.records is not None
            or portion.error is not None
            or portion.end_offset != self.told_end
            or portion.start_offset != self.told_start
            or portion.divergence is not None
            or portion.nearest >= 0
        )
        # An error is said again until it is gone, so nothing is remembered with it.
        self.told_end = portion.end_offset if portion.error is None else NOT_TOLD
        self.told_start = portion.start_offset if portion.error is None else NOT_TOLD
        return changed


@define(slots=True)
class FetchSession:
    """One consumer's session."""

    session_id: int
    by_topic_id: bool
    last_used: float
    epoch: int = 1
    partitions: dict[PartitionKey, FetchedPartition] = field(factory=dict)

    def update(self, request: FetchRequest) -> None:
        """Take over what the request adds, changes and forgets."""
        for partition in partitions_of(request.topics, by_topic_id=self.by_topic_id):
            known = self.partitions.get(partition.key)
            if known is None:
                self.partitions[partition.key] = partition
            else:
                known.asks_anew(partition)
        for forgotten in request.forgotten_topics_data:
            named = forgotten.topic_id if self.by_topic_id else forgotten.topic
            for index in forgotten.partitions:
                self.partitions.pop((named, index), None)

    def move_to_end(self, partition: FetchedPartition) -> None:
        """It was served: others come first next time."""
        self.partitions[partition.key] = self.partitions.pop(partition.key)

    def next_epoch(self) -> None:
        """Count the request."""
        self.epoch = 1 if self.epoch == MAX_EPOCH else self.epoch + 1


def partitions_of(topics: Iterable[FetchTopic], *, by_topic_id: bool) -> list[FetchedPartition]:
    """The partitions that a request lists, in its order."""
    return [
        FetchedPartition(
            topic.topic_id if by_topic_id else topic.topic,
            each.partition,
            each.fetch_offset,
            each.partition_max_bytes,
            each.current_leader_epoch,
            each.last_fetched_epoch,
        )
        for topic in topics
        for each in topic.partitions
    ]


@define
class FetchSessions:
    """The sessions of all consumers, at most `slots` of them."""

    slots: int
    eviction_ms: int
    clock: Clock
    random: Random
    max_session_partitions: int = MAX_PARTITIONS
    """Of one session: what a single request may name, so that none costs more that goes on with a session."""
    _sessions: dict[int, FetchSession] = field(factory=dict, init=False)
    _partition_count: int = field(default=0, init=False)
    """Over all sessions."""
    _evicted: int = field(default=0, init=False)

    def begin(
        self, request: FetchRequest, *, by_topic_id: bool
    ) -> tuple[FetchSession | None, list[FetchedPartition], bool]:
        """The session (None without one), the partitions to read, and whether the answer is incremental."""
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._end(request.session_id)
            partitions = partitions_of(request.topics, by_topic_id=by_topic_id)
            if len(partitions) > 1:
                # One that is named twice is fetched once, as the last mention says.
                partitions = list({partition.key: partition for partition in partitions}.values())
            session = None
            if request.session_epoch == INITIAL_EPOCH and partitions:
                session = self._create(partitions, by_topic_id=by_topic_id)
            return session, partitions, False
        session = self._continue(request, by_topic_id=by_topic_id)
        return session, list(session.partitions.values()), True

    def _continue(self, request: FetchRequest, *, by_topic_id: bool) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise FetchSessionNotFound(f"no fetch session {request.session_id}")
        if session.epoch != request.session_epoch:
            raise InvalidFetchSessionEpoch(
                f"fetch session {request.session_id} expects epoch {session.epoch}, not {request.session_epoch}"
            )
        if session.by_topic_id != by_topic_id:
            raise FetchSessionTopicId(f"fetch session {request.session_id} was begun with the other kind of topic")
        before = len(session.partitions)
        session.update(request)
        self._partition_count += len(session.partitions) - before
        is_too_large = len(session.partitions) > self.max_session_partitions or self._partition_count > MAX_PARTITIONS
        if request.topics and is_too_large:
            self._end(session.session_id)
            raise FetchSessionNotFound(f"fetch session {request.session_id} has grown too large")
        session.next_epoch()
        session.last_used = self.clock.monotonic()
        return session

    def _create(self, partitions: list[FetchedPartition], *, by_topic_id: bool) -> FetchSession | None:
        now = self.clock.monotonic()
        if len(self._sessions) >= self.slots and not self._evict(now):
            return None
        if self._partition_count + len(partitions) > MAX_PARTITIONS:
            return None
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self.random.randrange(1, MAX_EPOCH)
        session = FetchSession(session_id, by_topic_id, now)
        session.partitions = {partition.key: partition for partition in partitions}
        self._sessions[session_id] = session
        self._partition_count += len(session.partitions)
        return session

    def end(self, session: FetchSession) -> None:
        """Nobody goes on with it."""
        self._end(session.session_id)

    def _end(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partition_count -= len(session.partitions)

    def _evict(self, now: float) -> bool:
        """Make room by ending the session unused for longest, if it has been idle long enough."""
        oldest = min(self._sessions.values(), key=lambda session: session.last_used, default=None)
        if oldest is None or now - oldest.last_used < self.eviction_ms / 1000:
            return False
        self._end(oldest.session_id)
        self._evicted += 1
        return True

    def statistics(self) -> dict[str, int]:
        """Sessions held and evicted, and the partitions that they remember."""
        return {"sessions": len(self._sessions), "partitions": self._partition_count, "evicted": self._evicted}
