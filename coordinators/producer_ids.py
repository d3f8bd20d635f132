"""Producer ids: unique for ever. Reserved durably in blocks, handed out from memory.

A block that was reserved and not used up before a restart is never used again: ids are plentiful, repeats
are not allowed.

    while (producer_id := ids.take()) is None:
        await ids.replenish(in_catalogue)           # one reserves for all who wait
"""

from collections import deque
from collections.abc import Awaitable, Callable

import trio
from attrs import define, field, frozen

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Put
from engine.catalogue.records import PRODUCER_IDS
from engine.errors import StorageError

BLOCK_SIZE = 1_000
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

    @property
    def available(self) -> bool:
        """Whether `take` will return an id."""
        return bool(self._blocks)

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
        with trio.move_on_after(REPLENISHED_S):
            async with self._replenishing:
                if not self.available:
                    self.add(await in_catalogue(self.reserve))
                return
        raise StorageError(f"the catalogue has not given producer ids for {REPLENISHED_S:.0f} s; try again later")

    def add(self, block: ProducerIdBlock) -> None:
        self._blocks.append(block)
