"""Which group a fetch belongs to. Fetch names none, so the group is that of a member with the same client id and
address that reads the topic; where there are several such groups, none is named and the commit will tell. Nor is one
where more connections read under that client id and address than the group has members there: some are others'."""

from collections import Counter
from collections.abc import Callable, Iterable

from attrs import define, field

from engine.clock import Clock

# The table is read from the groups again after so long, or where it names no group or several; reading it never takes
# more than this share of the time.
REFRESH_S = 1.0
SHARE = 0.01

Client = tuple[str, str]
IsSubscribed = Callable[[str], bool]
GroupMembers = Iterable[tuple[str, IsSubscribed, Iterable[Client]]]


@define(eq=False)
class MemberTable:
    """Groups by the client id and address of their members. `read` gives all groups, their topics and members."""

    clock: Clock
    read: Callable[[], GroupMembers]
    _groups: dict[Client, dict[str, IsSubscribed]] = field(factory=dict, init=False)
    _members: Counter[tuple[str, Client]] = field(factory=Counter, init=False)
    _readers: Counter[Client] = field(factory=Counter, init=False)
    """Connections that have sent a Fetch."""
    _read_at: float = field(default=float("-inf"), init=False)
    _took_s: float = field(default=0.0, init=False)

    def group_of(self, client_id: str, address: str, topic: str) -> str | None:
        """The one group it can be, or None."""
        client = (client_id, address)
        age_s = self.clock.monotonic() - self._read_at
        found = self._groups_of(client, topic)
        is_doubtful = len(found) != 1 or self._readers[client] > self._members[found[0], client]
        if (age_s > REFRESH_S or is_doubtful) and age_s > self._took_s / SHARE:
            self._refresh()
            found = self._groups_of(client, topic)
        if len(found) != 1 or self._readers[client] > self._members[found[0], client]:
            return None
        return found[0]

    def begins_to_read(self, client_id: str, address: str) -> Client:
        """A connection has sent its first Fetch; what it is known by until `stops_reading`."""
        client = (client_id, address)
        self._readers[client] += 1
        return client

    def stops_reading(self, client: Client) -> None:
        """It has ended."""
        self._readers[client] -= 1
        if not self._readers[client]:
            del self._readers[client]

    def _groups_of(self, client: Client, topic: str) -> list[str]:
        candidates = self._groups.get(client, {})
        return [group for group, is_subscribed_to in candidates.items() if is_subscribed_to(topic)]

    def _refresh(self) -> None:
        began = self.clock.monotonic()
        self._groups, self._members = {}, Counter()
        for group, is_subscribed_to, clients in self.read():
            for client in clients:
                self._groups.setdefault(client, {})[group] = is_subscribed_to
                self._members[group, client] += 1
        self._read_at = self.clock.monotonic()
        self._took_s = self._read_at - began
