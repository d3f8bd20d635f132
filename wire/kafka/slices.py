"""Requests about many partitions or names, handled slice by slice.

Each slice is handled as if it were a request of its own, and the others have their turn between two of them; the
answers are joined. So handlers are written for small requests, and none of them keeps the loop however much it is
asked. A request of one slice goes straight to its handler.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from types import CoroutineType
from typing import Any, TypeVar

import msgspec
import trio

from coordinators.waiting import result_of
from engine.deferred import all_of
from engine.errors import InvalidRequest
from wire.kafka.request import Context, Deferred, Later

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
REPEATED = "Each resource must appear at most once."
SLICE = 100
"""How many partitions or names take about a millisecond."""


def slices_of(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items, so many at a time."""
    for start in range(0, len(items), SLICE):
        yield items[start : start + SLICE]


def for_each(names: Sequence[T], ask: Callable[[T], Deferred[U]], answer: Callable[[list[U]], V]) -> Later[V]:
    """What `answer` makes of the answers about all names, each asked for by `ask`."""
    if len(names) <= SLICE:
        return all_of([ask(name) for name in names]).map(answer)
    return _for_many(names, ask, answer)


async def _for_many(names: Sequence[T], ask: Callable[[T], Deferred[U]], answer: Callable[[list[U]], V]) -> V:
    answers: list[U] = []
    for some in slices_of(names):
        found = await result_of(all_of([ask(name) for name in some]))
        answers += found
        await trio.lowlevel.checkpoint()
    return answer(answers)


async def change_in_slices(
    wanted: Sequence[T], name_of: Callable[[T], Any], change: Callable[[Sequence[T]], Awaitable[Sequence[Any]]]
) -> list[Any]:
    """What became of each of the changes. One that is named in several slices is refused as one within a slice is."""
    if len(wanted) <= SLICE:
        return list(await change(wanted))
    times = Counter([name_of(each) for each in wanted])
    results: list[Any] = []
    for some in slices_of(wanted):
        changed = iter(await change([each for each in some if times[name_of(each)] == 1]))
        results += [next(changed) if times[name_of(each)] == 1 else InvalidRequest(REPEATED) for each in some]
        await trio.lowlevel.checkpoint()
    return results


def in_slices(
    request: Any, context: Context, handle: Callable[[Any, Context], Any], partitions: str = "partitions"
) -> Any:
    """What `handle` answers to a request whose `topics` each have `partitions`; an error of the whole ends it."""
    if not is_large(request.topics, partitions):
        return handle(request, context)
    return _slice_by_slice(request, context, handle, partitions)


def is_large(topics: Sequence[Any], partitions: str) -> bool:
    """Whether these are more than a slice."""
    return len(topics) > SLICE or sum([len(getattr(topic, partitions)) for topic in topics]) > SLICE


async def _slice_by_slice(
    request: Any, context: Context, handle: Callable[[Any, Context], Any], partitions: str
) -> Any:
    whole: Any = None
    for topics, goes_on in topic_slices(request.topics, partitions):
        answer = await answered(handle(msgspec.structs.replace(request, topics=topics), context))
        if getattr(answer, "error_code", 0):
            return answer
        if whole is None:
            whole = answer
        else:
            join_topics(whole.topics, answer.topics, goes_on=goes_on)
        await trio.lowlevel.checkpoint()
    return whole


async def answered(response: Any) -> Any:
    """A handler's answer, whichever way it is given."""
    if type(response) is CoroutineType:
        response = await response
    return await result_of(response) if type(response) is Deferred else response


def topic_slices(topics: Sequence[Any], partitions: str) -> Iterator[tuple[list[Any], bool]]:
    """The topics with so many partitions at a time, and whether a slice goes on with the last one's topic."""
    some: list[Any] = []
    room, goes_on = SLICE, False
    for topic in topics:
        wanted = getattr(topic, partitions)
        start = 0
        while True:
            piece = wanted[start : start + room]
            some.append(msgspec.structs.replace(topic, **{partitions: piece}))
            start += room
            room -= max(1, len(piece))
            if room <= 0:
                yield some, goes_on
                some, room, goes_on = [], SLICE, start < len(wanted)
            if start >= len(wanted):
                break
    if some:
        yield some, goes_on


def join_topics(before: list[Any], after: list[Any], *, goes_on: bool) -> None:
    """Add a slice's answers to those before it."""
    if goes_on and before and after and _place(before[-1]) == _place(after[0]):
        before[-1].partitions += after[0].partitions
        after = after[1:]
    before += after


def _place(topic: Any) -> tuple[Any, Any]:
    return getattr(topic, "name", None) or getattr(topic, "topic", None), getattr(topic, "topic_id", None)
