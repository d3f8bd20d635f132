"""What a member is given: both modes, limits of the window and of the member, holes, and the isolation of poison."""

from coordinators.share.ports import DeliveryState, ShareState, StateBatch
from tests.coordinators.share.windows import Bench, rules

ACCEPT, RELEASE = 1, 2
AVAILABLE = DeliveryState.AVAILABLE


def test_batches_stay_whole_unless_a_limit_is_asked_for() -> None:
    assert Bench().take(most=12) == [(0, 19, 1)]
    assert Bench().take(most=12, strict=True) == [(0, 11, 1)]


def test_the_rest_of_a_batch_comes_next() -> None:
    bench = Bench()
    bench.take(most=12, strict=True)
    assert bench.take("m2", most=5, strict=True) == [(12, 16, 1)]


def test_the_window_is_counted_by_offsets_and_one_stuck_record_stops_it() -> None:
    bench = Bench(rules(max_record_locks=50))
    assert bench.take() == [(0, 49, 1)]
    bench.settle(1, 49, ACCEPT)
    assert bench.take() == []
    bench.settle(0, 0, ACCEPT)
    assert bench.take() == [(50, 99, 1)]


def test_a_full_window_still_delivers_again() -> None:
    bench = Bench(rules(max_record_locks=50))
    bench.take()
    bench.settle(10, 19, RELEASE)
    assert bench.take() == [(10, 19, 2)]


def test_a_member_holds_only_so_many() -> None:
    bench = Bench(rules(max_in_flight=15))
    assert bench.take() == [(0, 14, 1)]
    assert bench.take() == []
    assert bench.take("m2") == [(15, 29, 1)]
    bench.settle(0, 4, ACCEPT)
    assert bench.take() == [(30, 34, 1)]


def test_ranges_are_cut_at_batches() -> None:
    assert Bench(log_end=40).take(batch_size=15) == [(0, 19, 1), (20, 39, 1)]


def test_what_holds_nothing_is_finished_and_cut_out() -> None:
    bench = Bench(log_end=40, undelivered={0, 20})
    assert bench.take() == [(10, 19, 1), (30, 39, 1)]
    assert bench.window.start == 10
    bench.settle(10, 19, ACCEPT)
    assert bench.window.start == 30
    bench.settle(30, 39, ACCEPT)
    assert (bench.window.start, bench.durable.start_offset) == (40, 40)


def test_offsets_that_vanished_between_two_deliveries_are_finished() -> None:
    bench = Bench(log_end=40)
    bench.take(most=30)
    bench.settle(0, 29, RELEASE)
    bench.undelivered = {0, 10}
    assert bench.take(most=10) == [(20, 29, 2)]
    assert bench.window.start == 20


def test_only_what_is_free_is_delivered_again_before_what_is_new() -> None:
    bench = Bench(log_end=60)
    bench.take(most=40)
    bench.settle(5, 9, RELEASE)
    bench.settle(20, 24, RELEASE)
    assert bench.take() == [(5, 9, 2), (20, 24, 2), (40, 59, 1)]


def _delivered(count: int, size: int) -> Bench:
    durable = ShareState(1, 1, 0, 0, (StateBatch(0, size - 1, AVAILABLE, count),))
    return Bench(log_end=size + 10, durable=durable)


def test_a_batch_that_may_hold_poison_goes_apart_and_by_halves() -> None:
    assert _delivered(2, 20).take() == [(0, 19, 3), (20, 29, 1)]
    assert _delivered(3, 20).take() == [(0, 9, 4)]
    assert _delivered(3, 20).take(strict=True, most=4) == [(0, 3, 4)]


def test_the_last_delivery_of_a_record_is_its_own() -> None:
    bench = _delivered(4, 20)
    assert bench.take() == [(0, 0, 5)]
    assert bench.take("m2") == [(1, 1, 5)]


def test_poison_behind_others_waits_for_the_next_fetch() -> None:
    batches = (StateBatch(0, 9, AVAILABLE, 1), StateBatch(10, 19, AVAILABLE, 3))
    bench = Bench(log_end=30, durable=ShareState(1, 1, 0, 0, batches))
    assert bench.take() == [(0, 9, 2)]
    assert bench.take("m2") == [(10, 14, 4)]


def test_two_deliveries_are_too_few_to_isolate_anything() -> None:
    durable = ShareState(1, 1, 0, 0, (StateBatch(0, 9, AVAILABLE, 1),))
    assert Bench(rules(delivery_count_limit=2), log_end=10, durable=durable).take() == [(0, 9, 2)]


def test_a_batch_of_any_size_is_cut_at_two_windows() -> None:
    bench = Bench(rules(max_record_locks=100), log_end=1000, batch=1000)
    assert bench.take(most=10) == [(0, 199, 1)]
    assert bench.take() == []
