"""How long work on the loop lets others go on: after every slice of it."""

import trio

SLICE = 200
"""So many items, a microsecond or a few each, are worked through in one go."""


class Breathing:
    """Counts what was done, and pauses for others when a slice is full."""

    __slots__ = ("_done", "_slice")

    def __init__(self, slice_size: int = SLICE) -> None:
        self._done = 0
        self._slice = slice_size

    async def did(self, items: int = 1) -> None:
        """So many items were worked through."""
        self._done += items
        if self._done >= self._slice:
            self._done = 0
            await trio.lowlevel.checkpoint()
