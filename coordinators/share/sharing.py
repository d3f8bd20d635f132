"""Sharing: records of partitions handed out to the members of a group one by one, and what they say of them (KIP-932).

The use case for any door. A door says who asks, by which connection, for which partitions, and what is acknowledged; it
gets a portion of each partition. Neither membership nor assignment matters here: whoever may read may share.

What is acknowledged in a fetch counts first, and the answer waits until it is durable. Such a fetch does not wait for
records: its member could not acknowledge anything else meanwhile.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast

from attrs import define, field, frozen

from coordinators.records.portions import TopicJudge
from coordinators.records.reading import Reading
from coordinators.share.acks import AckBatch, check_acks
from coordinators.share.acquiring import ShareWanted
from coordinators.share.counters import ShareCounters
from coordinators.share.ports import SharePlace, ShareStates
from coordinators.share.runs import OffsetRun
from coordinators.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, PartitionKey, ShareSession, ShareSessions
from coordinators.share.share_partition import SharePartition, ShareSurroundings
from coordinators.share.share_reads import SharePortion, ShareRead, Steps
from coordinators.share.window import Offsets
from coordinators.topic_view import Topic
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    InvalidRequest,
    InvalidShareSessionEpoch,
    NotLeader,
    ShareSessionLimitReached,
    UnknownTopicOrPartition,
    kept,
)
from engine.ids import TopicId
from engine.partition.partition import Partition
from engine.workers import Workers

Acks = Mapping[PartitionKey, Sequence[AckBatch]]
T = TypeVar("T")
FEW_PARTITIONS = 200
"""So many are fetched or acknowledged at once; more, in steps."""

MAX_MEMBER_ID = 249
"""Kafka's own have 36 characters at most; it is kept with every dead letter."""

LettersTaker = Callable[[SharePartition, list[OffsetRun]], object]


@frozen(eq=False)
class ShareClient:
    """A member of a group, and the connection that it asks by."""

    group_id: str
    member_id: str
    connection: object
    client_id: str | None = None
    address: str = ""
    refusal: TopicJudge | None = None
    """Tells of a topic why the member may not read it; without one it may read all. Asked whenever something is about
    to be handed out or acknowledged, for rights may have changed since."""

    def refused(self, topic_id: TopicId) -> BrokerError | None:
        """Why it may not read this topic, if it may not."""
        return None if self.refusal is None else self.refusal(topic_id)

    @property
    def key(self) -> tuple[str, str]:
        """Its identity."""
        return self.group_id, self.member_id

    def check(self) -> None:
        """Refuse whoever is nobody."""
        if not self.group_id or not self.member_id:
            raise InvalidRequest("a share request without a group or a member")
        if len(self.member_id) > MAX_MEMBER_ID:
            raise InvalidRequest(f"a member id of {len(self.member_id)} characters, at most {MAX_MEMBER_ID}")


@frozen
class ShareBudget:
    """How much a fetch may be given, and for how little it waits how long."""

    max_records: int = 500
    batch_size: int = 0
    is_strict: bool = False
    """Whether `max_records` is a limit (`record_limit`) or a wish (`batch_optimized`)."""
    max_bytes: int = 2**31 - 1
    min_bytes: int = 1
    max_wait_ms: int = 0


@frozen
class ShareAsked:
    """What a fetch asks for."""

    epoch: int
    partitions: Sequence[PartitionKey] = ()
    forgotten: Sequence[PartitionKey] = ()
    acks: Acks = field(factory=dict)
    budget: ShareBudget = field(factory=ShareBudget)
    is_renewal: bool = False


@frozen
class ShareAnswer:
    """What a fetch, or an acknowledgement, comes to."""

    lock_duration_ms: int
    portions: list[SharePortion]


