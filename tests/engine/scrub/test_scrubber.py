"""The scrubber finds what is damaged, goes on where it was, keeps its pace, and raises no false alarm."""

import errno

import pytest
from attrs import define, field

from engine.clock import ManualClock
from engine.files.memory import MemoryFiles
from engine.journal.journal import Journal
from engine.log.log import LogConfig
from engine.log.segment_writer import SegmentWriter
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec
from engine.partition.sync import SyncRounds
from engine.records.layout import parse_header
from engine.scrub.progress import FILE_NAME, ScrubProgress
from engine.scrub.scrubber import SAVE_INTERVAL_S, Scrubber
from engine.scrub.steps import OtherFile, SaveStep, SegmentStep
from engine.workers import InlineWorkers
from tests.engine.journals import MemoryDevice, open_journal
from tests.engine.logs import NOW_MS, batch, memory_files, snapshot
from tests.engine.partition.making import remove

DAY_MS = 86_400_000
RATE = 64 * 1024
TOPICS = {b"\1" * 16: "alpha", b"\2" * 16: "beta"}


@define(slots=False)
class World:
    """Two topics of two partitions on a disk in memory, several segments each."""

    files: MemoryFiles = field(factory=memory_files)
    clock: ManualClock = field(factory=lambda: ManualClock(NOW_MS))
    journal: Journal | None = None
    others: list[OtherFile] = field(factory=list)
    config: LogConfig = field(factory=lambda: LogConfig(segment_bytes=40_000))
    partitions: Partitions = field(init=False)
    scrubber: Scrubber = field(init=False)
    waited_s: float = 0.0

    def __attrs_post_init__(self) -> None:
        self.start()
        for partition in self.partitions:
            for _ in range(12):
                partition.write(batch(5, size=2_000))
            self.rounds.start_round()

    def start(self) -> None:
        """As a broker does, on what is there."""
        workers = InlineWorkers()
        self.rounds = SyncRounds(workers, lambda: None, None, self.journal)
        self.partitions = Partitions("/data", self.files, self.clock, workers, self.rounds, lambda *_: None)
        for topic_id, name in TOPICS.items():
            for index in range(2):
                spec = PartitionSpec(topic_id, index, self.config, True, name)
                self.partitions.add(spec, self.partitions.open_log(spec, clean=False))
        self.scrubber = Scrubber(self.partitions, self.clock, RATE, DAY_MS, self.journal, self.others)
        self.scrubber.load()
        self.scrubber.begin()

    def step(self) -> object:
        step = self.scrubber.next_step()
        if step is not None:
            step.run()
            pause_s = self.scrubber.finish(step)
            self.waited_s += pause_s
            self.clock.advance_ms(int(pause_s * 1000))
        return step

    def run_pass(self) -> int:
        """To its end; how many steps looked at segments."""
        steps, before = 0, self.scrubber.passes
        while self.scrubber.passes == before:
            steps += isinstance(self.step(), SegmentStep)
        self.step()
        return steps

    def partition(self, number: int = 0) -> Partition:
        return list(self.partitions)[number]

    @property
    def damages(self) -> list[tuple[str, int, int, int]]:
        return [(each.topic, each.partition, each.offset, each.position) for each in self.partitions.damages]


@pytest.fixture
def world() -> World:
    return World()


def test_a_pass_reads_everything_and_finds_nothing(world: World) -> None:
    world.run_pass()
    assert world.damages == []
    assert world.scrubber.bytes >= sum(partition.log.size_bytes for partition in world.partitions)
    assert ScrubProgress.read(world.files, "/data").passes == 1


def test_it_reads_no_faster_than_it_may(world: World) -> None:
    world.run_pass()
    assert world.waited_s == pytest.approx(world.scrubber.bytes / RATE, rel=0.01)


def test_damage_is_told_with_its_place(world: World, caplog: pytest.LogCaptureFixture) -> None:
    log = world.partition(3).log
    first = log.segments[0]
    at = log.position_of(5).position
    world.files.flip_bit(first.path, at + 500)
    world.run_pass()
    assert world.damages == [("beta", 1, 5, at)]
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert f"{first.path} at byte {at}: the checksum of this batch does not hold" in line.getMessage()
    assert (line.__dict__["topic"], line.__dict__["partition"], line.__dict__["offset"]) == ("beta", 1, 5)


