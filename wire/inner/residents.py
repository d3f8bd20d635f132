"""Who lives in the broker on behalf of callers of its doors: loaded, each kind, with the first that moves in."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import define, frozen

from coordinators.background import Background
from coordinators.cluster.nodes import Nodes
from engine.config.resolve import BrokerSettings
from engine.workers import Workers
from wire.inner.asking import InnerClient
from wire.inner.config import MEMBERS_MAX, PRODUCERS_MAX
from wire.inner.homes import Home
from wire.inner.places import Places
from wire.inner.reading import RecordReading
from wire.inner.sending import Sending

if TYPE_CHECKING:
    from wire.inner.members import Members
    from wire.inner.share_members import ShareMembers
    from wire.inner.transactions import Producers


@frozen
class Headcount:
    """How many of a kind live here, and how many have moved in since the start."""

    now: int = 0
    ever: int = 0


@define(eq=False, slots=False)
class Residents:
    """See the module."""

    inner: InnerClient
    reading: RecordReading
    sending: Sending
    background: Background
    workers: Workers
    nodes: Nodes
    settings: BrokerSettings
    random_bytes: Callable[[int], bytes]

    @cached_property
    def members(self) -> "Members":
        """Of groups."""
        from wire.inner.members import Members

        return Members(self.inner, self.reading, self.background, self.workers, self._home("member", MEMBERS_MAX))

    @cached_property
    def share_members(self) -> "ShareMembers":
        """Of share groups."""
        from wire.inner.share_members import ShareMembers

        home = self._home("share group member", MEMBERS_MAX)
        return ShareMembers(self.inner, self.reading, self.background, self.random_bytes, home)

    @cached_property
    def producers(self) -> "Producers":
        """Of transactions."""
        from wire.inner.transactions import Producers

        return Producers(self.inner, self.sending, self.background, self.nodes, self._home("producer", PRODUCERS_MAX))

    def counts(self) -> dict[str, Headcount]:
        """By kind; to ask loads none of them."""
        loaded = vars(self)
        counts = dict.fromkeys(("member", "share_member", "producer"), Headcount())
        if "members" in loaded:
            counts["member"] = Headcount(len(self.members.home), self.members.joined)
        if "share_members" in loaded:
            counts["share_member"] = Headcount(len(self.share_members.home), self.share_members.joined)
        if "producers" in loaded:
            counts["producer"] = Headcount(len(self.producers.home), self.producers.begun)
        return counts

    def _home(self, kind: str, limit_key: str) -> Home[Any]:
        places = Places.of(kind, limit_key, self.settings)
        return Home(self.inner.topics.node_id, places, self.random_bytes)
