"""Producer ids: unique for ever. Reserved durably in blocks, handed out from memory.

A block that was reserved and not used up before a restart is never used again: ids are plentiful, repeats
are not allowed.

    while (producer_id := ids.take()) is None:
        await ids.replenish(in_catalogue)           # one reserves for all who wait

A node of a cluster has some in reserve all the time (`keep`), the next block while a tenth of the last is left: so
producers come, and transactions end, for as long as etcd takes no changes.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable

import trio
from attrs import define, field, frozen

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Lasting, Put
from engine.catalogue.records import PRODUCER_IDS
from engine.errors import BrokerError, CoordinatorLoadInProgress, StorageError

logger = logging.getLogger("tidegate.producers")

BLOCK_SIZE = 1_000
LOW = 10
"""When no more than one in so many of a block is left, the next one is reserved."""
KEEP_RETRY_S = 2.0
REPLENISHED_S = 15.0
"""So long is a block waited for: a catalogue that does not answer must not keep clients waiting."""

InCatalogue = Callable[[Callable[[], "ProducerIdBlock"]], Awaitable["ProducerIdBlock"]]
"""Runs what asks the catalogue away from the loop."""


@frozen
class ProducerIdBlock:
    """The ids from `first` on, `size` of them."""

    first: int
    size: int


@define(eq=False)
class ProducerIds:
    """Hands out ids of the blocks that it was given."""

    _catalogue: Catalogue
    _block_size: int = BLOCK_SIZE
    _blocks: deque[ProducerIdBlock] = field(factory=deque, init=False)
    _used: int = field(default=0, init=False)
    _replenishing: trio.Lock = field(factory=trio.Lock, init=False)
    _low: trio.Event = field(factory=trio.Event, init=False)

    @property
    def available(self) -> bool:
        """Whether `take` will return an id."""
        return bool(self._blocks)

    @property
    def is_low(self) -> bool:
        """Whether the next block should be reserved by now."""
        left = sum(block.size for block in self._blocks) - self._used
        return left * LOW <= self._block_size

    def take(self) -> int | None:
        """The next id, or None if a block must be reserved first."""
        if not self._blocks:
            return None
        block = self._blocks[0]
        producer_id = block.first + self._used
        self._used += 1
        if self._used == block.size:
            self._blocks.popleft()
            self._used = 0
        if self.is_low:
            self._low.set()
        return producer_id

    def reserve(self) -> ProducerIdBlock:
        """A block that nobody else has or will have; durable when it returns. Blocks: runs in a thread."""
        while True:
            entry = self._catalogue.get(PRODUCER_IDS)
            first = int(entry.value) if entry else 0
            compare = Compare(PRODUCER_IDS, entry.revision if entry else 0)
            put = Put(PRODUCER_IDS, str(first + self._block_size).encode())
            try:
                self._catalogue.commit(Commit((compare,), (put,)))
            except CatalogueConflict:
                continue
            return ProducerIdBlock(first, self._block_size)

    async def replenish(self, in_catalogue: InCatalogue) -> None:
        """See to it that there is an id to take. Raises why there is none."""
        trouble = StorageError(f"the catalogue has not given producer ids for {REPLENISHED_S:.0f} s; try again later")
        with trio.move_on_after(REPLENISHED_S):
            try:
                async with self._replenishing:
                    if not self.available:
                        self.add(await in_catalogue(self.reserve))
                    return
            except StorageError as error:
                trouble = error
        if isinstance(self._catalogue.session, Lasting):
            raise trouble
        # No disk of this node's has failed: as Kafka has it while the controller cannot be asked.
        raise CoordinatorLoadInProgress(str(trouble)) from trouble

    async def keep(self, in_catalogue: InCatalogue) -> None:
        """Have some in reserve, as long as the node serves."""
        while True:
            self._low = trio.Event()
            if not self.is_low:
                await self._low.wait()
            try:
                async with self._replenishing:
                    if self.is_low:
                        self.add(await in_catalogue(self.reserve))
            except BrokerError as error:
                logger.warning("producer ids cannot be reserved, tried again: %s", error)
                await trio.sleep(KEEP_RETRY_S)

    def add(self, block: ProducerIdBlock) -> None:
        self._blocks.append(block)
