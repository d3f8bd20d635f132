"""Which names get series of their own: a bounded number, and each keeps what it has for as long as it lives.

A counter that moved between its own series and that of the others would look like a reset in both.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from attrs import define, field

K = TypeVar("K", bound=Hashable)

OTHER = "other"


@define(eq=False)
class BoundedLabels(Generic[K]):
    """Of all keys so far, at most `limit` have a name of their own."""

    limit: int
    _named: dict[K, bool] = field(factory=dict, init=False)

    def update(self, keys: Iterable[K]) -> list[K]:
        """Those that there are now; returns those that have gone and had no name of their own."""
        present = dict.fromkeys(keys)
        gone = [key for key in self._named if key not in present]
        unnamed = [key for key in gone if not self._named[key]]
        for key in gone:
            del self._named[key]
        room = self.limit - sum(self._named.values())
        for key in present:
            if key not in self._named:
                self._named[key] = room > 0
                room -= 1
        return unnamed

    def is_named(self, key: K) -> bool:
        """Whether it has a name of its own."""
        return self._named[key]

    def left_out(self) -> int:
        """How many have none."""
        return sum(not named for named in self._named.values())
