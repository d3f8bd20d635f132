"""A value that comes later: what a door holds while a coordinator or a partition still works on it.

It settles once, in one of three ways. It is *resolved* with its value; or it is *refused* with a BrokerError, which
a client is told; or it *fails* with a bug, which ends the one connection that waits for it and nobody else's. Each way
has listeners of its own, so that no value has to be looked at to see whether it is an error.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NoReturn, TypeVar

from engine.errors import BrokerError, kept

T = TypeVar("T")
U = TypeVar("U")


def raise_bug(error: Exception) -> NoReturn:
    """What happens to a bug that nobody has asked to be told of."""
    raise error


Listener = tuple[Callable[[T], object], Callable[[BrokerError], object], Callable[[Exception], object]]


class Deferred(Generic[T]):
    """A value that comes later, once."""

    __slots__ = ("_abandoned", "_bug", "_is_settled", "_listeners", "_refusal", "_value")

    _value: T

    def __init__(self) -> None:
        self._is_settled = False
        self._refusal: BrokerError | None = None
        self._bug: Exception | None = None
        self._listeners: tuple[Listener[T], ...] = ()
        self._abandoned: tuple[Callable[[], object], ...] = ()

    @classmethod
    def refused(cls, error: BrokerError) -> "Deferred[T]":
        """One that is refused already."""
        deferred = cls()
        deferred.refuse(error)
        return deferred

    @property
    def settled(self) -> bool:
        """Whether the value, or what keeps it from coming, is there."""
        return self._is_settled

    @property
    def refusal(self) -> BrokerError | None:
        """Why it was refused, if it was."""
        return self._refusal

    # -- settling: only the first time counts, for a deadline and the event itself may meet

    def resolve(self, value: T) -> None:
        """Give the value."""
        if self._is_settled:
            return
        self._value = value
        # As `_settle` does it, in a call less: most values come this way.
        listeners = self._listeners
        self._is_settled = True
        self._listeners = self._abandoned = ()
        for resolved, _refused, _failed in listeners:
            resolved(value)

    def refuse(self, error: BrokerError) -> None:
        """Say why there will be no value."""
        if self._is_settled:
            return
        self._refusal = kept(error)
        for _resolved, refused, _failed in self._settle():
            refused(error)

    def fail(self, bug: Exception) -> None:
        """A bug kept the value from being made; it is raised here if nobody listens."""
        if self._is_settled:
            return
        self._bug = bug
        listeners = self._settle()
        for _resolved, _refused, failed in listeners:
            failed(bug)
        if not listeners:
            raise_bug(bug)

    def resolve_by(self, make: Callable[[], T]) -> None:
        """Give the value that `make` returns."""
        try:
            value = make()
        except Exception as bug:
            self.fail(bug)
        else:
            self.resolve(value)

    def _settle(self) -> tuple[Listener[T], ...]:
        """Who waited and whom it waited for forget each other: together they would be a ring of garbage."""
        listeners = self._listeners
        self._is_settled = True
        self._listeners = self._abandoned = ()
        return listeners

    # -- listening

    def when_settled(
        self,
        resolved: Callable[[T], object],
        refused: Callable[[BrokerError], object],
        failed: Callable[[Exception], object] = raise_bug,
    ) -> None:
        """Call one of these back, at once if it is settled. There may be any number of listeners."""
        if not self._is_settled:
            self._listeners += ((resolved, refused, failed),)
        elif self._refusal is not None:
            refused(self._refusal)
        elif self._bug is not None:
            failed(self._bug)
        else:
            resolved(self._value)

    def forward(self, other: "Deferred[T]") -> None:
        """Settle the other one as this one settles."""
        other.on_abandoned(self.abandon)
        self.when_settled(other.resolve, other.refuse, other.fail)

    def map(
        self, convert: Callable[[T], U], convert_refusal: Callable[[BrokerError], U] | None = None
    ) -> "Deferred[U]":
        """The same value, converted on its way. A refusal passes unchanged, unless it is converted to a value too."""
        mapped: Deferred[U] = Deferred()
        mapped._abandoned = (self.abandon,)
        self.when_settled(
            partial(mapped._resolve_with, convert),
            mapped.refuse if convert_refusal is None else partial(mapped._resolve_with, convert_refusal),
            mapped.fail,
        )
        return mapped

    def _resolve_with(self, convert: Callable[[U], T], value: U) -> None:
        try:
            converted = convert(value)
        except Exception as bug:
            self.fail(bug)
        else:
            self.resolve(converted)

    # -- abandoning

    def on_abandoned(self, callback: Callable[[], object]) -> None:
        """Call back when whoever asked has gone and the value is of no use any more."""
        if not self._is_settled:
            self._abandoned += (callback,)

    def abandon(self) -> None:
        """Whoever asked has gone."""
        callbacks, self._abandoned = self._abandoned, ()
        for callback in callbacks:
            callback()


def settle(deferred: Deferred[None], refusal: BrokerError | None) -> None:
    """Of something that has no value, only an end: it is done, or refused."""
    if refusal is None:
        deferred.resolve(None)
    else:
        deferred.refuse(refusal)


def all_of(values: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """Every value, in their order, once all are there; the first refusal refuses them all."""
    together: Deferred[list[T]] = Deferred()
    found: dict[int, T] = {}

    def give(index: int, value: T) -> None:
        found[index] = value
        if len(found) == len(values):
            together.resolve([found[each] for each in range(len(values))])

    if not values:
        together.resolve([])
    for index, value in enumerate(values):
        value.when_settled(partial(give, index), together.refuse, together.fail)
    return together
