"""Opening the partitions that lie on a node as it starts, and what a full disk leaves for later.

Recovery needs room: what does not fit into a log is kept under another name, and a few small files are written. Where
there is none, the log is as it was, and is neither damaged nor lost: its partition is opened later, and the others are
served meanwhile. The journal is not written before all are open (`LeftForLater.when_none`), for it may hold what the
missing ones lack; logs are synced file by file until then.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

import trio
from attrs import define, evolve, field

from coordinators.topic_view import Topic
from engine.config.resolve import BrokerSettings
from engine.config.topic_parts import log_config
from engine.errors import BrokerError, StorageError
from engine.files.reserve import is_full
from engine.ids import TopicId
from engine.log.log import Log
from engine.partition.partitions import Partitions, PartitionSpec
from engine.partition.replicas import Replicas

logger = logging.getLogger("tidegate.replicas")

OPENING_TOGETHER = 8
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0

PartitionKey = tuple[TopicId, int]
Repair = Callable[[PartitionSpec, StorageError], Awaitable[Log]]


@define(eq=False)
class LeftForLater:
    """What could not be opened as the node started."""

    keys: set[PartitionKey] = field(factory=set, init=False)
    earlier: dict[PartitionKey, int] = field(factory=dict, init=False)
    """In which epochs this node led, in an earlier life, what it may not have opened since."""
    _when_none: Callable[[], object] | None = field(default=None, init=False)

    def note_earlier(self, specs: Sequence[PartitionSpec]) -> None:
        """These are the rows that the node found: it may not lead by them."""
        rows = {(spec.topic_id, spec.index): spec.replicas for spec in specs if spec.replicas.leads}
        self.earlier = {key: replicas.row.leader_epoch for key, replicas in rows.items()}

    def is_of_earlier_life(self, spec: PartitionSpec) -> bool:
        """Whether the row that makes this node the leader is one of those."""
        known = spec.replicas
        return known.leads and self.earlier.get((spec.topic_id, spec.index)) == known.row.leader_epoch

    def done(self, key: PartitionKey) -> None:
        """It is open, or lies here no longer."""
        self.keys.discard(key)
        self._look()

    def when_none(self, function: Callable[[], object]) -> None:
        """Call it once nothing is left, now if nothing is."""
        self._when_none = function
        self._look()

    def _look(self) -> None:
        if not self.keys and self._when_none is not None:
            function, self._when_none = self._when_none, None
            function()


def specs_of(topic: Topic, node_id: int, settings: BrokerSettings) -> list[PartitionSpec]:
    """The partitions of a topic that lie on a node, as its rows say."""
    held = [(index, row) for index, row in enumerate(topic.partitions) if node_id in row.replicas]
    if not held:
        return []
    config, least = log_config(topic.config, settings), min_insync(topic)
    return [
        PartitionSpec(topic.topic_id, index, config, syncs(topic), topic.name, Replicas(node_id, row, least))
        for index, row in held
    ]


def syncs(topic: Topic) -> bool:
    """Whether what is written to it is made durable before it is acknowledged."""
    return topic.config["flush.mode"] != "os"


def min_insync(topic: Topic) -> int:
    """So many replicas in sync its producers ask for."""
    return topic.config.integer("min.insync.replicas")


async def open_logs(
    specs: Sequence[PartitionSpec], open_log: Callable[[PartitionSpec], Awaitable[Log]], repair: Repair
) -> list[tuple[PartitionSpec, Log | BaseException]]:
    """The logs, several opened at a time. One that fails its checks is given to `repair`; for one that there is no room
    for now there is the error."""
    opened: dict[int, Log | BaseException] = {}
    numbers = iter(range(len(specs)))

    async def open_one(spec: PartitionSpec) -> Log | BaseException:
        try:
            try:
                return await open_log(spec)
            except StorageError as error:
                if is_full(error):
                    return error
                return await repair(spec, error)
        except (BrokerError, OSError) as error:
            if is_full(error):
                return error
            raise

    async def open_some() -> None:
        for number in numbers:
            opened[number] = await open_one(specs[number])

    async with trio.open_nursery() as nursery:
        for _ in range(OPENING_TOGETHER):
            nursery.start_soon(open_some)
    return [(spec, opened[number]) for number, spec in enumerate(specs)]


def new_logs(partitions: Partitions, specs: Sequence[PartitionSpec]) -> list[Log | None]:
    """[thread] None for one that cannot be made now: it is tried again, and what else is new goes on."""
    logs: list[Log | None] = []
    for spec in specs:
        try:
            logs.append(partitions.new_log(spec))
        except (BrokerError, OSError) as error:
            logger.error("%s-%d cannot be made, tried again: %s", spec.topic, spec.index, error)
            logs.append(None)
    return logs


async def retried(attempt: Callable[[], Awaitable[None]], trouble: str, *, longest_s: float = LONGEST_RETRY_S) -> None:
    """Make an attempt until it succeeds, and tell of those that did not."""
    delay_s = FIRST_RETRY_S
    while True:
        try:
            return await attempt()
        except (BrokerError, OSError) as error:
            logger.error("%s, tried again: %s", trouble, error)
        await trio.sleep(delay_s)
        delay_s = min(2 * delay_s, longest_s)


def unled(spec: PartitionSpec) -> PartitionSpec:
    """The same as if nobody led it: whoever is to lead it prepares for that first."""
    known = spec.replicas
    row = evolve(known.row, leader=-1, leader_epoch=known.row.leader_epoch - 1)
    return evolve(spec, replicas=Replicas(known.node_id, row, known.min_insync))


def waiting(spec: PartitionSpec) -> PartitionSpec:
    """The same until a newer row says who leads it."""
    known = spec.replicas
    return evolve(spec, replicas=Replicas(known.node_id, evolve(known.row, leader=-1), known.min_insync))
