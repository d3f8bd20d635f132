"""Idempotent producers: retries answered like the original, gaps and old epochs refused, wrap, expiry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DuplicateSequence, InvalidProducerEpoch, OutOfOrderSequence
from engine.log.producer_state import ProducerState, next_sequence
from engine.records.layout import BatchHeader, parse_header
from tests.engine.logs import NOW_MS, idempotent

DAY_MS = 86_400_000


def _header(sequence: int, count: int = 1, epoch: int = 0) -> BatchHeader:
    return parse_header(idempotent(sequence, count, epoch=epoch))


def _state(*batches: tuple[int, int]) -> ProducerState:
    """A producer that wrote (first sequence, records) batches at the offsets from 0 on."""
    state = ProducerState(DAY_MS)
    offset = 0
    for sequence, count in batches:
        header = _header(sequence, count)
        assert state.check(header, NOW_MS) is None
        state.update(header, offset, NOW_MS)
        offset += count
    return state


def test_the_next_sequence_is_accepted() -> None:
    assert _state((0, 3), (3, 2)).check(_header(5), NOW_MS) is None


def test_each_of_the_last_five_batches_is_known_again() -> None:
    state = _state(*((number * 2, 2) for number in range(6)))
    for number in range(1, 6):
        original = state.check(_header(number * 2, 2), NOW_MS)
        assert original is not None
        assert (original.base_offset, original.last_offset) == (number * 2, number * 2 + 1)


def test_an_accepted_batch_older_than_five_is_a_duplicate_without_offsets() -> None:
    state = _state(*((number * 2, 2) for number in range(6)))
    with pytest.raises(DuplicateSequence):
        state.check(_header(0, 2), NOW_MS)


def test_a_sequence_never_accepted_is_no_duplicate() -> None:
    """The state had expired and the producer went on at 100: 99 was lost, and must not be called stored."""
    state = _state(*((100 + number, 1) for number in range(7)))
    with pytest.raises(OutOfOrderSequence):
        state.check(_header(99), NOW_MS)
    with pytest.raises(DuplicateSequence):
        state.check(_header(100), NOW_MS)


@pytest.mark.parametrize(("sequence", "count"), [(6, 1), (4, 2), (3, 1), (1, 2)])
def test_gaps_and_overlaps_are_out_of_order(sequence: int, count: int) -> None:
    with pytest.raises(OutOfOrderSequence):
        _state((0, 3), (3, 2)).check(_header(sequence, count), NOW_MS)


def test_sequences_start_over_after_the_greatest() -> None:
    last = 2**31 - 1
    state = _state((last - 1, 2), (0, 2))
    assert state.check(_header(2), NOW_MS) is None
    original = state.check(_header(last - 1, 2), NOW_MS)
    assert original is not None
    assert original.base_offset == 0


def test_a_batch_may_reach_over_the_greatest_sequence() -> None:
    last = 2**31 - 1
    state = _state((last, 3))
    assert state.check(_header(2), NOW_MS) is None
    assert state.check(_header(last, 3), NOW_MS) is not None


def test_an_older_epoch_is_fenced() -> None:
    state = _state((0, 1))
    state.update(_header(0, epoch=2), 1, NOW_MS)
    with pytest.raises(InvalidProducerEpoch):
        state.check(_header(1, epoch=1), NOW_MS)


def test_a_new_epoch_starts_at_zero() -> None:
    state = _state((0, 1), (1, 1))
    assert state.check(_header(0, epoch=1), NOW_MS) is None
    with pytest.raises(OutOfOrderSequence):
        state.check(_header(2, epoch=1), NOW_MS)


def test_a_new_epoch_forgets_the_old_ones_batches() -> None:
    state = _state((0, 1), (1, 1))
    state.update(_header(0, epoch=1), 2, NOW_MS)
    original = state.check(_header(0, epoch=1), NOW_MS)
    assert original is not None
    assert original.base_offset == 2


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert ProducerState(DAY_MS).check(_header(12345), NOW_MS) is None


def test_a_silent_producer_is_forgotten() -> None:
    state = _state((0, 1))
    with pytest.raises(OutOfOrderSequence):
        state.check(_header(7), NOW_MS + DAY_MS - 1)
    assert state.expire(NOW_MS + DAY_MS - 1) == 0
    assert state.check(_header(7), NOW_MS + DAY_MS) is None
    assert len(state) == 0


def test_expiry_counts_from_the_append_not_from_the_records_time() -> None:
    state = ProducerState(DAY_MS)
    old = _header(0)._replace(max_timestamp=1)
    state.update(old, 0, NOW_MS)
    assert state.expire(NOW_MS + 1) == 0


def test_the_state_is_read_back_as_it_was() -> None:
    state = _state(*((number * 2, 2) for number in range(7)))
    state.update(parse_header(idempotent(5, producer_id=2**62)), 99, NOW_MS)
    data = b"before" + state.encode()
    again, end = ProducerState.decode(data, 6, DAY_MS)
    assert end == len(data)
    assert again.encode() == state.encode()
    assert list(again.describe()) == list(state.describe())


def test_producers_are_described() -> None:
    (info,) = _state((0, 3), (3, 2)).describe()
    assert (info.producer_id, info.epoch, info.last_sequence, info.last_timestamp_ms) == (7, 0, 4, NOW_MS)
    assert (info.coordinator_epoch, info.transaction_start_offset) == (-1, -1)


def test_a_copy_is_independent() -> None:
    state = _state((0, 1))
    copy = state.copy()
    copy.update(_header(1), 1, NOW_MS)
    assert state.check(_header(1), NOW_MS) is None
    assert copy.check(_header(1), NOW_MS) is not None


def _taken(*batches: tuple[int, int]) -> ProducerState:
    """What a log knows that took batches (first sequence, count)."""
    state = ProducerState(DAY_MS)
    for first, count in batches:
        state.update(_header(first)._replace(last_offset_delta=count - 1), first, NOW_MS)
    return state


def _next(state: ProducerState) -> int:
    (info,) = state.describe()
    return next_sequence(info.last_sequence)


HALF = 2**30


@pytest.mark.parametrize("much", [HALF - 1, HALF, HALF + 1, 2**31 - 10])
@pytest.mark.parametrize("first", [0, 2**31 - 3])
def test_the_last_batch_of_two_logs_is_found_however_many_the_other_took_before_or_after(much: int, first: int) -> None:
    second = next_sequence(first, 3)
    for log, stage in (
        ([(first, 3)], [(second, much), (next_sequence(second, much), 2)]),
        ([(second, much), (next_sequence(second, much), 2)], [(first, 3)]),
    ):
        state = _taken(*log)
        state.merge(_taken(*stage))
        assert _next(state) == next_sequence(second, much + 2)


@given(
    first=st.integers(0, 2**31 - 1),
    batches=st.lists(st.tuples(st.booleans(), st.sampled_from([1, 2, 7, 1000, HALF // 3])), min_size=1, max_size=9),
)
def test_two_logs_know_together_what_one_would(first: int, batches: list[tuple[bool, int]]) -> None:
    both, log, stage = ProducerState(DAY_MS), ProducerState(DAY_MS), ProducerState(DAY_MS)
    total = 0
    for staged, count in batches:
        if total + count >= 2**31:
            break
        header = _header(next_sequence(first, total))._replace(last_offset_delta=count - 1)
        for state in (both, stage if staged else log):
            state.update(header, total, NOW_MS)
        total += count
    log.merge(stage)
    assert _next(log) == _next(both)
    assert log.check(_header(next_sequence(first, total)), NOW_MS) is None
