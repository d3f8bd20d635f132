"""Which batches of a log were aborted, as a pass of compaction asks."""

from engine.cleaner.transactions import AbortedRanges, detached, read_aborted
from engine.log.aborted_index import AbortedTransaction
from engine.records.layout import TRANSACTIONAL_FLAG, BatchHeader, build_batch, parse_header
from tests.engine.cleaner.world import World
from tests.engine.logs import NOW_MS

P, Q = 7, 8


def batch_at(offset: int, producer_id: int = P) -> BatchHeader:
    return parse_header(
        build_batch(
            [(b"k", b"v")],
            timestamp_ms=NOW_MS,
            base_offset=offset,
            producer_id=producer_id,
            attributes=TRANSACTIONAL_FLAG,
        )
    )


def two_aborted(world: World) -> World:
    """Of two producers, the second's marker in the active segment, past an open transaction."""
    world.write_in_transaction(P, (b"a", b"1"))
    world.write_in_transaction(Q, (b"a", b"2"))
    world.end_transaction(P, committed=False)
    world.roll()
    world.write_in_transaction(P, (b"a", b"3"))
    world.end_transaction(Q, committed=False)
    return world


EXPECTED = [(P, 0, 2), (Q, 1, 4)]


def found(world: World, end: int = 3) -> list[tuple[int, int, int]]:
    copies = [detached(segment) for segment in world.log.segments]
    return [each[:3] for each in read_aborted(copies, end)]


def test_markers_in_later_segments_count() -> None:
    assert found(two_aborted(World())) == EXPECTED


def test_what_begins_later_is_left_out() -> None:
    assert found(two_aborted(World()), end=1) == EXPECTED[:1]


def test_they_are_found_on_disk() -> None:
    world = two_aborted(World()).reopened()
    assert world.log.segments[0].aborted is None
    assert found(world) == EXPECTED
    assert world.log.segments[0].aborted is None, "the log's own segments are left alone"


def test_the_copies_hold_no_index_afterwards() -> None:
    world = two_aborted(World()).reopened()
    copies = [detached(segment) for segment in world.log.segments]
    read_aborted(copies, 3)
    assert [copy.index for copy in copies] == [None, None]
    assert copies[0].stable_offset == 1


def test_they_are_found_without_an_index() -> None:
    world = two_aborted(World()).reopened()
    world.forget("00.index")
    assert found(world) == EXPECTED


def test_a_copy_does_not_follow_its_segment() -> None:
    world = two_aborted(World())
    copies = [detached(segment) for segment in world.log.segments]
    world.end_transaction(P, committed=False)
    assert [each[:3] for each in read_aborted(copies, 6)] == EXPECTED
    assert found(world, 6) == [*EXPECTED, (P, 3, 5)]


def test_a_batch_belongs_to_the_transaction_that_it_lies_in() -> None:
    ranges = AbortedRanges([AbortedTransaction(P, 20, 30, 0), AbortedTransaction(P, 5, 10, 0)])
    asked = [1, 5, 9, 10, 11, 20, 30, 31]
    assert [offset for offset in asked if ranges.covers(batch_at(offset))] == [5, 9, 10, 20, 30]


def test_other_producers_are_not_meant() -> None:
    ranges = AbortedRanges([AbortedTransaction(P, 5, 10, 0)])
    assert not ranges.covers(batch_at(7, Q))


def test_a_marker_is_known_by_its_offset() -> None:
    transaction = AbortedTransaction(P, 5, 10, 0)
    ranges = AbortedRanges([transaction])
    assert ranges.ended_by(batch_at(10, Q)) == transaction
    assert ranges.ended_by(batch_at(9)) is None
