"""One batch for one partition, on its way there, and what became of it."""

from msgspec import Struct

from coordinators.topics import Topic
from engine.errors import BrokerError
from engine.log.types import Receipt
from engine.partition.partition import Partition
from engine.records.batch import Batch

NO_OFFSET = -1


class Publication(Struct, eq=False):
    """See the module. It is done with once it has a receipt, and what was asked of its durability is so; or once it is
    refused, although it may have a receipt then: what was written may still become durable."""

    topic: Topic
    partition: Partition
    batch: Batch
    receipt: Receipt | None = None
    """Where it was written. Records that wait in a stage have no offset yet: `NO_OFFSET`."""
    refusal: BrokerError | None = None
    is_judged: bool = False
    """Whether it was held against schemas, where its topic asks for that."""