@frozen
class SharedPart:
    """Some of what members hold: of a topic, of one of its partitions, of some of its offsets."""

    topic: str
    index: int | None = None
    offsets: Offsets | None = None

    @classmethod
    def of(cls, topic: str | None, index: int | None, first: int | None, last: int | None) -> "SharedPart | None":
        """What is meant by them, None for all; raises if that is not clear. Without a last offset it is the first."""
        if (topic is None and index is not None) or (index is None and first is not None):
            raise InvalidRequest("offsets are of a partition, and that is of a topic: name all three")
        if first is None and last is not None:
            raise InvalidRequest("a last offset without a first one")
        if topic is None:
            return None
        if first is None:
            return cls(topic, index)
        if last is not None and last < first:
            raise InvalidRequest(f"offsets from {first} to {last}")
        return cls(topic, index, (first, first if last is None else last))

    def is_of(self, share: SharePartition) -> bool:
        """Whether some of it may lie there."""
        return share.topic == self.topic and self.index in (None, share.place.partition_index)


@define(eq=False)
class _Group:
    """What the share partitions of a group have in common on this node."""

    shares: dict[PartitionKey, SharePartition] = field(factory=dict)
    held: dict[str, int] = field(factory=dict)


class Sharing:
    """See the module."""

    def __init__(self, reading: Reading, states: ShareStates, workers: Workers, sessions: ShareSessions) -> None:
        self.reading = reading
        self.workers = workers
        self.sessions = sessions
        self.counters = ShareCounters()
        self.on_letters: list[LettersTaker] = []
        """Told of records that have to go to the dead-letter topic."""
        self._settings = reading.directory.topics.groups.share_settings
        self._around = ShareSurroundings(
            states,
            reading.clock,
            reading.timers,
            workers,
            self._settings,
            self.counters,
            self._letters,
            self._drop_idle,
            self._closed,
            reading.tracing,
        )
        self._shares: dict[PartitionKey, dict[str, SharePartition]] = {}
        self._users: dict[SharePlace, int] = {}
        """How many sessions fetch it."""
        self._groups: dict[str, _Group] = {}

    # -- fetching

    def fetch(self, sharer: ShareClient, asked: ShareAsked) -> ShareAnswer | Deferred[ShareAnswer]:
        """What a member is given. Raises, or is refused, where nothing at all can be answered."""
        return _done(self.fetch_in_steps(sharer, asked))

    def is_large(self, sharer: ShareClient, named: int) -> bool:
        """Whether a request that names so many partitions should be done in steps."""
        session = self.sessions.get(sharer.key)
        return named + (0 if session is None else len(session.partitions)) > FEW_PARTITIONS

    def fetch_in_steps(self, sharer: ShareClient, asked: ShareAsked) -> Steps[ShareAnswer | Deferred[ShareAnswer]]:
        """The same, of many partitions."""
        sharer.check()
        budget = asked.budget
        if asked.is_renewal and any((budget.max_bytes, budget.min_bytes, budget.max_records, budget.max_wait_ms)):
            raise InvalidRequest("a fetch that renews locks asks for records too")
        if asked.epoch == INITIAL_EPOCH and asked.acks:
            raise InvalidRequest("acknowledgements in a request that opens a share session")
        try:
            session = self._session(sharer, asked)
        except ShareSessionLimitReached as error:
            return self._refused_later(error, budget.max_wait_ms)
        results = yield from self._take_acks(sharer, asked.acks, renewing=asked.is_renewal)
        if asked.epoch == FINAL_EPOCH:
            self.close(session)
            return self._answer(sharer, [], results)
        partitions = session.in_turn()
        if asked.is_renewal or budget.max_records <= 0 or budget.max_bytes <= 0 or not partitions:
            return self._answer(sharer, [], results)
        wait_s = 0.0 if results or budget.min_bytes <= 0 else budget.max_wait_ms / 1000
        read = self._read(sharer, asked, partitions, wait_s)
        portions = yield from read.begin_in_steps()
        if isinstance(portions, Deferred):
            session.end_wait = read.end
            return self._answered_later(sharer, portions, results)
        if results and not portions:
            return self._acknowledged_then_read(sharer, asked, partitions, results)
        return self._answer(sharer, portions, results)

    def _answered_later(
        self, sharer: ShareClient, portions: Deferred[list[SharePortion]], results: "dict[PartitionKey, _AckResult]"
    ) -> Deferred[ShareAnswer]:
        answer = Deferred[ShareAnswer]()
        answer.on_abandoned(portions.abandon)
        portions.when_settled(
            lambda found: _forward(self._answer(sharer, found, results), answer), answer.refuse, answer.fail
        )
        return answer

    def _session(self, sharer: ShareClient, asked: ShareAsked) -> ShareSession:
        if asked.epoch == INITIAL_EPOCH:
            known = self.sessions.get(sharer.key)
            if known is not None:
                # What its member holds stays locked, and can be acknowledged by it.
                self._forget(known, release=False)
            session = self.sessions.open(sharer.key, sharer.connection, asked.partitions)
            self._use(sharer.group_id, session.partitions)
            return session
        session = self.sessions.go_on(sharer.key, asked.epoch)
        if asked.epoch != FINAL_EPOCH:
            added = [key for key in dict.fromkeys(asked.partitions) if key not in session.partitions]
            self.sessions.add(session, added)
            self._use(sharer.group_id, added)
            self._unuse(sharer.group_id, self.sessions.forget(session, asked.forgotten))
        return session

    def _read(
        self, sharer: ShareClient, asked: ShareAsked, partitions: Sequence[PartitionKey], wait_s: float
    ) -> ShareRead:
        budget = asked.budget
        wanted = ShareWanted(sharer.member_id, budget.max_records, budget.batch_size, budget.is_strict)
        return ShareRead(
            self,
            sharer.group_id,
            partitions,
            wanted,
            budget.max_bytes,
            budget.min_bytes,
            wait_s,
            sharer.client_id,
            sharer.address,
            sharer.refusal,
        )

    def _acknowledged_then_read(
        self,
        sharer: ShareClient,
        asked: ShareAsked,
        partitions: Sequence[PartitionKey],
        results: "dict[PartitionKey, _AckResult]",
    ) -> ShareAnswer | Deferred[ShareAnswer]:
        """There was nothing; what was acknowledged may have made room."""
        answered = self._answer(sharer, [], results)
        if not isinstance(answered, Deferred) or len(partitions) > FEW_PARTITIONS:
            return answered
        answer = Deferred[ShareAnswer]()
        session = self.sessions.get(sharer.key)

        def durable(settled: ShareAnswer) -> None:
            if session is None or self.sessions.get(sharer.key) is not session:
                answer.resolve(settled)
                return
            portions = self._read(sharer, asked, partitions, 0.0).begin()
            if isinstance(portions, Deferred):
                answer.on_abandoned(portions.abandon)
                portions.when_settled(
                    lambda found: answer.resolve(_with_acks(settled, found)), answer.refuse, answer.fail
                )
            else:
                answer.resolve(_with_acks(settled, portions))

        answered.when_settled(durable, answer.refuse, answer.fail)
        return answer

    def _refused_later(self, error: BrokerError, wait_ms: int) -> Deferred[ShareAnswer]:
        """Whoever there is no room for shall not ask again at once."""
        answer = Deferred[ShareAnswer]()
        timer = self.reading.timers.call_at(
            self.reading.clock.monotonic() + wait_ms / 1000, partial(answer.refuse, kept(error))
        )
        answer.on_abandoned(timer.cancel)
        return answer

    # -- acknowledging

    def acknowledge(
        self, sharer: ShareClient, epoch: int, acks: Acks, *, renewing: bool = False
    ) -> ShareAnswer | Deferred[ShareAnswer]:
        """What a member says of what it has; the answer comes when that is durable."""
        return _done(self.acknowledge_in_steps(sharer, epoch, acks, renewing=renewing))

    def acknowledge_in_steps(
        self, sharer: ShareClient, epoch: int, acks: Acks, *, renewing: bool = False
    ) -> Steps[ShareAnswer | Deferred[ShareAnswer]]:
        """The same, of many partitions."""
        sharer.check()
        if epoch == INITIAL_EPOCH:
            raise InvalidShareSessionEpoch("an acknowledgement opens no share session")
        session = self.sessions.go_on(sharer.key, epoch)
        results = yield from self._take_acks(sharer, acks, renewing=renewing)
        if epoch == FINAL_EPOCH:
            self.close(session)
        return self._answer(sharer, [], results)

    def _take_acks(self, sharer: ShareClient, acks: Acks, *, renewing: bool) -> Steps["dict[PartitionKey, _AckResult]"]:
        results: dict[PartitionKey, _AckResult] = {}
        for key, batches in acks.items():
            results[key] = self._take(sharer, key, batches, renewing=renewing)
            yield
        return results

    def _take(
        self, sharer: ShareClient, key: PartitionKey, batches: Sequence[AckBatch], *, renewing: bool
    ) -> "_AckResult":
        """Of one partition: all of it or nothing."""
        try:
            refusal = sharer.refused(key[0])
            if refusal is not None:
                raise refusal
            self.reading.directory.find(*key)
            check_acks(batches, renewing=renewing)
            share = self._shares.get(key, {}).get(sharer.group_id)
            if share is None or share.window is None:
                raise UnknownTopicOrPartition("the share partition is not loaded here")
            return share.acknowledge(sharer.member_id, batches)
        except BrokerError as error:
            return kept(error)

    def _answer(
        self, sharer: ShareClient, portions: list[SharePortion], results: "dict[PartitionKey, _AckResult]"
    ) -> ShareAnswer | Deferred[ShareAnswer]:
        """With what became of the acknowledgements, once that is known."""
        answer = ShareAnswer(self._settings(sharer.group_id).lock_duration_ms, portions)
        if not results:
            return answer
        by_key = {(portion.topic_id, portion.index): portion for portion in portions}
        waiting: list[tuple[SharePortion, Deferred[None]]] = []
        for key, result in results.items():
            portion = by_key.get(key)
            if portion is None:
                portion = SharePortion(*key)
                portions.append(portion)
            if isinstance(result, Deferred):
                waiting.append((portion, result))
            else:
                portion.ack_error = result
        return _once_durable(answer, waiting) if waiting else answer

    # -- sessions

    def connection_lost(self, connection: object) -> None:
        """Its sessions end; what their members hold is for others."""
        for session in self.sessions.of_connection(connection):
            self.close(session)

    def close(self, session: ShareSession) -> None:
        """A member has left, or is lost."""
        self._forget(session, release=True)

    def _forget(self, session: ShareSession, *, release: bool) -> None:
        group_id, member_id = session.key
        self.sessions.close(session)
        if session.end_wait is not None:
            # Nobody listens there any more, most likely: it shall not be handed anything.
            session.end_wait()
        if release:
            for key in session.partitions:
                share = self._shares.get(key, {}).get(group_id)
                if share is not None:
                    share.release(member_id)
        self._unuse(group_id, session.partitions)

    def _use(self, group_id: str, keys: Iterable[PartitionKey]) -> None:
        for key in keys:
            place = SharePlace(group_id, *key)
            self._users[place] = self._users.get(place, 0) + 1

    def _unuse(self, group_id: str, keys: Iterable[PartitionKey]) -> None:
        for key in keys:
            place = SharePlace(group_id, *key)
            users = self._users.pop(place) - 1
            if users:
                self._users[place] = users
                continue
            share = self._shares.get(key, {}).get(group_id)
            if share is not None:
                self._drop_idle(share)

    # -- share partitions

    def share_partition(self, group_id: str, topic_id: bytes, index: int) -> SharePartition:
        """The one of this group, loaded or about to be; raises if it is not this node's."""
        key = topic_id, index
        share = self._shares.get(key, {}).get(group_id)
        if share is not None:
            return share
        directory = self.reading.directory
        topic = directory.topic(topic_id)
        partition = directory.partition(topic, index)
        group = self._groups.setdefault(group_id, _Group())
        share = SharePartition(SharePlace(group_id, topic_id, index), topic.name, partition, self._around, group.held)
        group.shares[key] = share
        self._shares.setdefault(key, {})[group_id] = share
        share.load()
        return share

    def is_known(self, place: SharePlace) -> bool:
        """Whether it is in memory here."""
        return place.group_id in self._shares.get((place.topic_id, place.partition_index), {})

    def find(self, group_id: str) -> list[SharePartition]:
        """Those of a group that are in memory."""
        group = self._groups.get(group_id)
        return [] if group is None else list(group.shares.values())

    def all_shares(self) -> list[SharePartition]:
        """Those of all groups that are in memory."""
        return [share for shares in self._shares.values() for share in shares.values()]

    def leads(self, _topic: Topic, partition: Partition) -> None:
        """This node leads in a new epoch: what it knew from another is worth nothing."""
        for share in tuple(self._shares.get((partition.topic_id, partition.index), {}).values()):
            if share.leader_epoch != partition.leader_epoch:
                share.close(NotLeader("the partition is led in another epoch now"))

    def resigned(self, topic: Topic, index: int, _epoch: int | None) -> None:
        """Another leads, or the partition is gone."""
        for share in tuple(self._shares.get((topic.topic_id, index), {}).values()):
            reason: BrokerError = NotLeader("this node leads the partition no longer")
            try:
                self.reading.directory.find(topic.topic_id, index)
            except BrokerError as error:
                reason = kept(error)
            share.close(reason)

    def _closed(self, share: SharePartition) -> None:
        place = share.place
        key = place.topic_id, place.partition_index
        shares = self._shares.get(key, {})
        if shares.get(place.group_id) is share:
            del shares[place.group_id]
            if not shares:
                del self._shares[key]
            group = self._groups[place.group_id]
            del group.shares[key]
            if not group.shares:
                del self._groups[place.group_id]

    def _drop_idle(self, share: SharePartition) -> None:
        """Nobody uses it: whoever comes next reads what is durable."""
        if share.place not in self._users and share.is_idle:
            share.close(CoordinatorNotAvailable("nobody fetches the share partition"))

    def _letters(self, share: SharePartition, letters: list[OffsetRun]) -> None:
        for taker in self.on_letters:
            taker(share, letters)

    # -- for those who look after it

    def release(
        self, group_id: str, member_id: str | None = None, backoff_ms: int = 0, of: SharedPart | None = None
    ) -> int:
        """Give others what a member of a group holds, or what all of them do; how many offsets that are. With a
        back-off, which `share.release.backoff.max.ms` bounds, nobody is given them before that time is over."""
        released, backoff_ms = 0, self.allowed_backoff_ms(group_id, backoff_ms)
        for share in self.find(group_id):
            if of is None or of.is_of(share):
                owners = {run.owner for run in share.in_flight()} if member_id is None else {member_id}
                offsets = None if of is None else of.offsets
                released += sum(share.release(owner, backoff_ms, offsets) for owner in owners)
        return released

    def allowed_backoff_ms(self, group_id: str, backoff_ms: int) -> int:
        """So much of a back-off as a group allows those to choose who give records back."""
        return max(min(backoff_ms, self._settings(group_id).release_backoff_max_ms), 0)

    def statistics(self) -> dict[str, int]:
        """What was counted, and what is under way on this node."""
        shares = self.all_shares()
        each = [share.statistics() for share in shares]
        gauges = ("acquired", "available", "backed_off", "runs", "waiters")
        return {
            **self.counters.statistics(),
            **self.sessions.statistics(),
            "share_partitions": len(shares),
            **{name: sum(one.get(name, 0) for one in each) for name in gauges},
        }


