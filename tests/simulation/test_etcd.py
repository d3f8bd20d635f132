"""The model of etcd behaves like etcd where that matters: leases, changes of the leader, unknown outcomes, lag."""

import random

import pytest
import trio

from engine.catalogue.catalogue import CatalogueCompacted, CatalogueConflict, Commit, Compare, Put
from engine.catalogue.etcd.gateway import EtcdRefusal, EtcdUnavailable
from tests.simulation.etcd import SimulatedEtcd
from tests.simulation.etcd_catalogue import TTL_S, SimulatedCatalogue
from tests.simulation.network import Network
from tests.simulation.running import run_simulated

NODE, ETCD = "node-1", "etcd"
ROW = Commit(changes=(Put("nodes/1", b"me", ephemeral=True),))


class Bench:
    """An etcd, one node's catalogue on it, and the network between them."""

    def __init__(self, nursery: trio.Nursery, *, keeps_alive: bool = True) -> None:
        self.network = Network(random.Random(1))
        self.etcd = SimulatedEtcd(random.Random(2))
        self.catalogue = SimulatedCatalogue(
            self.etcd,
            random.Random(3),
            lambda: self.network.is_open((NODE, ETCD)),
            lambda: self.network.is_open((ETCD, NODE)),
        )
        nursery.start_soon(self.etcd.live)
        nursery.start_soon(self.catalogue.deliver)
        if keeps_alive:
            nursery.start_soon(self.catalogue.session.keep_alive)

    def cut(self) -> None:
        self.network.cut(NODE, ETCD)
        self.network.cut(ETCD, NODE)

    def put(self, key: str, value: bytes = b"") -> int:
        """By another node."""
        return self.etcd.commit(Commit(changes=(Put(key, value),)))


def test_what_is_ephemeral_goes_some_time_after_the_last_keepalive() -> None:
    async def program() -> None:
        async with trio.open_nursery() as nursery:
            bench = Bench(nursery)
            bench.catalogue.session.open()
            bench.catalogue.commit(ROW)
            await trio.sleep(10 * TTL_S)
            assert bench.etcd.get("nodes/1") is not None
            bench.cut()
            await trio.sleep(TTL_S / 2)
            assert bench.etcd.get("nodes/1") is not None
            assert not bench.catalogue.session.is_lost
            await trio.sleep(TTL_S)
            assert bench.etcd.get("nodes/1") is None
            assert bench.catalogue.session.silent_s() > TTL_S
            assert not bench.catalogue.session.is_lost, "nobody has told it"
            bench.network.heal()
            await trio.sleep(TTL_S)
            assert bench.catalogue.session.is_lost
            with pytest.raises(EtcdRefusal):
                bench.catalogue.commit(ROW)
            nursery.cancel_scope.cancel()

    run_simulated(program)


def test_a_change_of_the_leader_lets_all_leases_begin_anew_and_calls_fail_meanwhile() -> None:
    async def program() -> None:
        async with trio.open_nursery() as nursery:
            bench = Bench(nursery, keeps_alive=False)
            bench.catalogue.session.open()
            bench.catalogue.commit(ROW)
            await trio.sleep(0.9 * TTL_S)
            bench.etcd.change_leader(0.5)
            with pytest.raises(EtcdUnavailable):
                bench.catalogue.get("nodes/1")
            await trio.sleep(0.5 + 0.9 * TTL_S)
            assert bench.catalogue.get("nodes/1") is not None
            await trio.sleep(TTL_S)
            assert bench.catalogue.get("nodes/1") is None
            nursery.cancel_scope.cancel()

    run_simulated(program)


def test_a_commit_whose_answer_is_lost_happens_now_later_or_never_and_not_after_the_next_one() -> None:
    seen: set[bool] = set()

    async def program() -> None:
        async with trio.open_nursery() as nursery:
            bench = Bench(nursery)
            for number in range(40):
                key = f"k{number}"
                bench.network.cut(ETCD, NODE)
                with pytest.raises(EtcdUnavailable):
                    bench.catalogue.commit(Commit((Compare(key, 0),), (Put(key, b"first"),)))
                bench.network.heal()
                happened = bench.etcd.get(key) is not None
                try:
                    bench.catalogue.commit(Commit((Compare(key, 0),), (Put(key, b"second"),)))
                except CatalogueConflict:
                    assert happened
                except EtcdUnavailable:
                    continue
                await trio.sleep(3)
                entry = bench.etcd.get(key)
                assert entry is not None
                assert entry.value == (b"first" if happened else b"second")
                seen.add(happened)
            nursery.cancel_scope.cancel()

    run_simulated(program)
    assert seen == {True, False}


def test_a_lost_commit_may_take_effect_later() -> None:
    async def program() -> None:
        async with trio.open_nursery() as nursery:
            bench = Bench(nursery)
            bench.network.cut(ETCD, NODE)
            late = 0
            for number in range(20):
                with pytest.raises(EtcdUnavailable):
                    bench.catalogue.commit(Commit(changes=(Put(f"k{number}", b""),)))
                before = bench.etcd.get(f"k{number}")
                await trio.sleep(3)
                late += before is None and bench.etcd.get(f"k{number}") is not None
            assert late > 0
            nursery.cancel_scope.cancel()

    run_simulated(program)


def test_a_watch_lags_and_tells_everything_once_in_order() -> None:
    async def program() -> None:
        async with trio.open_nursery() as nursery:
            bench = Bench(nursery)
            news = trio.Event()
            watch = bench.catalogue.watch(bench.etcd.revision, "a", on_news=lambda: news.set())
            written = [bench.put(f"a{number}") for number in range(5)]
            bench.put("b")
            assert not watch.next(0)
            await news.wait()
            seen = [event.revision for event in watch.next(0)]
            await trio.sleep(1)
            seen += [event.revision for event in watch.next(0)]
            assert seen == written
            assert watch.reached == bench.etcd.revision
            nursery.cancel_scope.cancel()

    run_simulated(program)


def test_a_watch_that_was_cut_off_goes_on_unless_its_place_was_forgotten() -> None:
    async def program() -> None:
        async with trio.open_nursery() as nursery:
            bench = Bench(nursery)
            watch = bench.catalogue.watch(bench.etcd.revision)
            for forgets in (False, True):
                bench.cut()
                bench.put("a")
                await trio.sleep(1)
                assert not watch.next(0) if not watch.is_cut_off else True
                with pytest.raises(EtcdUnavailable):
                    watch.next(0)
                if forgets:
                    bench.etcd.compact()
                bench.network.heal()
                await trio.sleep(1)
                if forgets:
                    with pytest.raises(CatalogueCompacted):
                        watch.next(0)
                else:
                    assert [event.key for event in watch.next(0)] == ["a"]
            nursery.cancel_scope.cancel()

    run_simulated(program)
