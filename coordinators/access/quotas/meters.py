"""Meters: what of one kind somebody has used, against what it may.

Who a bound is about shares one account: all clients of a user under a bound of that user, each client for itself under
one of its client id. A default gives each its own account, as in Kafka.
"""

from collections.abc import Callable, Iterator, Mapping

from attrs import define, field

from coordinators.access.quotas.rates import QuotaWindow, SampledRate, TokenBucket
from engine.clock import Clock

MOST_ACCOUNTS = 20_000
"""Past it the one is forgotten that was longest without use: client ids are whatever clients say."""
Name = tuple[str, str]
"""Of an account: user and client id, empty where they do not matter; or an address."""
Bounded = tuple["str | None", "str | None"]
"""Whom a bound is about: None is the default, empty that it does not matter."""


@define(eq=False)
class Account:
    """What those who share it have used."""

    name: Name
    bound: float
    rate: SampledRate | TokenBucket
    throttled: int = 0
    """Requests for which it was overdrawn."""
    throttled_s: float = 0.0
    """How long those who sent them were told to wait, in sum."""


def find_client_bound(bounds: Mapping[Bounded, float], user: str, client_id: str) -> tuple[Name, float] | None:
    """The bound that goes for a client, and whose account it is about: the most specific goes first. A client that says
    no id is under the defaults of client ids."""
    for bounded_user, is_users in ((user, True), (None, True), ("", False)):
        for bounded_client, is_clients in ((client_id, True), (None, True), ("", False)):
            if is_clients and bounded_client == "":
                continue
            bound = bounds.get((bounded_user, bounded_client))
            if bound is not None:
                return (user if is_users else "", client_id if is_clients else ""), bound
    return None


def find_address_bound(bounds: Mapping[Bounded, float], _: str, address: str) -> tuple[Name, float] | None:
    """The bound of an address."""
    bound = bounds.get(("", address))
    if bound is None:
        bound = bounds.get(("", None))
    return None if bound is None else (("", address), bound)


@define(eq=False)
class Meter:
    """One kind of use. `is_on` while anybody is bounded."""

    clock: Clock
    window: QuotaWindow
    find: Callable[[Mapping[Bounded, float], str, str], tuple[Name, float] | None] = find_client_bound
    longest_wait_s: float = float("inf")
    is_on: bool = field(default=False, init=False)
    throttled: int = field(default=0, init=False)
    throttled_s: float = field(default=0.0, init=False)
    _bounds: dict[Bounded, float] = field(factory=dict, init=False)
    _accounts: dict[Name, Account] = field(factory=dict, init=False)
    """Those used last come last."""
    _found: dict[Name, tuple[Name, float] | None] = field(factory=dict, init=False)
    """By whom was asked about: whose account it is, and its bound."""

    # -- bounds

    def bind(self, bounds: Mapping[Bounded, float]) -> None:
        """These are the bounds from now on; what was used stays so."""
        self._bounds = dict(bounds)
        self._found.clear()
        self.is_on = bool(bounds)
        if not self.is_on:
            self._accounts.clear()

    def account(self, user: str, name: str) -> Account | None:
        """That of a user's client, or of an address; None if nothing bounds it."""
        asked = (user, name)
        if asked in self._found:
            found = self._found[asked]
        else:
            if len(self._found) >= MOST_ACCOUNTS:
                self._found.clear()
            found = self._found[asked] = self.find(self._bounds, user, name)
        return None if found is None else self._used(*found)

    def _used(self, name: Name, bound: float) -> Account:
        accounts = self._accounts
        account = accounts.pop(name, None)
        if account is None:
            account = Account(name, bound, self._new_rate())
            if len(accounts) >= MOST_ACCOUNTS:
                del accounts[next(iter(accounts))]
        accounts[name] = account
        account.bound = bound
        return account

    def _new_rate(self) -> SampledRate | TokenBucket:
        return SampledRate(self.window)

    # -- use

    def use(self, user: str, name: str, amount: float) -> float:
        """So much is used; how long whoever did should wait, in seconds."""
        account = self.account(user, name)
        if account is None:
            return 0.0
        assert isinstance(account.rate, SampledRate)
        now = self.clock.monotonic()
        account.rate.record(amount, now)
        return self._waits(account, account.rate.wait_s(account.bound, now))

    def use_if_within(self, user: str, name: str, amount: float) -> float:
        """The same, but what goes beyond the bound is not used, and not counted."""
        wait_s = self.use(user, name, amount)
        if wait_s:
            account = self.account(user, name)
            assert account is not None
            assert isinstance(account.rate, SampledRate)
            account.rate.record(-amount, self.clock.monotonic())
        return wait_s

    def is_overdrawn(self, user: str, name: str) -> bool:
        """Whether more was used than may be."""
        account = self.account(user, name)
        return account is not None and account.rate.wait_s(account.bound, self.clock.monotonic()) > 0

    def overdrawn_s(self, user: str, name: str) -> float:
        """How long to wait before anything more is used."""
        return self.use(user, name, 0.0)

    def most_at_once(self, user: str, name: str) -> float:
        """More than this is beyond the bound though nothing else was used."""
        account = self.account(user, name)
        return float("inf") if account is None else account.bound * self.window.whole_s

    def _waits(self, account: Account, wait_s: float) -> float:
        if wait_s <= 0.0:
            return 0.0
        wait_s = min(wait_s, self.longest_wait_s)
        account.throttled += 1
        account.throttled_s += wait_s
        self.throttled += 1
        self.throttled_s += wait_s
        return wait_s

    def accounts(self) -> Iterator[Account]:
        """Those in use, in no order."""
        return iter(tuple(self._accounts.values()))

    def rate_of(self, account: Account) -> float | None:
        """How much a second it uses now, where that is a rate."""
        rate = account.rate
        return rate.rate(self.clock.monotonic()) if isinstance(rate, SampledRate) else None


class MutationMeter(Meter):
    """Partitions that are made and deleted, by a bucket of tokens."""

    def _new_rate(self) -> TokenBucket:
        return TokenBucket(self.window)

    def take(self, user: str, name: str, amount: float, *, strict: bool) -> float:
        """So many are wanted; how long to wait. Where `strict` holds nothing is taken if one has to; else whoever asks
        goes on and waits afterwards."""
        account = self.account(user, name)
        if account is None:
            return 0.0
        bucket, now = account.rate, self.clock.monotonic()
        assert isinstance(bucket, TokenBucket)
        wait_s = bucket.wait_s(account.bound, now)
        if strict and wait_s > 0:
            return self._waits(account, wait_s)
        bucket.record(amount, account.bound, now)
        return 0.0 if strict else self._waits(account, bucket.wait_s(account.bound, now))
