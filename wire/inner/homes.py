"""What callers of the other doors have in the broker from one request to the next: members of groups, producers.

Each lives on the node where it was made, its home, and its id names that node: so whichever node is asked knows where
to send its caller. It belongs to the principal that made it: nobody else learns that there is one. There are at most so
many, of one principal fewer (`places.py`), and one whose caller has said nothing for its session time ends.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from attrs import define, field

from coordinators.access.callers import Caller
from engine.errors import BrokerError
from wire.inner.places import Places
from wire.kafka.calls import Guest

ID_BYTES = 12


class Elsewhere(BrokerError):
    """It lives on another node."""

    def __init__(self, message: str, node_id: int) -> None:
        super().__init__(message)
        self.node_id = node_id


class NotAtHome(BrokerError):
    """There is none of this id here, or it has ended, or it is somebody else's."""


class Resident(Protocol):
    """What can live here."""

    @property
    def caller(self) -> Caller:
        """Whose it is."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""


R = TypeVar("R", bound=Resident)


@define(eq=False)
class Home(Generic[R]):
    """See the module."""

    node_id: int
    places: Places
    random_bytes: Callable[[int], bytes]
    _residents: dict[str, R] = field(factory=dict, init=False)
    _guests: dict[str, Guest] = field(factory=dict, init=False)
    """In whose names the residents ask."""

    @property
    def kind(self) -> str:
        """What lives here, as messages call it."""
        return self.places.kind

    @contextmanager
    def moving_in(self, caller: Caller) -> Iterator[str]:
        """The id of one that is added within the block; refused where there is no room. One that is not added after all
        gives its place back."""
        self.places.take(caller)
        resident_id = f"{self.node_id}-{self.random_bytes(ID_BYTES).hex()}"
        try:
            yield resident_id
        finally:
            if resident_id not in self._residents:
                self.places.give_back(caller)

    def add(self, resident_id: str, resident: R, guest: Guest) -> None:
        """It lives here from now on, and asks as this guest."""
        self._residents[resident_id], self._guests[resident_id] = resident, guest

    def remove(self, resident_id: str) -> None:
        """It has ended."""
        resident = self._residents.pop(resident_id, None)
        self._guests.pop(resident_id, None)
        if resident is not None:
            self.places.give_back(resident.caller)

    def find(self, resident_id: str, caller: Caller) -> R:
        """The caller's own of this id; `Elsewhere` or `NotAtHome`."""
        node_id = home_of(resident_id)
        if node_id is None:
            raise NotAtHome(f"{resident_id!r} is not the id of a {self.kind}")
        if node_id != self.node_id:
            raise Elsewhere(f"the {self.kind} {resident_id} lives on node {node_id}", node_id)
        found = self._residents.get(resident_id)
        if found is None or found.is_over or not is_same(found.caller, caller):
            raise NotAtHome(f"there is no {self.kind} {resident_id}: it has left, or was silent for too long")
        self.renew(resident_id, caller)
        return found

    def renew(self, resident_id: str, caller: Caller) -> None:
        """What its caller has shown now counts for it: it may live longer than the token that it came by."""
        if resident_id in self._guests:
            self._guests[resident_id].renew(caller)

    def __iter__(self) -> Iterator[R]:
        return iter(list(self._residents.values()))

    def __len__(self) -> int:
        return len(self._residents)


def is_same(owner: Caller, caller: Caller) -> bool:
    """Whether somebody is the owner, from whichever address it comes."""
    return (owner.principal, owner.tenant) == (caller.principal, caller.tenant)


def home_of(resident_id: str) -> int | None:
    """The node that an id names; None if it is no id."""
    node, dash, rest = resident_id.partition("-")
    if not dash or not node.isascii() or not node.isdigit() or len(node) > 10 or len(rest) != 2 * ID_BYTES:
        return None
    return int(node)
