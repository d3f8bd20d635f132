"""How many logins of a door are checked, or wait for that, at one time: the next caller is asked to come again.

To check a password takes long on purpose, so guesses pile up. They fill places of their own, not those of who sends a
token; and one address has no more than its share, so that guesses from there leave room for others. A token needs a
place only while the key that it names is looked for at its issuer.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from attrs import define, field

from coordinators.access.callers import network_of

MOST_CHECKED = 16
MOST_OF_AN_ADDRESS = 8


Place = Callable[[], AbstractContextManager[None]]
"""Takes a place for the length of a block; `TooManyChecked` if there is none."""


class TooManyChecked(Exception):
    """There is no place now."""


@define(eq=False)
class Checking:
    """See the module. One for each way to show who one is."""

    most: int = MOST_CHECKED
    most_of_an_address: int = MOST_OF_AN_ADDRESS
    _by_address: Counter[str] = field(factory=Counter, init=False)

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        """One for a login from this address; `TooManyChecked` if there is none."""
        places, address = self._by_address, network_of(address)
        if places.total() >= self.most or places[address] >= self.most_of_an_address:
            raise TooManyChecked
        places[address] += 1
        try:
            yield
        finally:
            places[address] -= 1
            if not places[address]:
                del places[address]
