"""What an operation gathers, and the timers of a shard."""

from typing import Any

from coordinators.state_machine import Effects, Operation, Record, ShardTimers, Verdict
from engine.clock import ManualClock
from engine.deferred import Deferred
from engine.errors import StorageError
from engine.timers import Timers


def test_others_are_answered_when_the_records_are_durable_and_refused_when_they_are_not() -> None:
    for error, expected in ((None, ["told", "no"]), (StorageError("full"), ["full", "full"])):
        effects, heard = Effects([Record(b"k", b"v")]), list[object]()
        answered, refused = Deferred[str](), Deferred[str]()
        for waiting in (answered, refused):
            waiting.when_settled(heard.append, heard.append)
        effects.answer(answered, "told")
        effects.answer(None, "nobody hears it")
        effects.refuse(refused, StorageError("no"))
        verdict = effects.verdict("own")
        assert (list(verdict.records), verdict.response, heard) == ([Record(b"k", b"v")], "own", [])
        for complete in verdict.completions:
            complete(error)
        assert [str(each) for each in heard] == expected


def test_a_timer_is_set_anew_and_cancelled_by_its_key() -> None:
    clock, timers, ran = ManualClock(), Timers(), list[str]()
    shard: ShardTimers[Any] = ShardTimers(timers, clock, lambda operation: operation(None))

    def noting(name: str) -> Operation[Any, None]:
        def operation(_: None) -> Verdict[None]:
            ran.append(name)
            return Verdict()

        return operation

    for key, delay_ms, name in (("a", 10, "replaced"), ("a", 20, "a"), ("b", 20, "cancelled"), ("c", 50, "forgotten")):
        shard.set(key, delay_ms, noting(name))
    shard.cancel("b")
    clock.advance_ms(30)
    timers.run_due(clock.monotonic())
    shard.cancel_all()
    clock.advance_ms(30)
    timers.run_due(clock.monotonic())
    assert ran == ["a"]
