"""Partitions together remember so many producers: who was silent for longest goes first, nobody in a transaction."""

import gc
from collections.abc import Callable

import pytest

from engine.errors import OutOfOrderSequence, PolicyViolation
from engine.log.producer_room import LOOKED_AT, ProducerRoom
from engine.log.producer_state import ProducerState
from engine.records.layout import TRANSACTIONAL_FLAG, BatchHeader, parse_header
from tests.effort import growth
from tests.engine.logs import idempotent


def state_in(room: ProducerRoom) -> ProducerState:
    state = ProducerState(86_400_000)
    state.share(room)
    return state


def header_of(producer_id: int, sequence: int = 0, *, transactional: bool = False) -> BatchHeader:
    header = parse_header(idempotent(sequence, producer_id=producer_id))
    flags = TRANSACTIONAL_FLAG if transactional else 0
    return header._replace(attributes=header.attributes | flags)


def write(state: ProducerState, producer_id: int, now_ms: int, *, transactional: bool = False) -> None:
    header = header_of(producer_id, transactional=transactional)
    state.check(header, now_ms)
    state.update(header, 0, now_ms)


def known(state: ProducerState) -> list[int]:
    return [info.producer_id for info in state.describe()]


def test_who_was_silent_for_longest_is_forgotten_first_in_whichever_partition() -> None:
    room = ProducerRoom(3)
    one, other = state_in(room), state_in(room)
    write(one, 1, 100)
    write(other, 2, 200)
    write(one, 3, 300)
    one.update(header_of(1, 1), 1, 400)
    write(other, 4, 500)
    assert (known(one), known(other)) == ([1, 3], [4])
    write(other, 5, 600)
    assert (known(one), known(other)) == ([1], [4, 5])
    assert room.statistics() == {"remembered": 3, "forgotten": 2}


def test_a_forgotten_producer_may_go_on() -> None:
    room = ProducerRoom(1)
    state = state_in(room)
    write(state, 1, 100)
    with pytest.raises(OutOfOrderSequence):
        state.check(header_of(1, 7), 100)
    write(state, 2, 200)
    assert state.check(header_of(1, 7), 300) is None


def test_nobody_with_a_transaction_open_is_forgotten() -> None:
    room = ProducerRoom(2)
    state = state_in(room)
    write(state, 1, 100, transactional=True)
    write(state, 2, 200)
    write(state, 3, 300, transactional=True)
    assert known(state) == [1, 3]
    with pytest.raises(PolicyViolation, match=r"max\.producer\.ids=2"):
        write(state, 4, 400)
    state.end_transaction(header_of(1, transactional=True), 0, 500)
    write(state, 4, 600)
    assert known(state) == [3, 4]


def test_where_all_are_busy_one_of_them_still_makes_way() -> None:
    room = ProducerRoom(3)
    state = state_in(room)
    for producer_id in (1, 2, 3):
        write(state, producer_id, 100)
    for producer_id, now_ms in ((3, 200), (1, 300), (2, 400)):
        state.update(header_of(producer_id, 1), 1, now_ms)
    write(state, 4, 500)
    assert known(state) == [1, 2, 4]


def test_partitions_that_are_gone_take_no_room() -> None:
    room = ProducerRoom(4)
    kept, gone = state_in(room), state_in(room)
    write(kept, 9, 100)
    for producer_id in (1, 2, 3):
        write(gone, producer_id, 200)
    del gone
    gc.collect()
    kept.update(header_of(9, 1), 1, 300)
    for producer_id in (5, 6, 7):
        write(kept, producer_id, 400)
    assert known(kept) == [9, 5, 6, 7]


def test_what_a_log_brings_along_is_counted_and_cut_back() -> None:
    room = ProducerRoom(2)
    before = ProducerState(86_400_000)
    for producer_id in range(5):
        write(before, producer_id, 100 + producer_id)
    opened, _ = ProducerState.decode(before.encode(), 0, 86_400_000)
    opened.share(room)
    write(opened, 9, 200)
    assert known(opened) == [4, 9]


def test_a_batch_looks_at_few_however_many_there_are() -> None:
    def fill(count: int) -> Callable[[], object]:
        room = ProducerRoom(count)
        state = state_in(room)
        for producer_id in range(count):
            write(state, producer_id, 100)
        for producer_id in range(count):
            state.update(header_of(producer_id, 1), 1, 200)
        return lambda: [write(state, 10_000 + number, 300 + number) for number in range(20)]

    assert growth(fill, LOOKED_AT * 20) < 1.5
