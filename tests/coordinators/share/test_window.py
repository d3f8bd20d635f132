"""The window: acknowledgements, locks, back-off, failed writes, restarts, the log's start, dead letters."""

import pytest

from coordinators.share.acks import AckBatch
from coordinators.share.ports import EXHAUSTED, EXPIRED, REJECTED, UNCHANGED, DeliveryState, ShareState, StateBatch
from coordinators.share.window import ShareWindow
from engine.errors import InvalidRecordState, InvalidRequest
from tests.coordinators.share.windows import NOW_MS, Bench, rules

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED = DeliveryState


def test_accepted_offsets_at_the_head_move_the_start() -> None:
    bench = Bench()
    assert bench.take(most=20) == [(0, 19, 1)]
    bench.settle(0, 9, ACCEPT)
    assert (bench.window.start, bench.window.end, bench.window.complete) == (10, 20, 0)
    assert bench.durable.start_offset == 10


def test_what_is_finished_behind_the_head_is_counted_and_kept_once() -> None:
    bench = Bench()
    bench.take(most=20)
    for offset in range(5, 15):
        bench.settle(offset, offset, ACCEPT)
    assert bench.states() == [(0, 4, ACQUIRED, 1), (5, 14, ACKNOWLEDGED, 1), (15, 19, ACQUIRED, 1)]
    assert (bench.durable.start_offset, bench.durable.complete_count) == (0, 10)
    bench.settle(0, 4, ACCEPT)
    assert (bench.window.start, bench.durable.start_offset, bench.durable.complete_count) == (15, 15, 0)


def test_each_type_has_its_end() -> None:
    bench = Bench()
    bench.take(most=10)
    bench.settle(0, 4, RELEASE, GAP, ACCEPT, REJECT, RELEASE)
    assert bench.states()[:5] == [
        (0, 0, AVAILABLE, 1),
        (1, 1, ARCHIVED, 1),
        (2, 2, ACKNOWLEDGED, 1),
        (3, 3, ARCHIVED, 1),
        (4, 4, AVAILABLE, 1),
    ]


def test_a_record_under_change_is_neither_acquirable_nor_ackable() -> None:
    bench = Bench(log_end=10)
    bench.take()
    bench.ack(0, 9, RELEASE)
    assert bench.take("m2") == []
    with pytest.raises(InvalidRecordState):
        bench.ack(0, 0, ACCEPT)
    bench.write()
    assert bench.take("m2") == [(0, 9, 2)]


def test_a_failed_write_gives_the_records_back_to_their_member() -> None:
    bench = Bench(log_end=10)
    bench.take()
    bench.ack(0, 9, ACCEPT)
    bench.write(failed=True)
    assert bench.states() == [(0, 9, ACQUIRED, 1)]
    bench.settle(0, 9, ACCEPT)
    assert bench.window.start == 10


def test_a_failed_write_after_the_lock_ran_out_makes_them_available() -> None:
    bench = Bench(log_end=10)
    bench.take()
    bench.ack(0, 9, ACCEPT)
    bench.begin()
    bench.seconds = 31
    assert bench.expire() == 0
    bench.end(failed=True)
    assert bench.states() == [(0, 9, AVAILABLE, 1)]


def test_acknowledgements_that_come_during_a_write_gather_for_the_next() -> None:
    bench = Bench()
    bench.take(most=20)
    bench.ack(0, 9, ACCEPT)
    bench.begin()
    bench.ack(10, 19, ACCEPT)
    bench.end()
    assert bench.durable.start_offset == 10
    bench.write()
    assert bench.durable.start_offset == 20


def test_one_wrong_batch_undoes_all_of_them() -> None:
    bench = Bench(log_end=20)
    bench.take(most=10)
    bench.take("m2", most=10)
    with pytest.raises(InvalidRecordState):
        bench.window.acknowledge(
            "m1", [AckBatch(0, 9, [ACCEPT]), AckBatch(10, 19, [ACCEPT])], bench.settings, bench.now
        )
    assert bench.states() == [(0, 9, ACQUIRED, 1), (10, 19, ACQUIRED, 1)]
    assert not bench.window.has_news


def test_offsets_beyond_what_was_handed_out_are_refused() -> None:
    bench = Bench()
    bench.take(most=10)
    with pytest.raises(InvalidRequest):
        bench.ack(0, 10, ACCEPT)


def test_what_lies_below_the_start_is_taken_silently() -> None:
    bench = Bench()
    bench.take(most=20)
    bench.settle(0, 9, ACCEPT)
    assert bench.ack(0, 9, ACCEPT) is None
    bench.settle(5, 12, ACCEPT)
    assert bench.window.start == 13


def test_another_members_records_are_not_its_own() -> None:
    bench = Bench()
    bench.take(most=10)
    with pytest.raises(InvalidRecordState):
        bench.ack(0, 9, ACCEPT, member="m2")


