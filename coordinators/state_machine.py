"""The state machine of a shard: what the runtime (`runtime.py`) tells it, and what its operations say.

An operation looks at the state, checks and decides; it changes nothing. Its verdict holds the records that will change
the state, and the answer. Only `replay` changes what is on disk too (hard state). What is lost with the coordinator and
comes about again, such as who waits and whose session ends when (soft state), an operation may change by itself.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from attrs import define, field, frozen

from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import BrokerError
from engine.timers import Timer, Timers

R = TypeVar("R")


class Record(NamedTuple):
    """A record of an internal topic; a value of None is a tombstone."""

    key: bytes
    value: bytes | None


@frozen
class Producer:
    """Under which transaction records are written."""

    producer_id: int
    epoch: int


Completion = Callable[[BrokerError | None], object]
"""Called when an operation's records are durable, or with the error if they will not be."""


@frozen
class Verdict(Generic[R]):
    """What an operation decided.

    `response` may be a Deferred: then that is the answer. It is settled by the completions of this operation or of a
    later one, hence not before the records are durable. `completions` are called when the records are durable: they
    answer others whom this operation settles. `refusal` is told instead of a response, once the records are durable;
    an operation that writes nothing may raise it instead. `reload_if_refused` says that soft state went ahead of the
    records: if they cannot be written the shard is loaded again, whatever the reason.
    """

    records: Sequence[Record] = ()
    response: R | Deferred[R] = None  # type: ignore[assignment]  # Verdict() is an Verdict[None]
    completions: Sequence[Completion] = ()
    producer: Producer | None = None
    reload_if_refused: bool = False
    refusal: BrokerError | None = None


@define(eq=False)
class Effects:
    """What an operation gathers while it decides: a verdict in the making."""

    records: list[Record] = field(factory=list)
    completions: list[Completion] = field(factory=list)
    # Whether soft state is ahead of the records already: should they be refused, the shard is loaded again.
    reload_if_refused: bool = False

    def answer(self, waiting: Deferred[R] | None, response: R) -> None:
        """Answer somebody, if anybody waits."""
        if waiting is not None:
            self.completions.append(partial(_answer, waiting, response))

    def refuse(self, waiting: Deferred[Any] | None, refusal: BrokerError) -> None:
        """Refuse somebody, if anybody waits."""
        if waiting is not None:
            self.completions.append(partial(_refuse, waiting, refusal))

    def verdict(
        self,
        response: R | Deferred[R] = None,  # type: ignore[assignment]  # as in Verdict
        refusal: BrokerError | None = None,
    ) -> Verdict[R]:
        """All of it, and what is told to who asked."""
        return Verdict(self.records, response, self.completions, None, self.reload_if_refused, refusal)


def _answer(waiting: Deferred[R], response: R, error: BrokerError | None) -> None:
    if error is None:
        waiting.resolve(response)
    else:
        waiting.refuse(error)


def _refuse(waiting: Deferred[Any], refusal: BrokerError, error: BrokerError | None) -> None:
    waiting.refuse(error or refusal)


class Machine(Protocol):
    """A shard's state."""

    def replays_at(self, base_offset: int) -> None:
        """The records that are replayed next lie in a batch at this offset of the shard's log."""

    def replay(self, record: Record, producer_id: int) -> None:
        """Apply a record; `producer_id` is -1 unless it belongs to a transaction that is still open."""

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """A transaction that wrote to this shard has ended."""

    def nothing(self) -> Record:
        """A record that changes nothing: a tombstone of what cannot be."""

    def loaded(self) -> None:
        """Everything has been replayed: timers may be set."""

    def unloaded(self) -> None:
        """This node does not use the state any more: whoever waits for an answer asks anew."""


M = TypeVar("M", bound=Machine)
Operation = Callable[[M], Verdict[R]]


@define(eq=False)
class ShardTimers(Generic[M]):
    """A shard's timers by key; setting one again replaces it."""

    _timers: Timers
    _clock: Clock
    _run: Callable[[Operation[M, Any]], object]
    _by_key: dict[Any, Timer] = field(factory=dict)

    def set(self, key: Any, delay_ms: float, operation: Operation[M, Any]) -> None:
        """Run `operation` after `delay_ms`, unless the key is set again or cancelled before."""
        self.cancel(key)

        def fire() -> None:
            del self._by_key[key]
            self._run(operation)

        self._by_key[key] = self._timers.call_at(self._clock.monotonic() + delay_ms / 1000, fire)

    def cancel(self, key: Any) -> None:
        """Forget a timer, if there is one."""
        timer = self._by_key.pop(key, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        """Forget all."""
        for key in tuple(self._by_key):
            self.cancel(key)
