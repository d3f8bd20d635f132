"""Producer ids: unique for ever. Reserved durably in blocks, handed out from memory.

A block that was reserved and not used up before a restart is never used again: ids are plentiful, repeats
are not allowed.

    while (producer_id := ids.take()) is None:      # loop
        ids.add(ids.reserve())                      # reserve blocks: in a thread; add: on the loop
"""

from collections import deque

from attrs import define, field, frozen

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Put
from engine.catalogue.records import PRODUCER_IDS

BLOCK_SIZE = 1_000


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

    def add(self, block: ProducerIdBlock) -> None:
        self._blocks.append(block)
