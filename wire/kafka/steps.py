"""Work that is done in steps, so that no request, however large, keeps the loop from the others.

A handler over many elements is a generator: it yields after each, wherever it may pause, and returns its answer. The
decoders and encoders of large messages are generators of the same kind. Small work is done at once; what takes longer
than a slice of time goes on when the others have had their turn. While a handler pauses, its connection handles no
further request: effects stay in order.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from types import CoroutineType, GeneratorType
from typing import Any, Generic, TypeVar, cast

import trio

from engine.deferred import Deferred

T = TypeVar("T")
S = TypeVar("S")
Steps = Generator[Any, None, T]

SLICE_S = 0.001
"""How long work goes on before others are let in. Who waits behind it notices no more than that."""


class TooLarge(Exception):
    """What is made would weigh more than it may."""


class Work(Generic[T]):
    """Steps under way; `result` is what they returned in the end."""

    __slots__ = ("_now", "_room", "_steps", "result")

    def __init__(self, steps: Steps[T], now: Callable[[], float], max_bytes: int | None = None) -> None:
        self._steps = steps
        self._now = now
        self._room = max_bytes
        self.result: T

    def advance(self) -> bool:
        """Go on for a slice of time; whether it is done. `TooLarge` if the steps say that they made too many bytes."""
        steps, now, room = self._steps, self._now, self._room
        until = now() + SLICE_S
        try:
            while True:
                made = next(steps)
                if room is not None:
                    room -= made
                    if room < 0:
                        raise TooLarge
                if now() > until:
                    self._room = room
                    return False
        except StopIteration as end:
            self.result = end.value
            return True

    async def finish(self) -> T:
        """Go on to the end, with pauses for others."""
        while not self.advance():
            await trio.lowlevel.checkpoint()
        return self.result


async def awaited(rest: Awaitable[None]) -> None:
    """The rest of some work as a task of its own."""
    await rest


def then(answer: Any, convert: Callable[[Any], Any]) -> Any:
    """What a handler has returned, in whichever way it is given, converted on its way; steps stay steps."""
    kind = type(answer)
    if kind is Deferred:
        return answer.map(convert)
    if kind is CoroutineType:
        return _then_later(answer, convert)
    if kind is GeneratorType:
        return _then_in_steps(answer, convert)
    return convert(answer)


async def _then_later(answer: Awaitable[Any], convert: Callable[[Any], Any]) -> Any:
    return then(await answer, convert)


def _then_in_steps(answer: Steps[Any], convert: Callable[[Any], Any]) -> Steps[Any]:
    return then((yield from answer), convert)


class _Lazily(Generic[S, T]):
    __slots__ = ("_items", "_make")

    def __init__(self, items: list[S], make: Callable[[S], T]) -> None:
        self._items = items
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self._items)


class _Chained(Generic[T]):
    __slots__ = ("_first", "_second")

    def __init__(self, first: list[T], second: list[T]) -> None:
        self._first = first
        self._second = second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    def __iter__(self) -> Iterator[T]:
        yield from self._first
        yield from self._second


def chained(first: list[T], second: list[T]) -> list[T]:
    """A list for a response's field, of two; the first may be one that is made lazily."""
    if type(first) is list:
        return first + second
    return cast("list[T]", _Chained(first, second))


def lazily(items: Iterable[S], make: Callable[[S], T]) -> list[T]:
    """A list for a response's field whose elements are made one by one while the response is written, and not kept: for
    elements that are larger than what was asked for. `make` may look at the broker's state unless the response comes
    from a Deferred: then later requests may have changed it."""
    return cast("list[T]", _Lazily(list(items), make))
