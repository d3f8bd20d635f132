"""Bugs to be planted in a node, each of which a simulation must find."""

from collections.abc import Callable
from typing import Any

import pytest

from coordinators.transaction.markers import LocalMarkers
from engine.deferred import Deferred
from engine.log import producer_state
from engine.log.aborted_index import AbortedIndex
from engine.log.index import SparseIndex
from engine.log.segment import Segment
from engine.partition.durable_log import DurableLog
from engine.stage.stage import Stage

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
