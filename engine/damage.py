"""Damage that was found on disk: where, what, and which of it is known of this broker.

Nothing here mends or removes anything. Code that meets bytes which cannot be what was written raises `DamagedFile`;
what is found is kept in `Damages`, for `/health`, the metrics and the command line.
"""

from collections.abc import Iterator

from attrs import define, field, frozen

from engine.errors import StorageError

KEPT_MOST = 1_000
"""How many are told one by one; more of them say nothing new."""


class DamagedFile(StorageError):
    """Bytes that cannot be what was written: refused, for nobody can tell what they should have been."""

    def __init__(self, path: str, position: int, offset: int, problem: str) -> None:
        super().__init__(f"{path} is damaged at byte {position} (offset {offset}): {problem}")
        self.path = path
        self.position = position
        self.offset = offset
        self.problem = problem


@frozen
class Damage:
    """A damaged place. `topic` is empty for a file of the whole broker; an offset of -1 is not known."""

    file: str
    position: int
    problem: str
    topic: str = ""
    partition: int = -1
    offset: int = -1
    found_ms: int = 0


@define(eq=False)
class Damages:
    """The damaged places that are known, by file and position. Belongs to the loop."""

    _by_place: dict[tuple[str, int], Damage] = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._by_place)

    def __iter__(self) -> Iterator[Damage]:
        return iter(tuple(self._by_place.values()))

    def add(self, damage: Damage) -> bool:
        """Note it; whether it is new."""
        place = damage.file, damage.position
        if place in self._by_place or len(self._by_place) >= KEPT_MOST:
            return False
        self._by_place[place] = damage
        return True

    def forget(self, file: str) -> None:
        """The file was looked at again, or is gone."""
        for place in [place for place in self._by_place if place[0] == file]:
            del self._by_place[place]
