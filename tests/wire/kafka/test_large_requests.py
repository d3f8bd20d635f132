"""Large requests share a bound; somebody always gets on."""

import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from wire.kafka.large_requests import LargeRequests


@trio_test
async def test_a_single_request_is_let_in_however_large() -> None:
    requests = LargeRequests(100)
    assert requests.take("a", 1000, 0.0)
    assert requests.held_bytes == 1000


@trio_test
async def test_others_are_kept_out_while_the_bound_is_reached() -> None:
    requests = LargeRequests(100)
    assert requests.take("a", 60, 0.0)
    assert requests.take("b", 40, 0.0)
    assert not requests.take("c", 1, 0.0)
    assert not requests.take("b", 41, 0.0)
    assert requests.held_bytes == 100


@trio_test
async def test_the_oldest_may_grow_past_the_bound() -> None:
    requests = LargeRequests(100)
    requests.take("a", 50, 0.0)
    requests.take("b", 50, 0.0)
    assert requests.take("a", 200, 0.0)
    requests.release("a")
    assert requests.take("b", 200, 0.0)


@trio_test
async def test_who_waits_is_woken_when_somebody_lets_go() -> None:
    requests = LargeRequests(100)
    requests.take("a", 100, 0.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.wait)
        await wait_all_tasks_blocked()
        assert requests.statistics() == {"held_bytes": 100, "holders": 1, "waiting": 1}
        requests.release("a")
    assert requests.statistics() == {"held_bytes": 0, "holders": 0, "waiting": 0}


@trio_test
async def test_who_holds_for_long_is_overdue_only_while_others_wait() -> None:
    requests = LargeRequests(100)
    requests.take("a", 100, 5.0)
    requests.take("a", 120, 9.0)
    assert requests.overdue(8.0) == []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.wait)
        await wait_all_tasks_blocked()
        assert requests.overdue(8.0) == ["a"]
        assert requests.overdue(5.0) == []
        requests.release("a")


@trio_test
async def test_releasing_what_is_not_held_changes_nothing() -> None:
    requests = LargeRequests(100)
    requests.release("nobody")
    assert requests.held_bytes == 0
