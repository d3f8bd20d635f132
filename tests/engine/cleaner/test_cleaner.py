"""Both together: never on one partition at a time, stopped cleanly."""

from attrs import evolve

from engine.workers import InlineWorkers
from tests.engine.cleaner.world import COMPACT, World

BOTH = evolve(COMPACT, cleanup_delete=True, retention_ms=1000)


def dirty(world: World) -> World:
    for value in (b"1", b"2", b"3"):
        world.write((b"a", value), (b"b", value))
        world.roll()
    return world


def test_a_log_is_compacted_and_ages() -> None:
    world = dirty(World(BOTH))
    world.compact()
    assert world.values() == {4: b"3", 5: b"3"}
    assert world.log.start_offset == 0
    world.clock.advance_ms(2000)
    world.cleaner.retain()
    assert world.log.start_offset == 6
    assert world.values() == {}


def test_retention_leaves_alone_what_is_being_compacted() -> None:
    world = dirty(World(BOTH))
    held = InlineWorkers(hold=True)
    cleaner = world.make_cleaner(held)
    cleaner.compact()
    held.run_held(1)
    world.clock.advance_ms(2000)
    cleaner.retain()
    assert world.log.start_offset == 0
    held.hold = False
    held.run_held()
    assert cleaner.idle
    cleaner.retain()
    assert world.log.start_offset == 6


def test_it_stops_in_the_middle() -> None:
    world = dirty(World())
    held = InlineWorkers(hold=True)
    cleaner = world.make_cleaner(held)
    cleaner.compact()
    held.run_held(2)
    assert not cleaner.idle
    cleaner.stop()
    while held.held:
        held.run_held()
    assert cleaner.idle
    assert len(world.records()) == 6
    assert not [name for name in world.files.list(world.log.directory) if name.endswith(".cleaned")]
    cleaner.compact()
    assert cleaner.idle


def test_it_counts() -> None:
    world = dirty(World())
    world.compact()
    counted = world.cleaner.statistics()
    assert (counted["passes"], counted["busy"], counted["running"]) == (1, 0, 0)
    assert counted["freed_bytes"] > 0
