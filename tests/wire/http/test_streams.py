"""Places of callers that are sent streams: how many there are, who gives way, and how much waits to be taken."""

import pytest
import trio
from trio.testing import trio_test

from wire.http.problems import Problem
from wire.http.streams import LEAST_AT_A_TIME, MOST_AT_A_TIME, Seat, Streams


def seat(streams: Streams, *, has_ended: bool = False) -> Seat:
    return streams.seat(lambda: has_ended)


@trio_test
async def test_who_comes_when_all_places_are_taken_is_told_to_come_again() -> None:
    streams = Streams(most=1)
    with seat(streams).taken():
        with pytest.raises(Problem) as refused, seat(streams).taken():
            raise AssertionError("there was no place")
        assert refused.value.status == 503
        assert "http.max.streams=1" in refused.value.detail
        assert refused.value.headers["Retry-After"]
    with seat(streams).taken():
        assert streams.statistics()["streams"] == 1
    assert streams.statistics()["streams_refused"] == 1


@trio_test
async def test_a_caller_that_has_gone_gives_way_to_another() -> None:
    streams = Streams(most=1)
    gave_way = trio.Event()

    async def follow() -> None:
        with pytest.raises(trio.BrokenResourceError), seat(streams, has_ended=True).taken():
            await trio.sleep_forever()
        gave_way.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        await trio.testing.wait_all_tasks_blocked()
        with seat(streams).taken():
            await gave_way.wait()
            assert streams.count == 1
    assert streams.statistics()["streams_left"] == 1


@trio_test
async def test_beyond_the_bound_the_one_that_takes_nothing_for_longest_is_cut_off() -> None:
    streams = Streams(most_unsent_bytes=1000)
    cut: list[str] = []

    async def send(name: str) -> None:
        mine = seat(streams)
        try:
            with mine.taken(), mine.sending(400):
                await trio.sleep_forever()
        except trio.BrokenResourceError:
            cut.append(name)

    async with trio.open_nursery() as nursery:
        for name in ("first", "second", "third"):
            nursery.start_soon(send, name)
            await trio.testing.wait_all_tasks_blocked()
        assert cut == ["first"]
        assert streams.unsent_bytes == 800
        nursery.cancel_scope.cancel()
    assert streams.unsent_bytes == 0
    assert streams.statistics()["streams_slow"] == 1


@trio_test
async def test_one_answer_alone_may_be_larger_than_the_bound() -> None:
    streams = Streams(most_unsent_bytes=1000)
    mine = seat(streams)
    with mine.taken(), mine.sending(5000):
        assert not mine.scope.cancel_called


@trio_test
async def test_the_more_waits_to_be_taken_the_less_each_is_sent_at_a_time() -> None:
    streams = Streams()
    assert streams.at_a_time() == MOST_AT_A_TIME
    with seat(streams).sending(streams.most_unsent_bytes):
        assert streams.at_a_time() == LEAST_AT_A_TIME
    assert streams.at_a_time() == MOST_AT_A_TIME