def test_a_lock_that_ran_out_makes_records_available_with_their_count() -> None:
    bench = Bench(log_end=10)
    bench.take()
    bench.seconds = 30
    assert bench.expire() == 10
    with pytest.raises(InvalidRecordState):
        bench.ack(0, 9, ACCEPT)
    assert bench.take("m2") == [(0, 9, 2)]


def test_an_expiry_is_in_force_though_its_write_fails_and_is_written_later() -> None:
    bench = Bench(log_end=10)
    bench.take()
    bench.seconds = 30
    bench.expire()
    bench.write(failed=True)
    assert bench.states() == [(0, 9, AVAILABLE, 1)]
    bench.write()
    assert [batch.delivery_count for batch in bench.durable.batches] == [1]


def test_a_renewal_restarts_the_lock_and_writes_nothing() -> None:
    bench = Bench(log_end=10)
    bench.take()
    bench.seconds = 20
    assert bench.ack(0, 4, RENEW) is None
    bench.seconds = 35
    assert bench.expire() == 5
    assert bench.states() == [(0, 4, ACQUIRED, 1), (5, 9, AVAILABLE, 1)]


def test_a_renewal_is_refused_where_it_is_switched_off() -> None:
    bench = Bench(rules(renew_enabled=False))
    bench.take()
    with pytest.raises(InvalidRecordState):
        bench.ack(0, 0, RENEW)


def test_a_member_that_is_gone_leaves_its_records_to_others() -> None:
    bench = Bench(log_end=20)
    bench.take(most=10)
    bench.take("m2", most=10)
    bench.ack(0, 4, ACCEPT)
    assert bench.window.release("m1", bench.settings, bench.now) == 5
    bench.write()
    assert bench.states() == [(5, 9, AVAILABLE, 1), (10, 19, ACQUIRED, 1)]


def test_what_was_delivered_as_often_as_it_may_be_is_archived() -> None:
    bench = Bench(rules(delivery_count_limit=2), log_end=10)
    for count in (1, 2):
        assert bench.take() == [(0, 9, count)]
        bench.settle(0, 9, RELEASE)
    assert bench.take() == []
    assert bench.window.start == 10
    assert bench.window.counters.exhausted == 10


@pytest.mark.parametrize(("count", "wait_ms"), [(1, 1000), (2, 3000), (3, 5000), (4, 5000)])
def test_a_released_record_waits_longer_each_time(count: int, wait_ms: int) -> None:
    settings = rules(retry_backoff_ms=1000, retry_backoff_multiplier=3.0, retry_backoff_max_ms=5000)
    durable = ShareState(1, 1, 0, 0, (StateBatch(0, 0, AVAILABLE, count - 1),))
    bench = Bench(settings, log_end=1, durable=durable)
    bench.take()
    bench.settle(0, 0, RELEASE)
    assert bench.durable.batches[0].not_before_ms == NOW_MS + wait_ms
    bench.seconds = wait_ms / 1000 - 0.001
    assert bench.take() == []
    bench.seconds = wait_ms / 1000
    assert bench.take() == [(0, 0, count + 1)]


def test_a_record_that_waits_holds_nobody_back() -> None:
    bench = Bench(rules(retry_backoff_ms=1000), log_end=30)
    bench.take(most=10)
    bench.settle(0, 4, RELEASE)
    assert bench.take(most=10) == [(10, 19, 1)]
    assert bench.window.in_backoff(bench.now.wall_ms) == 5
    assert bench.window.next_time(bench.now) == 1.0


def test_a_member_may_say_itself_how_long_a_record_waits() -> None:
    bench = Bench(rules(retry_backoff_ms=1000), log_end=1)
    bench.take()
    bench.ack(0, 0, RELEASE, backoff_ms=7000)
    bench.write()
    assert bench.durable.batches[0].not_before_ms == NOW_MS + 7000


def test_a_restart_delivers_again_what_was_acquired() -> None:
    bench = Bench()
    bench.take(most=20)
    bench.settle(5, 9, ACCEPT)
    bench.restart()
    assert bench.states() == [(0, 4, AVAILABLE, 0), (5, 9, ACKNOWLEDGED, 1)]
    assert bench.take(most=5) == [(0, 4, 1)]
    assert bench.take(most=10)[0][0] == 10


def test_back_off_outlives_a_restart() -> None:
    bench = Bench(rules(retry_backoff_ms=5000), log_end=10)
    bench.take()
    bench.settle(0, 9, RELEASE)
    bench.restart()
    assert bench.take() == []
    bench.seconds = 5
    assert bench.take() == [(0, 9, 2)]


