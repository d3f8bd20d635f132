"""Share groups, composed: what keeps the state of share partitions, and what knows their ends, on whichever node."""

from typing import TYPE_CHECKING, Any

from attrs import frozen

from coordinators.internal_topics import InternalTopics
from coordinators.records.directory import PartitionDirectory
from coordinators.share.ends import LocalShareRecords
from coordinators.share.letter_search import NoCalls
from coordinators.share.ports import LetterCalls, ShareRecords, ShareStates
from coordinators.share.states import LocalShareStates
from engine.clock import Clock
from engine.timers import Timers
from engine.workers import Workers

if TYPE_CHECKING:
    from tidegate.cluster_links import ClusterLinks


@frozen(eq=False)
class ShareParts:
    """A node's part in share groups."""

    local_states: LocalShareStates
    """Of the shards that this node leads."""
    states: ShareStates
    """Of all."""
    records: ShareRecords
    calls: LetterCalls

    @classmethod
    def compose(
        cls,
        internal_topics: InternalTopics,
        directory: PartitionDirectory,
        clock: Clock,
        timers: Timers,
        workers: Workers,
        links: "ClusterLinks | None",
    ) -> "ShareParts":
        """Nothing is loaded yet. A node by itself has no links."""
        settings = directory.topics.settings
        local, records = (
            LocalShareStates.compose(internal_topics, settings, clock, timers, workers),
            LocalShareRecords(directory),
        )
        if links is None:
            return cls(local, local, records, NoCalls())
        patience_s = settings.integer("share.coordinator.write.timeout.ms") / 1000
        return cls(local, links.share_states(local, patience_s), links.share_records(records), links.letter_calls())

    @property
    def services(self) -> dict[type[Any], object]:
        """What handlers and routes may ask for by its type."""
        return {
            LocalShareStates: self.local_states,
            ShareStates: self.states,
            ShareRecords: self.records,
            LetterCalls: self.calls,
        }
