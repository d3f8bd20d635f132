"""Which group a fetch belongs to. Fetch names none, so the group is that of a member with the same client id and
address that reads the topic; where there are several such groups, none is named and the commit will tell."""

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
    _read_at: float = field(default=float("-inf"), init=False)
    _took_s: float = field(default=0.0, init=False)

    def group_of(self, client_id: str, address: str, topic: str) -> str | None:
        """The one group it can be, or None."""
        client = (client_id, address)
        age_s = self.clock.monotonic() - self._read_at
        found = self._groups_of(client, topic)
        if (age_s > REFRESH_S or len(found) != 1) and age_s > self._took_s / SHARE:
            self._refresh()
            found = self._groups_of(client, topic)
        return found[0] if len(found) == 1 else None

    def _groups_of(self, client: Client, topic: str) -> list[str]:
        candidates = self._groups.get(client, {})
        return [group for group, is_subscribed_to in candidates.items() if is_subscribed_to(topic)]

    def _refresh(self) -> None:
        began = self.clock.monotonic()
        self._groups = {}
        for group, is_subscribed_to, clients in self.read():
            for client in clients:
                self._groups.setdefault(client, {})[group] = is_subscribed_to
        self._read_at = self.clock.monotonic()
        self._took_s = self._read_at - began
