"""Bugs to be planted in a node, each of which a simulation must find."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import evolve

from coordinators.cluster import elections, leader_elections
from coordinators.replication.followers import Followers
from coordinators.replication.following import FollowedReplica, Following, Then
from coordinators.replication.ports import Asked
from coordinators.share.dead_letters import ShareDeadLetters, _Post
from coordinators.share.ports import ShareState
from coordinators.share.runs import OffsetRun
from coordinators.share.share_partition import SharePartition
from coordinators.share.window import ShareWindow
from coordinators.transaction.machine import TransactionMachine
from coordinators.transaction.markers import LocalMarkers
from engine.catalogue.records import PartitionRecord
from engine.deferred import Deferred
from engine.log import producer_state
from engine.log.aborted_index import AbortedIndex
from engine.log.index import SparseIndex
from engine.log.segment import Segment
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.partition.replicas import Replicas
from engine.stage.events import Intent
from engine.stage.stage import Stage
from tests.simulation import faults

Plant = Callable[[pytest.MonkeyPatch], None]


def acknowledged_before_synced(patch: pytest.MonkeyPatch) -> None:
    """What is written counts as durable."""
    create = DurableLog.__init__

    def careless(self: DurableLog, *arguments: Any, **named: Any) -> None:
        create(self, *arguments, **{**named, "sync_writes": False})

    patch.setattr(DurableLog, "__init__", careless)


def abort_marker_lost(patch: pytest.MonkeyPatch) -> None:
    """An abort is answered, and its markers are never written."""
    write = LocalMarkers.write

    def forgetful(self: LocalMarkers, place: Any, producer: Any, marker: Any) -> Deferred[None]:
        if marker.committed:
            return write(self, place, producer, marker)
        forgotten: Deferred[None] = Deferred()
        forgotten.resolve(None)
        return forgotten

    patch.setattr(LocalMarkers, "write", forgetful)


def release_forgotten_after_a_crash(patch: pytest.MonkeyPatch) -> None:
    """Intents that the log does not hold are not carried out by the next life."""
    patch.setattr(Stage, "unwritten", lambda *_: [])


def window_of_four(patch: pytest.MonkeyPatch) -> None:
    """A producer's last batches are remembered, but one too few."""
    patch.setattr(producer_state, "BATCHES_KEPT", producer_state.BATCHES_KEPT - 1)


def index_not_rebuilt(patch: pytest.MonkeyPatch) -> None:
    """An index that was harmed counts for what is left of it: as one of a segment in which nothing was aborted."""

    def trusting(self: Segment, _interval_bytes: int = 0) -> SparseIndex:
        self.index = self.index or SparseIndex()
        self.aborted = self.aborted or AbortedIndex()
        return self.index

    patch.setattr(Segment, "rebuild_index", trusting)


# -- of several nodes


def high_watermark_from_memory_ends(patch: pytest.MonkeyPatch) -> None:
    """A follower says that it has what it has not synced. Only when several lose their power at once does that show."""
    patch.setattr(faults, "KINDS", (faults.crash_several,))
    asked = Following.asked

    def hasty(self: Following, followed: FollowedReplica, then: Then) -> Asked | None:
        log = followed.log
        if log is None or log.offline is not None or followed.is_busy or followed.ended:
            return asked(self, followed, then)
        end = log.log.end_offset
        last_epoch = log.log.epoch_at(end - 1) if end > log.log.start_offset else -1
        return Asked(followed.replica, end, followed.leader_epoch, last_epoch, log.log.start_offset)

    def at_once(self: Following, followed: FollowedReplica, _log: DurableLog, then: Then) -> None:
        self.timers.call_at(self.clock.monotonic(), lambda: then(followed))

    patch.setattr(Following, "asked", hasty)
    patch.setattr(Following, "_when_durable", at_once)


def no_truncation_on_divergence(patch: pytest.MonkeyPatch) -> None:
    """A follower keeps what its leader does not have."""
    patch.setattr(Followers, "_compare", lambda *_: None)