def test_the_logs_start_archives_what_nobody_has() -> None:
    bench = Bench()
    bench.take(most=20)
    bench.settle(0, 4, RELEASE)
    bench.window.pass_log_start(10)
    assert bench.states()[0] == (5, 19, ACQUIRED, 1)
    bench.settle(5, 19, ACCEPT)
    assert bench.window.start == 20
    bench.window.pass_log_start(50)
    assert (bench.window.start, bench.window.end) == (50, 50)
    bench.write()
    assert bench.durable.start_offset == 50


def test_the_logs_start_passes_the_window_while_somebody_has_some_of_it() -> None:
    bench = Bench()
    bench.take(most=10)
    bench.window.pass_log_start(50)
    assert bench.states() == [(0, 9, ACQUIRED, 1), (10, 49, ARCHIVED, 0)]
    assert bench.take("m2", most=10) == [(50, 59, 1)]
    bench.settle(0, 9, ACCEPT)
    assert bench.window.start == 50


def test_a_rejected_record_is_a_dead_letter_with_its_reason() -> None:
    bench = Bench(rules(dead_letters_enabled=True), log_end=10)
    bench.take()
    bench.settle(0, 9, REJECT)
    (letter,) = bench.window.take_letters()
    assert (letter.first, letter.last, letter.state, letter.reason, letter.owner) == (0, 9, ARCHIVING, REJECTED, "m1")
    (batch,) = bench.durable.batches
    assert (batch.state, batch.reason, batch.member_id, batch.last_delivered_ms) == (
        ARCHIVING,
        REJECTED,
        "m1",
        NOW_MS,
    )
    assert bench.window.start == 0
    bench.restart()
    assert [run.reason for run in bench.window.take_letters()] == [REJECTED]
    assert bench.window.letters_written(0, 9) is not None
    bench.write()
    assert bench.window.start == 10


def test_a_letter_whose_note_was_not_written_is_told_again() -> None:
    bench = Bench(rules(dead_letters_enabled=True, delivery_count_limit=2), log_end=1)
    bench.take()
    bench.settle(0, 0, RELEASE)
    bench.take()
    bench.seconds = 30
    bench.expire()
    assert bench.window.take_letters() == []
    bench.write()
    assert [run.reason for run in bench.window.take_letters()] == [EXHAUSTED]
    bench.window.letters_written(0, 0)
    bench.write(failed=True)
    assert len(bench.window.take_letters()) == 1


def test_a_write_that_changes_nothing_of_the_start_leaves_it() -> None:
    bench = Bench()
    bench.take(most=20)
    bench.ack(10, 19, ACCEPT)
    change = bench.begin()
    assert change is not None
    assert (change.start_offset, change.complete_count) == (UNCHANGED, 10)
    assert [(batch.first_offset, batch.last_offset) for batch in change.batches] == [(10, 19)]


def test_a_window_whose_state_has_holes_hands_them_out() -> None:
    window = ShareWindow.load(ShareState(1, 1, 5, 0, (StateBatch(10, 14, ACKNOWLEDGED, 1),)))
    assert [(run.first, run.last, run.state) for run in window.runs] == [(5, 9, AVAILABLE), (10, 14, ACKNOWLEDGED)]


def test_what_is_taken_from_a_member_may_wait() -> None:
    bench = Bench(log_end=10)
    bench.take()
    assert bench.window.release("m1", bench.settings, bench.now, 4000) == 10
    assert bench.take("m2") == []
    bench.seconds = 4
    assert bench.take("m2") == [(0, 9, 2)]


def test_what_expired_is_archived_or_a_dead_letter() -> None:
    bench = Bench(log_end=20)
    bench.take(most=10)
    bench.settle(0, 9, RELEASE)
    bench.window.skip(0, 4, expired=True)
    bench.window.skip(5, 9, expired=True, dead=True)
    bench.window.skip(10, 11, expired=True, dead=True)
    bench.write()
    assert (bench.window.start, bench.window.counters.expired) == (5, 12)
    assert [(run.first, run.last, run.reason) for run in bench.window.take_letters()] == [
        (5, 9, EXPIRED),
        (10, 11, EXPIRED),
    ]


def test_who_says_which_delivery_it_means_settles_that_one_alone() -> None:
    bench = Bench(rules(retry_backoff_ms=0))
    bench.take(most=2, strict=True)
    bench.settle(0, 1, RELEASE)
    assert bench.take(most=2, strict=True) == [(0, 1, 2)]
    for other in (1, 3):
        with pytest.raises(InvalidRecordState, match="delivered again"):
            bench.window.acknowledge("m1", [AckBatch(0, 1, [ACCEPT], None, other)], bench.settings, bench.now)
    bench.window.acknowledge("m1", [AckBatch(0, 1, [ACCEPT], None, 2)], bench.settings, bench.now)
    bench.write()
    assert bench.window.start == 2
