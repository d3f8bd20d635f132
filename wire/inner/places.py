"""How many of a kind callers of the other doors may have in the broker, in all and each: nobody takes all places.

Whoever has not been asked who it is shares the name `User:ANONYMOUS` with everybody else, and is counted in all alone.
"""

from collections import Counter

from attrs import define, field

from coordinators.access.callers import ANONYMOUS, Caller, Principal
from engine.config.resolve import BrokerSettings
from engine.errors import PolicyViolation

Owner = tuple[Principal, str | None]


@define(eq=False)
class Places:
    """Of one kind, which messages call `kind`; `key` is what bounds it, and with `.per.principal` what bounds each."""

    kind: str
    key: str
    most: int
    most_each: int
    taken: int = field(default=0, init=False)
    _by_owner: Counter[Owner] = field(factory=Counter, init=False)

    @classmethod
    def of(cls, kind: str, key: str, settings: BrokerSettings) -> "Places":
        """As many as the settings say."""
        return cls(kind, key, settings.integer(key), settings.integer(f"{key}.per.principal"))

    def take(self, caller: Caller) -> None:
        """The caller has one more from now on; `PolicyViolation` where there is none for it."""
        if self.taken >= self.most:
            raise PolicyViolation(f"there are {self.taken} {self.kind}s here, which is {self.key}")
        owner = _owner(caller)
        if caller.principal != ANONYMOUS:
            if (has := self._by_owner[owner]) >= self.most_each:
                raise PolicyViolation(
                    f"{caller.principal} has {has} {self.kind}s here, which is {self.key}.per.principal"
                )
            self._by_owner[owner] += 1
        self.taken += 1

    def give_back(self, caller: Caller) -> None:
        """The caller has one less."""
        self.taken -= 1
        owner = _owner(caller)
        if owner in self._by_owner:
            self._by_owner[owner] -= 1
            if not self._by_owner[owner]:
                del self._by_owner[owner]


def _owner(caller: Caller) -> Owner:
    return caller.principal, caller.tenant