_AckResult = Deferred[None] | BrokerError | None


def _done(steps: Steps[T]) -> T:
    """Work that is small, at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("T", end.value)


def _forward(answer: ShareAnswer | Deferred[ShareAnswer], to: Deferred[ShareAnswer]) -> None:
    if isinstance(answer, Deferred):
        answer.forward(to)
    else:
        to.resolve(answer)


def _with_acks(settled: ShareAnswer, found: list[SharePortion]) -> ShareAnswer:
    """One portion of each partition, out of what was acknowledged and what was found."""
    by_key = {(portion.topic_id, portion.index): portion for portion in settled.portions}
    for portion in found:
        acknowledged = by_key.pop((portion.topic_id, portion.index), None)
        if acknowledged is not None:
            portion.ack_error = acknowledged.ack_error
    return ShareAnswer(settled.lock_duration_ms, [*found, *by_key.values()])


def _once_durable(answer: ShareAnswer, waiting: Sequence[tuple[SharePortion, Deferred[None]]]) -> Deferred[ShareAnswer]:
    together = Deferred[ShareAnswer]()
    left = len(waiting)

    def settled(portion: SharePortion, error: BrokerError | None) -> None:
        nonlocal left
        portion.ack_error = error
        left -= 1
        if not left:
            together.resolve(answer)

    for portion, result in waiting:
        result.when_settled(lambda _, portion=portion: settled(portion, None), partial(settled, portion))  # type: ignore[misc]
    return together
