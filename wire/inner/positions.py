"""How far a member is in each of its partitions: what it was given, what it is done with, what is committed."""

from collections.abc import Mapping

from attrs import define, field

from wire.inner.assignors import Place

NOT_COMMITTED = -1


@define
class Position:
    """In one partition. Each is the offset of the next record, as committed offsets are."""

    given: int
    done: int
    committed: int


@define(eq=False)
class Positions:
    """In all that a member reads now."""

    _by_place: dict[Place, Position] = field(factory=dict, init=False)
    _turn: int = field(default=0, init=False)

    def start(self, place: Place, offset: int, committed: int = NOT_COMMITTED) -> None:
        """Read on from here."""
        self._by_place[place] = Position(offset, offset, committed)

    def drop(self, place: Place) -> None:
        """It is not the member's any more."""
        self._by_place.pop(place, None)

    def drop_all(self) -> None:
        """Nothing is."""
        self._by_place.clear()

    def __contains__(self, place: object) -> bool:
        return place in self._by_place

    def given(self) -> dict[Place, int]:
        """Where everything that was given ends."""
        return {place: each.given for place, each in self._by_place.items()}

    def in_turn(self) -> dict[Place, int]:
        """The same, with another partition first each time, so that none is passed over for long."""
        places = list(self._by_place)
        if not places:
            return {}
        self._turn = (self._turn + 1) % len(places)
        return {place: self._by_place[place].given for place in places[self._turn :] + places[: self._turn]}

    def give(self, place: Place, next_offset: int) -> None:
        """The caller is given what lies before this offset."""
        self._by_place[place].given = next_offset

    def done(self) -> None:
        """The caller has asked for more: it is done with what it has."""
        for each in self._by_place.values():
            each.done = each.given

    @property
    def is_settled(self) -> bool:
        """Whether the caller is done with all that it was given."""
        return all(each.done == each.given for each in self._by_place.values())

    def to_commit(self) -> dict[Place, int]:
        """What the caller is done with and is not committed yet."""
        return {place: each.done for place, each in self._by_place.items() if each.done != each.committed}

    def committed(self, offsets: Mapping[Place, int]) -> None:
        """These are; whoever commits something is done with it."""
        for place, offset in offsets.items():
            if (position := self._by_place.get(place)) is not None:
                position.committed = offset
                position.done = max(position.done, min(offset, position.given))
