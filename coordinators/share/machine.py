"""The state of one partition of `__share_group_state`: its share partitions, and the operations on them.

Hard state is `places`, in the order of their latest snapshots. A change is written as an update, a delta; after
so many of them the whole state is written, as a snapshot. What lies before the oldest of the latest snapshots is never
needed again, and is cut off: the log is not compacted, for deltas of one key would be lost. So that no place that rests
keeps the log from being cut, those that have not changed for long are written anew, if much has been written since.

What was read from the log is opened when it is first needed: a shard of many places loads at the speed of its disk.

Who may write is decided by two epochs. A state epoch counts how often the state has begun anew; a leader epoch is that
of the partition's leader, and rises when a leader reads. Whoever comes with an earlier one is refused.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from attrs import define, evolve, field, frozen

from coordinators.share import record_formats as formats
from coordinators.share.overlay import overlay
from coordinators.share.ports import (
    UNCHANGED,
    UNINITIALISED,
    DeliveryState,
    ShareChange,
    SharePlace,
    ShareState,
    StateBatch,
)
from coordinators.share.record_formats import SNAPSHOT, ShareSnapshot, ShareStateRecord, ShareUpdate
from coordinators.state_machine import Record, ShardTimers, Verdict
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError, FencedLeaderEpoch, FencedStateEpoch, InvalidRequest, PolicyViolation
from engine.ids import ZERO_ID, TopicId

logger = logging.getLogger("tidegate.share")

NO_LEADER_EPOCH = -1
"""Of a reader that is no leader, and fences nobody."""
MOST_BATCHES = 20_000
"""Of one change: twice as many as the widest window has offsets."""
MOST_TEXT = 4 * 1024 * 1024
"""Of the reasons and members in one change together."""
MOST_COUNT = 32_767
FORGOTTEN_TOGETHER = 500
GONE_REMEMBERED = 10_000
RENEWED_TOGETHER = 100
GO_ON_MS = 1_000
MISSING_S = 60.0
RECORDS_TO_SPARE = 1_000
"""So many more records than places may lie in the log before places that rest are written anew."""

Prune = Callable[[int], object]
IsTopic = Callable[[TopicId], bool]


@frozen
class ShareStateSettings:
    """Kafka's keys `share.coordinator.*`; the defaults are Kafka's."""

    updates_per_snapshot: int = 500
    prune_interval_ms: int = 300_000
    cold_interval_ms: int = 300_000
    max_places: int = 100_000

    @classmethod
    def of(cls, settings: BrokerSettings) -> "ShareStateSettings":
        """What the broker's configuration says."""
        return cls(
            updates_per_snapshot=settings.integer("share.coordinator.snapshot.update.records.per.snapshot"),
            prune_interval_ms=settings.integer("share.coordinator.state.topic.prune.interval.ms"),
            cold_interval_ms=settings.integer("share.coordinator.cold.partition.snapshot.interval.ms"),
            max_places=settings.integer("max.share.partitions"),
        )


@define(eq=False)
class KeptState:
    """A share partition's state, opened or as it was read."""

    snapshot_offset: int
    snapshot_ms: int
    update_count: int = 0
    snapshot: ShareSnapshot | None = None
    """What it comes to, with every update in it."""
    unopened: list[bytes] = field(factory=list)
    """A snapshot's value and those of its updates, until somebody asks."""

    def opened(self) -> ShareSnapshot:
        """All of it."""
        if self.snapshot is None:
            self.snapshot = formats.decode_snapshot(self.unopened[0])
            for value in self.unopened[1:]:
                self.apply(formats.decode_update(value))
            self.unopened = []
        return self.snapshot

    def apply(self, update: ShareUpdate) -> None:
        """Lay an update over it; one that goes with another snapshot is none of its own."""
        assert self.snapshot is not None, "it has been opened"
        if update.snapshot_epoch == self.snapshot.snapshot_epoch:
            state = changed(self.snapshot.state, update.leader_epoch, update.change)
            self.snapshot = evolve(self.snapshot, state=state)


def changed(state: ShareState, leader_epoch: int, change: ShareChange) -> ShareState:
    """The state after a change. A start never moves back: what lay below it is forgotten."""
    start = max(state.start_offset, change.start_offset)
    return ShareState(
        state.state_epoch,
        max(state.leader_epoch, leader_epoch),
        start,
        change.complete_count,
        overlay(state.batches, change.batches, start),
        state.letter_producer if change.letter_producer is None else change.letter_producer,
    )