def leader_without_epoch_fencing(patch: pytest.MonkeyPatch) -> None:
    """The next leader writes in the epoch of the last one, and nobody is asked for his."""
    follow = elections._next

    def unraised(row: PartitionRecord, **changes: Any) -> PartitionRecord:
        return evolve(follow(row, **changes), leader_epoch=row.leader_epoch)

    patch.setattr(elections, "_next", unraised)
    patch.setattr(Partition, "check_leader_epoch", lambda *_: None)


def isr_keeps_the_dead(patch: pytest.MonkeyPatch) -> None:
    """Whoever has gone stays in sync, and nobody waits for him."""
    settle, least = elections.settled, Replicas.least_end

    def keeping(row: PartitionRecord, *arguments: Any, **named: Any) -> elections.Ballot:
        ballot = settle(row, *arguments, **named)
        return evolve(ballot, row=evolve(ballot.row, isr=row.isr) if ballot.row is not row else row)

    def of_the_living(self: Replicas, own_end: int) -> int | None:
        told = [end for node in self.row.isr if (end := self.durable_end(node)) is not None]
        return least(self, own_end) if len(told) == len(self.row.isr) - 1 else min([own_end, *told])

    for module in (elections, leader_elections):
        patch.setattr(module, "settled", keeping)
    patch.setattr(Replicas, "least_end", of_the_living)


def marker_lost_in_failover(patch: pytest.MonkeyPatch) -> None:
    """The next coordinator does not carry out what the last one has decided."""
    patch.setattr(TransactionMachine, "loaded", TransactionMachine.open_all)


def released_twice_after_failover(patch: pytest.MonkeyPatch) -> None:
    """The next leader carries out again what the last one had intended and written, but not settled."""

    def again(self: Stage, log_end_offset: int) -> list[Intent]:
        found = []
        for intent in tuple(self.state.intents):
            moved = intent._replace(first_offset=log_end_offset)
            self.note(moved)
            found.append(moved)
            log_end_offset = moved.end_offset
        return found

    patch.setattr(Stage, "unwritten", again)


# -- of share groups


def share_state_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Who leads next, or begins again, knows where a group stands and nothing of the records above."""
    begin = SharePartition._begin

    def forgetful(self: SharePartition, state: ShareState) -> None:
        begin(self, evolve(state, batches=()))

    patch.setattr(SharePartition, "_begin", forgetful)


def letters_without_an_intent(patch: pytest.MonkeyPatch) -> None:
    """What the last leader had begun to send goes under new numbers: where it had arrived, it is there twice."""
    deliver = ShareDeadLetters._deliver_some

    async def anew(self: ShareDeadLetters, share: SharePartition, post: _Post) -> None:
        if post.producer is not None and post.producer.intended:
            await self._begin_anew(share, post, post.producer.target)
        await deliver(self, share, post)

    patch.setattr(ShareDeadLetters, "_deliver_some", anew)


def order_of_keys_ignored(patch: pytest.MonkeyPatch) -> None:
    """A key's next record is handed out whatever became of the one before it."""
    acquire = SharePartition.acquire_in_order

    def keyless(
        self: SharePartition, spans: Any, position: int, wanted: Any, keys: Mapping[int, bytes | None], last: int
    ) -> Any:
        return acquire(self, spans, position, wanted, dict.fromkeys(keys), last)

    patch.setattr(SharePartition, "acquire_in_order", keyless)


def lock_for_nobody(patch: pytest.MonkeyPatch) -> None:
    """Locks run out much too early."""
    acquire = ShareWindow._acquire

    def hasty(self: ShareWindow, run: OffsetRun, member_id: str, lock_until: float, now_ms: int) -> None:
        acquire(self, run, member_id, lock_until - 0.9, now_ms)

    patch.setattr(ShareWindow, "_acquire", hasty)


PLANTED_IN_SHARES: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (share_state_forgotten, letters_without_an_intent, order_of_keys_ignored, lock_for_nobody)
}
PLANTED_IN_CLUSTER: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        high_watermark_from_memory_ends,
        no_truncation_on_divergence,
        leader_without_epoch_fencing,
        isr_keeps_the_dead,
        marker_lost_in_failover,
        released_twice_after_failover,
    )
}
PLANTED: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        acknowledged_before_synced,
        abort_marker_lost,
        release_forgotten_after_a_crash,
        window_of_four,
        index_not_rebuilt,
    )
}
