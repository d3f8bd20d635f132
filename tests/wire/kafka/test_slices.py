"""Large requests are handled slice by slice, and answered as if they had been handled whole."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import trio_test

from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import InvalidRequest
from wire.kafka.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from wire.kafka.slices import SLICE, answered, change_in_slices, for_each, in_slices, slices_of, topic_slices


def request_of(sizes: list[int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        topics=[
            OffsetDeleteRequestTopic(f"t{number}", [OffsetDeleteRequestPartition(index) for index in range(size)])
            for number, size in enumerate(sizes)
        ]
    )


def places(message: Any) -> list[tuple[str, list[int]]]:
    return [(topic.name, [each.partition_index for each in topic.partitions]) for topic in message.topics]


@given(st.lists(st.integers(0, 3 * SLICE), max_size=6))
def test_slices_hold_every_partition_in_order(sizes: list[int]) -> None:
    request = request_of(sizes)
    joined: list[tuple[str, list[int]]] = []
    for topics, goes_on in topic_slices(request.topics, "partitions"):
        some = places(OffsetDeleteRequest(topics=topics))
        assert sum(max(1, len(indexes)) for _, indexes in some) <= SLICE
        if goes_on:
            assert joined[-1][0] == some[0][0]
            joined[-1][1].extend(some.pop(0)[1])
        joined += some
    assert joined == places(request)


class Handler:
    """Answers what it is asked, in a way that the test chooses."""

    def __init__(self, refused_from: int = 10**9) -> None:
        self.asked: list[int] = []
        self.refused_from = refused_from

    def __call__(self, request: OffsetDeleteRequest, _: object) -> Deferred:
        self.asked.append(sum(len(topic.partitions) for topic in request.topics))
        answer = Deferred()
        if sum(self.asked) > self.refused_from:
            answer.resolve(OffsetDeleteResponse(error_code=7))
            return answer
        topics = [
            OffsetDeleteResponseTopic(
                topic.name, [OffsetDeleteResponsePartition(each.partition_index) for each in topic.partitions]
            )
            for topic in request.topics
        ]
        answer.resolve(OffsetDeleteResponse(topics=topics))
        return answer


@pytest.mark.parametrize("sizes", [[], [0], [5], [SLICE], [SLICE + 1], [1] * (2 * SLICE), [250, 0, 3, 990]])
@trio_test
async def test_the_answer_is_that_of_the_whole_request(sizes: list[int]) -> None:
    handler, request = Handler(), request_of(sizes)
    answer = await answered(in_slices(request, None, handler))  # type: ignore[arg-type]
    assert places(answer) == places(request)
    assert all(size <= SLICE for size in handler.asked)


@trio_test
async def test_an_error_of_the_whole_answer_ends_it() -> None:
    handler = Handler(refused_from=150)
    answer = await answered(in_slices(request_of([1000]), None, handler))  # type: ignore[arg-type]
    assert (answer.error_code, answer.topics, len(handler.asked)) == (7, [], 2)


@pytest.mark.parametrize("count", [0, 3, SLICE, 5 * SLICE + 1])
@trio_test
async def test_every_name_is_asked_for_and_few_wait_at_a_time(count: int) -> None:
    waiting = 0

    def ask(name: int) -> Deferred:
        nonlocal waiting
        waiting += 1
        answer = Deferred()

        def give() -> None:
            nonlocal waiting
            waiting -= 1
            answer.resolve(-name)

        assert waiting <= SLICE
        gives.append(give)
        if len(gives) == SLICE or name == count - 1:
            for each in gives:
                each()
            gives.clear()
        return answer

    gives: list[Any] = []
    response = for_each(range(count), ask, list)
    found = await result_of(response) if isinstance(response, Deferred) else await response
    assert found == [-name for name in range(count)]


@trio_test
async def test_a_change_that_is_asked_for_twice_is_refused_across_slices() -> None:
    changed: list[int] = []

    async def change(some: Sequence[int]) -> Sequence[int]:
        changed.extend(some)
        return some

    wanted = [*range(3 * SLICE), 7]
    results = await change_in_slices(wanted, lambda number: number, change)
    assert [type(result) for result in (results[7], results[-1])] == [InvalidRequest, InvalidRequest]
    assert changed == [number for number in range(3 * SLICE) if number != 7]
    assert [result for result in results if not isinstance(result, InvalidRequest)] == changed


def test_slices_of_a_list() -> None:
    assert [list(some) for some in slices_of(range(SLICE + 1))] == [list(range(SLICE)), [SLICE]]