@define(eq=False)
class ShareStateMachine:
    """A shard. `prune` cuts the shard's log off before an offset; `is_topic` knows the topics that there are."""

    timers: ShardTimers[Any]
    clock: Clock
    settings: ShareStateSettings
    prune: Prune
    is_topic: IsTopic
    count_all: Callable[[], int]
    """Places of all shards of this node."""
    places: "OrderedDict[SharePlace, KeptState]" = field(factory=OrderedDict, init=False)
    _by_topic: dict[TopicId, set[SharePlace]] = field(factory=dict, init=False)
    _offset: int = field(default=0, init=False)
    """Of the batch that is being replayed, or was last."""
    _first_offset: int | None = field(default=None, init=False)
    """Where the log begins, as far as is known."""
    _gone: dict[SharePlace, None] = field(factory=dict, init=False)
    """Places that were forgotten and that nobody has read since: a leader that does not know it may still write."""
    _lettered: dict[SharePlace, None] = field(factory=dict, init=False)
    """Places that may have dead letters which are not sent yet; those that have any are among them."""
    _missing_since: dict[TopicId, float] = field(factory=dict, init=False)
    """Topics that were not there when they were last looked for."""

    # -- replay

    def replays_at(self, base_offset: int) -> None:
        """What follows lies there."""
        self._offset = base_offset
        if self._first_offset is None:
            self._first_offset = base_offset

    def replay(self, record: Record, _producer_id: int) -> None:
        """Apply a record."""
        decoded = formats.decode_key(record.key)
        if decoded is None:
            logger.warning("passed over a record whose key is of a later version")
            return
        kind, place = decoded
        if record.value is None:
            self._forget(place)
        elif kind == SNAPSHOT:
            self._replay_snapshot(place, record, record.value)
        else:
            self._replay_update(place, record, record.value)

    def _replay_snapshot(self, place: SharePlace, record: Record, value: bytes) -> None:
        kept = KeptState(self._offset, formats.written_ms(value))
        if isinstance(record, ShareStateRecord):
            assert isinstance(record.content, ShareSnapshot), "by its key"
            kept.snapshot = record.content
            has_letters = _has_letters(record.content.state.batches)
        else:
            kept.unopened.append(value)
            has_letters = formats.may_have_letters(value)
        if has_letters:
            self._lettered[place] = None
        self.places[place] = kept
        self.places.move_to_end(place)
        self._by_topic.setdefault(place.topic_id, set()).add(place)

    def _replay_update(self, place: SharePlace, record: Record, value: bytes) -> None:
        kept = self.places.get(place)
        if kept is None:
            # Its snapshot was cut off: then another one follows, or the place is forgotten.
            return
        formats.check_version(value)
        kept.update_count += 1
        if kept.snapshot is None and not isinstance(record, ShareStateRecord):
            kept.unopened.append(value)
            if formats.may_have_letters(value):
                self._lettered[place] = None
            return
        kept.opened()
        update = record.content if isinstance(record, ShareStateRecord) else formats.decode_update(value)
        assert isinstance(update, ShareUpdate), "by its key"
        kept.apply(update)
        if _has_letters(update.change.batches):
            self._lettered[place] = None

    def _forget(self, place: SharePlace) -> None:
        if self.places.pop(place, None) is not None:
            self._gone[place] = None
            self._lettered.pop(place, None)
            if len(self._gone) > GONE_REMEMBERED:
                del self._gone[next(iter(self._gone))]
            others = self._by_topic[place.topic_id]
            others.discard(place)
            if not others:
                del self._by_topic[place.topic_id]

    def replay_marker(self, _producer_id: int, _committed: bool) -> None:
        """Nobody writes to this topic in a transaction."""

    def nothing(self) -> Record:
        """No group is without a name."""
        return formats.tombstone(SharePlace("", ZERO_ID, 0))

    def loaded(self) -> None:
        """Have the log looked after."""
        self._tidy_later(self.settings.prune_interval_ms)

    def unloaded(self) -> None:
        """Nobody waits here."""

    # -- operations

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int) -> Verdict[None]:
        """Begin anew. The same once more changes nothing: who has asked may not have heard the answer, and meanwhile
        the leader may have gone on."""
        _check_offsets(state_epoch, start_offset)
        known = self._known(place)
        if known is None:
            self._make_room()
            return self._snapshot(place, None, ShareState(state_epoch, start_offset=start_offset), start_offset)
        state = known.state
        if state_epoch < state.state_epoch:
            raise _fenced_state(place, state_epoch, state.state_epoch)
        if state_epoch == state.state_epoch > 0 and start_offset == known.began_at:
            return Verdict()
        anew = ShareState(state_epoch, state.leader_epoch, start_offset, letter_producer=state.letter_producer)
        return self._snapshot(place, known, anew, start_offset)

    def read(self, place: SharePlace, leader_epoch: int) -> Verdict[ShareState]:
        """What a leader begins with; earlier leaders are refused from now on."""
        self._gone.pop(place, None)
        known = self._known(place)
        state = ShareState() if known is None else known.state
        if leader_epoch == NO_LEADER_EPOCH or leader_epoch == state.leader_epoch:
            return Verdict(response=state)
        if leader_epoch < state.leader_epoch:
            raise _fenced_leader(place, leader_epoch, state.leader_epoch)
        read = evolve(state, leader_epoch=leader_epoch)
        if known is None:
            self._make_room()
            return Verdict(self._snapshot(place, None, read, UNINITIALISED).records, read)
        change = ShareChange(complete_count=state.complete_count)
        update = ShareUpdate(known.snapshot_epoch, leader_epoch, change)
        return Verdict([formats.update_record(place, update)], read)

    def write(self, place: SharePlace, state_epoch: int, leader_epoch: int, change: ShareChange) -> Verdict[None]:
        """Lay a leader's change over what there is. What was forgotten does not come back by a leader that has not
        heard of it: it reads first."""
        _check_change(change)
        known = self._known(place)
        if known is None and (place in self._gone or state_epoch > 0):
            raise FencedStateEpoch(f"the state of {place.key} was deleted")
        state = ShareState(state_epoch, leader_epoch) if known is None else known.state
        if state_epoch < state.state_epoch:
            raise _fenced_state(place, state_epoch, state.state_epoch)
        if leader_epoch < state.leader_epoch:
            raise _fenced_leader(place, leader_epoch, state.leader_epoch)
        is_due = known is None or self.places[place].update_count >= self.settings.updates_per_snapshot
        if known is not None and not is_due and state_epoch == state.state_epoch:
            return Verdict([formats.update_record(place, ShareUpdate(known.snapshot_epoch, leader_epoch, change))])
        if known is None:
            self._make_room()
        written = changed(evolve(state, state_epoch=state_epoch), leader_epoch, change)
        return self._snapshot(place, known, written, UNINITIALISED if known is None else known.began_at)

    def delete(self, place: SharePlace) -> Verdict[None]:
        """Forget it."""
        return Verdict([formats.tombstone(place)] if place in self.places else [])

    def summary(self, place: SharePlace) -> Verdict[ShareState]:
        """What there is, without its batches."""
        known = self._known(place)
        return Verdict(response=ShareState() if known is None else evolve(known.state, batches=()))

    def with_letters(self) -> list[SharePlace]:
        """Those with dead letters that are not known to be in the dead-letter topic."""
        for place in list(self._lettered):
            known = self._known(place)
            if known is None or not _has_letters(known.state.batches):
                del self._lettered[place]
        return list(self._lettered)

    def forget_topics(self, ids: Collection[TopicId]) -> Verdict[bool]:
        """Forget some of the places of topics that are gone; whether there are more."""
        some: list[Record] = []
        for topic_id in ids:
            for place in self._by_topic.get(topic_id, ()):
                if len(some) == FORGOTTEN_TOGETHER:
                    return Verdict(some, True)
                some.append(formats.tombstone(place))
        return Verdict(some, False)

    def statistics(self) -> dict[str, int]:
        """How many share partitions there are."""
        return {"places": len(self.places)}

    # -- internals

    def _known(self, place: SharePlace) -> ShareSnapshot | None:
        kept = self.places.get(place)
        return None if kept is None else kept.opened()

    def _snapshot(
        self, place: SharePlace, known: ShareSnapshot | None, state: ShareState, began_at: int
    ) -> Verdict[None]:
        now_ms = self.clock.now_ms()
        epoch, created_ms = (0, now_ms) if known is None else (known.snapshot_epoch + 1, known.created_ms)
        return Verdict([formats.snapshot_record(place, ShareSnapshot(epoch, state, created_ms, now_ms, began_at))])

    def _make_room(self) -> None:
        most = self.settings.max_places
        if self.count_all() >= most:
            raise PolicyViolation(f"the state of {most} share partitions is kept here, and no more may be")

    # -- upkeep

    def _tidy_later(self, delay_ms: int) -> None:
        self.timers.set("tidy", delay_ms, lambda machine: machine.tidy())

    def tidy(self) -> Verdict[bool]:
        """Cut off what is not needed, write places anew that rest, forget those of topics that are not there: a step of
        it. Whether it goes on."""
        records = self._of_missing_topics()
        goes_on = len(records) == FORGOTTEN_TOGETHER
        if not goes_on:
            renewed = self._renewed()
            records += renewed
            goes_on = len(renewed) == RENEWED_TOGETHER
        self._tidy_later(GO_ON_MS if goes_on else self.settings.prune_interval_ms)
        # Of what is known now: it is durable when the records of this step are.
        upto = next(iter(self.places.values())).snapshot_offset if self.places else self._offset
        if self._first_offset is None or upto <= self._first_offset:
            return Verdict(records, goes_on)
        return Verdict(records, goes_on, completions=[partial(self._prune, upto)])

    def _prune(self, upto: int, error: BrokerError | None) -> None:
        if error is None:
            self._first_offset = upto
            self.prune(upto)

    def _renewed(self) -> list[Record]:
        """Snapshots of places that have rested for long, if that frees enough of the log."""
        latest_ms = self.clock.now_ms() - self.settings.cold_interval_ms
        renewed: list[Record] = []
        for place, kept in self.places.items():
            spare = self._offset - kept.snapshot_offset - 2 * len(self.places)
            if kept.snapshot_ms > latest_ms or spare < RECORDS_TO_SPARE or len(renewed) == RENEWED_TOGETHER:
                break
            known = kept.opened()
            renewed += self._snapshot(place, known, known.state, known.began_at).records
        return renewed

    def _of_missing_topics(self) -> list[Record]:
        """Tombstones for those of topics that have not been there for long: this node may hear of a topic later than
        its leader."""
        now, before = self.clock.monotonic(), self._missing_since
        missing = [topic_id for topic_id in self._by_topic if not self.is_topic(topic_id)]
        self._missing_since = {topic_id: before.get(topic_id, now) for topic_id in missing}
        gone = [topic_id for topic_id, since in self._missing_since.items() if now - since >= MISSING_S]
        return list(self.forget_topics(gone).records)


