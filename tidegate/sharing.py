"""Share groups, composed: what keeps the state of share partitions, wherever it is kept."""

from typing import Any

from attrs import frozen

from coordinators.internal_topics import InternalTopics
from coordinators.share.ports import ShareStates
from coordinators.share.states import LocalShareStates
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.timers import Timers
from engine.workers import Workers


@frozen(eq=False)
class Sharing:
    """A node's part in share groups."""

    local_states: LocalShareStates
    """Of the shards that this node leads."""
    states: ShareStates
    """Of all."""

    @classmethod
    def compose(
        cls, internal_topics: InternalTopics, settings: BrokerSettings, clock: Clock, timers: Timers, workers: Workers
    ) -> "Sharing":
        """Nothing is loaded yet."""
        local = LocalShareStates.compose(internal_topics, settings, clock, timers, workers)
        return cls(local, local)

    @property
    def services(self) -> dict[type[Any], object]:
        """What handlers and routes may ask for by its type."""
        return {LocalShareStates: self.local_states, ShareStates: self.states}
