"""One pass over one log: the map, then group after group."""

import pytest

from engine.cleaner.compaction import GROUP_SEGMENTS, Compaction, SegmentGroup
from engine.cleaner.dirtiness import CompactionView, dirtiness
from engine.cleaner.offset_map import DEFAULT_BYTES, ENTRY_OVERHEAD
from engine.cleaner.throttle import Stopped, Throttle
from engine.cleaner.transactions import detached
from tests.engine.cleaner.world import COMPACT, World


def compaction(
    world: World, *, cleaned_to: int | None = None, capacity_bytes: int = DEFAULT_BYTES, stopped: bool = False
) -> Compaction:
    log = world.log
    segments, end = log.segments[:-1], log.segments[-1].base_offset
    view = CompactionView(segments, end, log.start_offset, log.end_offset, log.end_offset, log.config)
    return Compaction(
        files=world.files,
        directory=log.directory,
        dirt=dirtiness(view, cleaned_to, world.clock.now_ms()),
        config=COMPACT,
        now_ms=world.clock.now_ms(),
        producers={},
        copies=[detached(segment) for segment in log.segments],
        throttle=Throttle(world.clock.monotonic, lambda _: None, lambda: stopped, work_s=0),
        capacity_bytes=capacity_bytes,
    )


def run(work: Compaction) -> list[SegmentGroup]:
    work.build_map()
    groups = []
    while (group := work.next_group()) is not None:
        groups.append(group)
    return groups


def segments_of(world: World, *contents: list[bytes], value: bytes = b"v") -> World:
    """One sealed segment per list of keys, one batch per key."""
    for keys in contents:
        for key in keys:
            world.write((key, value))
        world.roll()
    return world


def test_small_segments_are_put_together() -> None:
    world = segments_of(World(), [b"a", b"b"], [b"a", b"c"], [b"b", b"d"])
    (group,) = run(compaction(world))
    assert group.old == world.log.segments[:-1]
    assert [segment.base_offset for segment in group.new] == [0]
    assert group.freed_bytes > 0


def test_a_segment_that_is_full_enough_stays_alone() -> None:
    world = segments_of(World(), [b"a"], [b"b"], [b"c"], value=b"v" * 500)
    world.write((b"a", b"v" * 500))
    world.roll()
    groups = run(compaction(world))
    assert [len(group.old) for group in groups] == [2]
    assert [segment.base_offset for segment in groups[0].new] == [0]


def test_a_segment_in_which_nothing_changes_is_not_replaced() -> None:
    world = segments_of(World(), [b"a"], value=b"v" * 500)
    assert run(compaction(world)) == []
    assert not [name for name in world.files.list(world.log.directory) if name.endswith(".cleaned")]


def test_a_group_does_not_grow_without_end() -> None:
    world = segments_of(World(), *[[b"a"]] * (GROUP_SEGMENTS + 1))
    assert [len(group.old) for group in run(compaction(world))] == [GROUP_SEGMENTS]


def test_where_all_goes_an_empty_batch_holds_the_place() -> None:
    world = segments_of(World(), [b"a", b"a"], [b"a"])
    world.write((b"a", b"last"))
    world.roll()
    (group,) = run(compaction(world))
    assert [len(group.old), len(group.new)] == [3, 1]


def test_the_map_begins_at_the_first_dirty_offset() -> None:
    world = segments_of(World(), [b"a", b"b"], [b"c"])
    work = compaction(world, cleaned_to=1)
    work.build_map()
    assert len(work.offsets) == 2
    assert work.cleaned_to == 3


def test_a_full_map_ends_the_pass_early() -> None:
    world = segments_of(World(), [b"a", b"b", b"c"], [b"d"])
    work = compaction(world, capacity_bytes=2 * ENTRY_OVERHEAD)
    groups = run(work)
    assert work.cleaned_to == 2
    assert groups == []


def test_even_the_smallest_map_gets_on() -> None:
    world = segments_of(World(), [b"a", b"a"])
    work = compaction(world, capacity_bytes=1)
    work.build_map()
    assert work.cleaned_to == 1


def test_what_is_given_up_leaves_no_files() -> None:
    world = segments_of(World(), [b"a"], [b"a"])
    work = compaction(world)
    work.build_map()
    work.throttle.is_stopped = lambda: True
    with pytest.raises(Stopped):
        work.next_group()
    assert not [name for name in world.files.list(world.log.directory) if name.endswith(".cleaned")]


def test_an_abandoned_group_leaves_no_files() -> None:
    world = segments_of(World(), [b"a"], [b"a"])
    (group,) = run(compaction(world))
    group.abandon()
    assert not [name for name in world.files.list(world.log.directory) if name.endswith(".cleaned")]
