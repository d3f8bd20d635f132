"""An administrator of share groups over one shard, with states in memory that may refuse."""

from typing import Any

from attrs import define, field

from coordinators.group.share.administration import ShareGroupAdministration
from coordinators.share.ports import SharePlace, ShareState
from engine.deferred import Deferred
from engine.errors import CoordinatorNotAvailable
from tests.coordinators.group.share_shard import ShareShard


def done(value: Any = None) -> Deferred[Any]:
    deferred: Deferred[Any] = Deferred()
    deferred.resolve(value)
    return deferred


@define(eq=False)
class KeptStates:
    """States in memory; some places refuse."""

    kept: dict[SharePlace, ShareState] = field(factory=dict)
    refusing: set[int] = field(factory=set)

    def _refusal(self, place: SharePlace) -> Deferred[Any] | None:
        if place.partition_index not in self.refusing:
            return None
        return Deferred.refused(CoordinatorNotAvailable("not now"))

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int) -> Deferred[None]:
        refusal = self._refusal(place)
        if refusal is None:
            self.kept[place] = ShareState(state_epoch, 0, start_offset)
        return refusal or done()

    def delete(self, place: SharePlace) -> Deferred[None]:
        refusal = self._refusal(place)
        if refusal is None:
            self.kept.pop(place, None)
        return refusal or done()

    def summary(self, place: SharePlace) -> Deferred[ShareState]:
        return self._refusal(place) or done(self.kept.get(place, ShareState()))

    def read(self, place: SharePlace, leader_epoch: int) -> Deferred[ShareState]:
        raise AssertionError("only a leader reads")

    def write(self, *_arguments: object) -> Deferred[None]:
        raise AssertionError("only a leader writes")


@define(eq=False)
class Ends:
    """Where partitions end."""

    ends: dict[int, int] = field(factory=dict)

    def end_offset(self, place: SharePlace) -> Deferred[int]:
        return done(self.ends.get(place.partition_index, -1))


@define(eq=False)
class OneShard:
    """Groups that all are of one shard."""

    shard: ShareShard

    def run(self, _group_id: str, operation: Any) -> Deferred[Any]:
        return self.shard.ask(operation).answer

    def look(self, group_id: str, question: Any) -> Deferred[Any]:
        return done(question(self.shard.machine))

    def delete(self, group_id: str) -> Deferred[Any]:
        return self.shard.ask(lambda machine: machine.commits.delete_group(group_id)).answer


@define(eq=False)
class Office:
    """Everything around it."""

    shard: ShareShard = field(factory=ShareShard)
    states: KeptStates = field(factory=KeptStates)
    ends: Ends = field(factory=Ends)
    desk: ShareGroupAdministration = field(init=False)

    def __attrs_post_init__(self) -> None:
        groups: Any = OneShard(self.shard)
        self.desk = ShareGroupAdministration(groups, self.states, self.ends, self.shard.topics)

    def left(self, *topics: str) -> None:
        """Somebody has read these topics and is gone."""
        self.shard.share_joined("a", *topics)
        self.shard.share_beat("a", -1)
