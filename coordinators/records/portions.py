"""What a reader asks of one partition, and what it gets: the same words for every door."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from engine.errors import BrokerError
from engine.ids import TopicId
from engine.log.aborted_index import AbortedTransaction
from engine.log.types import LogRead
from engine.partition.partition import Partition

NO_EPOCH = -1
NOT_TOLD = -1

TopicJudge = Callable[[str | TopicId], BrokerError | None]
"""Tells of a topic, by its name or its id, why a reader may not read it; None if it may, or if nobody has the id."""


class Wanted(Struct):
    """What a reader wants of one partition, and what it was told of that partition before."""

    topic: str | TopicId
    """Its name, which is text, or its id, which is bytes."""
    index: int
    offset: int
    max_bytes: int
    leader_epoch: int = NO_EPOCH
    """In which epoch the reader believes the partition to be (KIP-320)."""
    last_epoch: int = NO_EPOCH
    """Of the last record that the reader has: it is told where our log has left that epoch (KIP-595)."""
    told_end: int = NOT_TOLD
    told_start: int = NOT_TOLD

    def is_quiet(self, partition: Partition) -> bool:
        """Whether there is nothing to read and nothing to say: the reader is at the end and knows it. False where that
        takes a closer look."""
        return (
            self.offset == partition.high_watermark.offset == self.told_end
            and not partition.has_stage
            and partition.log.start_offset == self.told_start
            and self.last_epoch < 0
            and self.leader_epoch in (NO_EPOCH, partition.leader_epoch)
        )


class Portion(Struct):
    """What a reader gets of one partition: records, or why there are none."""

    wanted: Wanted
    topic: str = ""
    """The topic's name; empty where there is no such partition."""
    partition: Partition | None = None
    end_offset: int = -1
    """The end that readers are told. In a prioritised partition it counts what is ready and not yet in order."""
    stable_offset: int = -1
    start_offset: int = -1
    records: LogRead | None = None
    aborted: Sequence[AbortedTransaction] | None = None
    """The transactions among these records that were aborted; None unless committed records were asked for."""
    divergence: tuple[int, int] | None = None
    """The last epoch that the reader's log and ours have in common, and where it ends in ours."""
    error: BrokerError | None = None
    nearest: int = -1
    """The node that this reader should read from instead; below 0, this one."""
