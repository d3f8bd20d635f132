"""Timers fire in order of their deadlines, once, unless they were cancelled."""

from engine.timers import LEAST_SWEEP, Timers


def test_timers_fire_in_order_when_due() -> None:
    timers, fired = Timers(), []
    for deadline, name in ((3.0, "c"), (1.0, "a"), (2.0, "b1"), (2.0, "b2")):
        timers.call_at(deadline, lambda name=name: fired.append(name))
    assert timers.next_deadline() == 1.0
    assert timers.run_due(2.0) == 3
    assert fired == ["a", "b1", "b2"]
    assert timers.next_deadline() == 3.0


def test_a_cancelled_timer_never_fires() -> None:
    timers, fired = Timers(), []
    timers.call_at(1.0, lambda: fired.append("x")).cancel()
    assert timers.next_deadline() is None
    assert timers.run_due(5.0) == 0
    assert fired == []


def test_the_driver_is_told_of_an_earlier_deadline() -> None:
    told = []
    timers = Timers(lambda: told.append(True))
    timers.call_at(2.0, print)
    timers.call_at(3.0, print)
    timers.call_at(1.0, print)
    assert len(told) == 2


def test_cancelled_timers_do_not_pile_up() -> None:
    timers, fired = Timers(), []
    timers.call_at(5.0, lambda: fired.append("kept"))
    for number in range(20 * LEAST_SWEEP):
        timers.call_at(1e9 + number, print).cancel()
    assert timers.statistics()["timers"] <= LEAST_SWEEP + 1
    timers.run_due(6.0)
    assert fired == ["kept"]