def _has_letters(batches: Iterable[StateBatch]) -> bool:
    return any(batch.state is DeliveryState.ARCHIVING for batch in batches)


def _check_offsets(state_epoch: int, start_offset: int) -> None:
    if state_epoch < 0 or start_offset < UNINITIALISED:
        raise InvalidRequest(f"a share partition in epoch {state_epoch} from offset {start_offset}")


def _check_change(change: ShareChange) -> None:
    if len(change.batches) > MOST_BATCHES:
        raise InvalidRequest(f"a change of {len(change.batches)} batches; {MOST_BATCHES} are the most")
    if change.start_offset < UNCHANGED or change.complete_count < 0:
        raise InvalidRequest(f"a change to start {change.start_offset}, count {change.complete_count}")
    text = 0
    for batch in change.batches:
        text += len(batch.reason) + len(batch.member_id)
        if (
            not 0 <= batch.first_offset <= batch.last_offset
            or batch.state is DeliveryState.ACQUIRED
            or not 0 <= batch.delivery_count <= MOST_COUNT
            or text > MOST_TEXT
        ):
            raise InvalidRequest(f"offsets {batch.first_offset} to {batch.last_offset} cannot be kept so")


def _fenced_state(place: SharePlace, epoch: int, latest: int) -> FencedStateEpoch:
    return FencedStateEpoch(f"{place.key} has come to state epoch {latest}, and {epoch} is earlier")


def _fenced_leader(place: SharePlace, epoch: int, latest: int) -> FencedLeaderEpoch:
    return FencedLeaderEpoch(f"{place.key} was read in leader epoch {latest}, and {epoch} is earlier")
