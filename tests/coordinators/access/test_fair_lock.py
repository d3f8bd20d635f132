"""One at a time; whoever comes from another address does not wait for all who came before from one."""

import trio
import trio.testing
from trio.testing import trio_test

from coordinators.access.fair_lock import FairLock


async def hold(lock: FairLock, address: str, order: list[str]) -> None:
    async with lock.held(address):
        assert not order or order[-1] != "within"
        order.append("within")
        await trio.lowlevel.checkpoint()
        order[-1] = address


@trio_test
async def test_addresses_take_turns_one_at_a_time() -> None:
    lock, order = FairLock(), list[str]()
    async with trio.open_nursery() as nursery, lock.held("first"):
        for address in ("many", "many", "many", "many", "few", "few"):
            nursery.start_soon(hold, lock, address, order)
            await trio.testing.wait_all_tasks_blocked()
    assert order == ["many", "few", "many", "few", "many", "many"]
    with trio.fail_after(1):
        await hold(lock, "last", order)


@trio_test
async def test_who_goes_away_while_waiting_is_forgotten() -> None:
    lock, order = FairLock(), list[str]()
    async with trio.open_nursery() as nursery, lock.held("first"), trio.open_nursery() as gone:
        gone.start_soon(hold, lock, "gone", order)
        nursery.start_soon(hold, lock, "stays", order)
        await trio.testing.wait_all_tasks_blocked()
        gone.cancel_scope.cancel()
    assert order == ["stays"]
    with trio.fail_after(1):
        await hold(lock, "last", order)


@trio_test
async def test_who_fails_lets_the_next_go_on() -> None:
    lock, order = FairLock(), list[str]()
    with trio.fail_after(1):
        try:
            async with lock.held("one"):
                raise OSError
        except OSError:
            await hold(lock, "two", order)
    assert order == ["two"]
