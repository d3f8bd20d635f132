"""How many connections may be made, and how fast: per listener, per address, in all (KIP-402, KIP-612), and per
principal once it is known.

What is too fast for the broker or a listener waits to be accepted. What is too fast for its address's quota is accepted
and, after a while, closed: others behind it are not kept waiting. What is too many is closed at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from attrs import Factory, define, field, frozen

from coordinators.access.callers import ANONYMOUS, Principal
from coordinators.access.quotas.entities import address_of
from coordinators.access.quotas.quotas import Quotas
from coordinators.access.quotas.rates import SampledRate
from engine.clock import Clock
from engine.config.keys import INT_MAX
from engine.config.resolve import BrokerSettings
from wire.acceptor import Refusal
from wire.kafka.codec import WireError
from wire.kafka.listeners import KEY_PREFIX, parse_listener
from wire.kafka.request import Peer


class TooMany(WireError):
    """A principal has as many connections as it may."""

    counted_as = "limited"


class Arriving(Protocol):
    """A connection on its way in."""

    async def run(self) -> bool:
        """Whether it has shown who it is."""


@frozen
class ListenerLimits:
    """What one listener may have, by the number that it has among `listeners`."""

    name: str
    most: int = INT_MAX
    rate: int = INT_MAX


@frozen
class EntryLimits:
    """The limits of the configuration beyond how many there may be in all."""

    rate: int = INT_MAX
    per_principal: int = INT_MAX
    unauthenticated: int = INT_MAX
    address_overrides: Mapping[str, int] = Factory(dict)
    listeners: Sequence[ListenerLimits] = ()


def entry_limits(settings: BrokerSettings) -> EntryLimits:
    """As the broker is configured."""
    overrides = [item.rpartition(":") for item in settings.items("max.connections.per.ip.overrides")]
    return EntryLimits(
        settings.integer("max.connection.creation.rate"),
        settings.integer("max.connections.per.principal"),
        settings.integer("max.connections.unauthenticated"),
        {address_of(address.strip("[]")) or address: int(number) for address, _, number in overrides},
        [_listener_limits(settings, parse_listener(text).name) for text in settings.items("listeners")],
    )


def _listener_limits(settings: BrokerSettings, name: str) -> ListenerLimits:
    """What is set for this listener alone; what is for all of them is counted over all of them."""
    most, rate = (_own(settings, name, key) for key in ("max.connections", "max.connection.creation.rate"))
    return ListenerLimits(name, most, rate)


def _own(settings: BrokerSettings, listener: str, key: str) -> int:
    own = f"{KEY_PREFIX}{listener.lower()}.{key}"
    return settings.integer(own) if own in settings.keys and settings.is_set(own) else INT_MAX


@define(eq=False)
class PacedRate:
    """A rate that must not be exceeded, if there is one."""

    bound: int
    rate: SampledRate

    def wait_s(self, now: float) -> float:
        """How long until there may be one more."""
        return 0.0 if self.bound == INT_MAX else self.rate.wait_s(self.bound, now)

    def count(self, now: float) -> None:
        """One more was made."""
        if self.bound != INT_MAX:
            self.rate.record(1, now)


@define(eq=False)
class ConnectionEntry:
    """The broker's side of it; `listener` makes each listener's."""

    limits: EntryLimits
    quotas: Quotas
    clock: Clock
    arriving: int = field(default=0, init=False)
    """Connections that have not shown yet who they are, where they must."""
    pace: PacedRate = field(init=False)
    _principals: Counter[Principal] = field(factory=Counter, init=False)

    def __attrs_post_init__(self) -> None:
        self.pace = self._paced(self.limits.rate)

    def _paced(self, bound: int) -> PacedRate:
        return PacedRate(bound, SampledRate(self.quotas.window))

    def listener(self, number: int, *, asks: bool = True) -> "ListenerEntry":
        """What decides for the listener of this number; `asks` tells whether who comes by it has to show who it is."""
        known = self.limits.listeners
        limits = known[number] if number < len(known) else ListenerLimits("")
        return ListenerEntry(self, limits, self._paced(limits.rate), asks)

    # -- principals

    async def arrive(self, arrival: Arriving, peer: Peer) -> bool:
        """Whether a connection is let in that has to show who it is. Raises `TooMany` if its principal has enough; the
        nodes of a cluster have as many as they need."""
        self.arriving += 1
        try:
            is_in = await arrival.run()
        finally:
            self.arriving -= 1
        principal = peer.caller.principal
        if is_in and peer.node_id is None:
            refusal = self.enter(principal)
            if refusal is not None:
                raise TooMany(refusal)
            peer.when_gone(lambda _: self.leave(principal))
        return is_in

    def enter(self, principal: Principal) -> str | None:
        """A connection is this principal's from now on; or why not. Whoever has not been asked is not counted."""
        if principal == ANONYMOUS:
            return None
        if self._principals[principal] >= self.limits.per_principal:
            return f"max.connections.per.principal={self.limits.per_principal} is reached for {principal}"
        self._principals[principal] += 1
        return None

    def leave(self, principal: Principal) -> None:
        """A connection that has entered is gone."""
        if principal != ANONYMOUS:
            self._principals[principal] -= 1
            if not self._principals[principal]:
                del self._principals[principal]


@define(eq=False)
class ListenerEntry:
    """Asked for each connection of one listener (`wire.acceptor.Doorkeeper`)."""

    entry: ConnectionEntry
    limits: ListenerLimits
    pace: PacedRate
    asks: bool = True
    count: int = field(default=0, init=False)

    def refusal(self, address: str) -> Refusal | None:
        """Why a connection that was accepted is not served."""
        entry, limits = self.entry, self.limits
        if self.count >= limits.most:
            return Refusal(f"listener.name.{limits.name.lower()}.max.connections={limits.most} is reached")
        if self.asks and entry.arriving >= entry.limits.unauthenticated:
            most = entry.limits.unauthenticated
            return Refusal(f"max.connections.unauthenticated={most} have not shown yet who they are")
        now = entry.clock.monotonic()
        self.pace.count(now)
        entry.pace.count(now)
        meter = entry.quotas.connections
        wait_s = meter.use_if_within("", address, 1) if meter.is_on else 0.0
        if wait_s:
            return Refusal("the quota connection_creation_rate of its address is reached", wait_s)
        return None

    def pause_s(self) -> float:
        """How long to wait before the next is accepted."""
        now = self.entry.clock.monotonic()
        return max(self.entry.pace.wait_s(now), self.pace.wait_s(now))

    def entered(self) -> None:
        """It is served."""
        self.count += 1

    def left(self) -> None:
        """It is gone."""
        self.count -= 1