def test_nothing_is_removed_or_altered(world: World) -> None:
    segment = world.partition().log.segments[0]
    world.files.flip_bit(segment.path, 500)
    before = segment.file().pread(segment.size, 0)
    world.run_pass()
    assert segment.file().pread(segment.size, 0) == before
    assert world.files.list(segment.directory)


def test_what_follows_the_damage_is_looked_at_too(world: World) -> None:
    log = world.partition().log
    for segment in log.segments[:2]:
        world.files.flip_bit(segment.path, 500)
        world.files.flip_bit(segment.path, segment.size - 500)
    world.run_pass()
    assert len(world.damages) == 4


def test_a_segment_that_does_not_reach_to_the_next_is_told(world: World) -> None:
    log = world.partition().log
    first, second = log.segments[:2]
    found = first.locate(second.base_offset - 1)
    assert found is not None
    first.size = found[0]
    world.run_pass()
    (damage,) = world.partitions.damages
    assert damage.problem == f"the segment ends at offset {second.base_offset - 5}, the next begins at 15"


def test_what_is_not_durable_is_left_alone(world: World) -> None:
    partition = world.partition()
    partition.write(batch(size=2_000))
    active = partition.log.segments[-1]
    world.files.flip_bit(active.path, active.size - 100)
    world.run_pass()
    assert world.damages == []


def test_the_next_pass_comes_at_its_time_and_forgets_what_is_sound_again(world: World) -> None:
    segment = world.partition().log.segments[0]
    world.files.flip_bit(segment.path, 500)
    world.run_pass()
    assert world.step() is None
    world.files.flip_bit(segment.path, 500)
    world.clock.advance_ms(DAY_MS - 60_000)
    assert world.step() is None
    world.clock.advance_ms(120_000)
    world.run_pass()
    assert world.damages == []
    assert world.scrubber.passes == 2


def test_a_pass_can_be_asked_for(world: World) -> None:
    world.run_pass()
    assert world.scrubber.start_pass()
    assert not world.scrubber.start_pass()
    world.run_pass()
    assert world.scrubber.progress.passes == 2


def test_a_damage_keeps_the_time_when_it_was_found(world: World) -> None:
    world.files.flip_bit(world.partition().log.segments[0].path, 500)
    world.run_pass()
    (first,) = world.partitions.damages
    world.clock.advance_ms(DAY_MS)
    world.run_pass()
    (again,) = world.partitions.damages
    assert again == first


def test_a_restart_goes_on_where_it_was(world: World) -> None:
    whole = world.run_pass()
    world.scrubber.start_pass()
    done = 0
    while done < whole // 2:
        done += isinstance(world.step(), SegmentStep)
    world.scrubber.next_step()  # what was found by the step before is taken in
    world.scrubber.save_step().run()
    world.files.crash()
    world.start()
    assert world.scrubber.is_running
    left = world.run_pass()
    assert whole - done <= left <= whole - done + 2


def test_a_kill_loses_at_most_the_last_minute(world: World) -> None:
    saved = 0
    while saved < 2:
        saved += isinstance(world.step(), SaveStep)
        world.clock.advance_ms(int(SAVE_INTERVAL_S * 100))
    world.start()
    assert world.scrubber.is_running
    assert world.scrubber.progress.cursor is not None


def test_what_was_found_is_known_after_a_restart(world: World) -> None:
    world.files.flip_bit(world.partition(2).log.segments[0].path, 500)
    world.run_pass()
    found = world.damages
    world.start()
    assert world.damages == found == [("beta", 0, 0, 0)]


def test_a_segment_that_was_compacted_since_is_begun_anew(world: World) -> None:
    """The place that was kept is none where a batch begins any more."""
    while world.scrubber.progress.cursor is None or world.scrubber.progress.cursor.position == 0:
        world.step()
    cursor = world.scrubber.progress.cursor
    world.scrubber.progress.cursor = type(cursor)(cursor.place, cursor.segment, cursor.position - 7, 3)
    world.scrubber.save_step().run()
    world.start()
    world.run_pass()
    assert world.damages == []


