"""Dead letters that nobody sends: found where the state of share partitions is kept, whoever reads them or not.

A leader sends the letters of a share partition that it has loaded, and it loads one when a member fetches from it.
After a crash, or when another node leads, nobody may ever fetch again. So whoever keeps the state looks every few
seconds for share partitions with letters in it, and has their leader load those that had some the last time already,
which is what sends them. The shards know which ones may have any: where there are none, a look costs nothing.
"""

from attrs import define, field

from coordinators.share.ports import LetterCalls, SharePlace
from coordinators.share.sharing import Sharing
from coordinators.share.states import LocalShareStates
from engine.clock import Clock
from engine.errors import BrokerError
from engine.timers import Timers

LOOK_EVERY_S = 3.0
CALLED_TOGETHER = 200
"""Share partitions that are loaded after one look; the others have their turn after the next."""


class NoCalls:
    """Where there is no other node."""

    def call(self, leader: int, place: SharePlace) -> None:
        """Nobody is there."""


@define(eq=False)
class LetterSearch:
    """See the module."""

    states: LocalShareStates
    sharing: Sharing
    calls: LetterCalls
    clock: Clock
    timers: Timers
    called: int = 0
    """How often a share partition was loaded, or had to be, for its letters."""
    _seen: set[SharePlace] = field(factory=set)

    def start(self) -> None:
        """The node serves."""
        self.timers.call_at(self.clock.monotonic() + LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        self.look()
        self.start()

    def look(self) -> None:
        """Have those sent that have been there for a while."""
        found = {place for machine in self.states.runtime.machines() for place in machine.with_letters()}
        for place in sorted(found & self._seen)[:CALLED_TOGETHER]:
            self._call(place)
            found.discard(place)
        self._seen = found

    def _call(self, place: SharePlace) -> None:
        topics = self.sharing.reading.directory.topics
        topic, index = topics.by_id.get(place.topic_id), place.partition_index
        if topic is None or not 0 <= index < len(topic.partitions):
            return
        leader = topic.partitions[index].leader
        if leader == topics.node_id:
            self.called += self.take_call(place)
        elif leader >= 0:
            self.called += 1
            self.calls.call(leader, place)

    def take_call(self, place: SharePlace) -> bool:
        """Somebody who keeps its state says that it has letters: load it, unless it is. Whether it was not."""
        if self.sharing.is_known(place):
            return False
        try:
            self.sharing.share_partition(*place)
        except BrokerError:
            # Another leads it by now, and is told after the next look.
            return False
        return True