def test_segments_that_are_replaced_meanwhile_are_no_cause_for_alarm(world: World) -> None:
    partition = world.partition()
    log = partition.log
    snapshot(log)
    old = log.segments[:1]
    while not isinstance(step := world.scrubber.next_step(), SegmentStep):
        pass
    writer = SegmentWriter(world.files, log.directory, 0, NOW_MS)
    writer.append(parse_header(batch(15, size=1)), [batch(15, size=1)])
    job = log.replace_segments(old, [writer.finish()])
    job.run()
    step.run()
    job.finish()
    world.scrubber.finish(step)
    world.run_pass()
    assert world.damages == []


def test_a_topic_that_is_deleted_meanwhile_is_no_cause_for_alarm(world: World) -> None:
    world.step()
    for topic_id in TOPICS:
        remove(world.partitions, topic_id)
        world.partitions.remove_files([topic_id])
    world.run_pass()
    assert world.damages == []


def test_damage_goes_with_its_file(world: World) -> None:
    world.files.flip_bit(world.partition().log.segments[0].path, 500)
    world.run_pass()
    (topic_id, *_) = TOPICS
    remove(world.partitions, topic_id)
    world.partitions.remove_files([topic_id])
    world.scrubber.start_pass()
    world.run_pass()
    assert world.damages == []


def test_a_log_that_is_offline_waits_for_the_next_pass(world: World) -> None:
    partition = world.partition()
    world.files.flip_bit(partition.log.segments[0].path, 500)
    partition.take_offline(OSError(errno.EIO, "bad"))
    world.run_pass()
    assert world.damages == []


def test_what_cannot_be_read_is_damage(world: World) -> None:
    world.scrubber.start_pass()
    while not isinstance(step := world.scrubber.next_step(), SegmentStep):
        pass
    for _ in range(2):
        world.files.fail_at(1, errno.EIO, only=frozenset({"pread"}))
        step.run()
        world.files.stop_failing()
        world.scrubber.finish(step)
        step = world.scrubber.next_step()  # type: ignore[assignment]
    assert world.damages == [("alpha", 0, 0, 0)]
    assert "Input/output error" in next(iter(world.partitions.damages)).problem


def test_the_small_files_are_looked_at(world: World) -> None:
    log = world.partition(1).log
    snapshot(log)
    path = f"{log.directory}/00000000000000000060.snapshot"
    world.files.flip_bit(path, 20)
    world.run_pass()
    assert world.damages == [("alpha", 1, -1, 0)]
    world.files.flip_bit(path, 20)
    world.scrubber.start_pass()
    world.run_pass()
    assert world.damages == []


def test_the_journal_is_looked_at() -> None:
    files = memory_files()
    journal = open_journal(files, MemoryDevice(files, 5 * 4096), slots=2)
    world = World(files, journal=journal, config=LogConfig(segment_bytes=2**20))
    for _ in range(4):
        world.partition().write(batch())
        world.rounds.start_round()
    (extent,) = journal.needed_slots()
    assert extent.frames > 1
    world.run_pass()
    assert world.damages == []
    files.flip_bit(extent.path, 4096 + 100)
    world.scrubber.start_pass()
    world.run_pass()
    (damage,) = world.partitions.damages
    assert (damage.file, damage.position, damage.topic) == (extent.path, 4096, "")


def test_other_files_are_asked_themselves(world: World) -> None:
    problems: list[str | None] = ["broken", None]
    world.scrubber.others = [OtherFile("/data/catalogue.sqlite", lambda: problems[0])]
    world.run_pass()
    assert [each.problem for each in world.partitions.damages] == ["broken"]
    problems.pop(0)
    world.scrubber.start_pass()
    world.run_pass()
    assert world.damages == []


def test_its_notes_are_small(world: World) -> None:
    world.run_pass()
    assert world.files.list("/data")[FILE_NAME] < 500


def test_a_pass_that_is_given_up_comes_again_at_its_time(world: World) -> None:
    world.step()
    world.scrubber.give_up()
    assert not world.scrubber.is_running
    world.clock.advance_ms(DAY_MS)
    world.run_pass()
    assert world.scrubber.passes == 1
