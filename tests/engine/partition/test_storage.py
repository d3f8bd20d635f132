"""A full disk: it is told of once a minute, and a reserve lets things be deleted."""

import errno
from collections.abc import Callable

import pytest

from engine.clock import ManualClock
from engine.files.memory import MemoryFiles
from engine.files.reserve import Reserve
from engine.partition.storage import CHECK_S, ENOUGH_BYTES, LEAST_BYTES, QUIET_S, TELL_S, Storage
from engine.workers import InlineWorkers
from tests.engine.logs import NOW_MS, memory_files

ROOM = 8 * ENOUGH_BYTES


class Bench:
    """Storage on a disk of 8 MiB, under a clock that is moved by hand."""

    def __init__(self) -> None:
        self.files: MemoryFiles = memory_files()
        self.files.capacity_bytes = ROOM
        self.clock = ManualClock(NOW_MS)
        self.later: list[tuple[float, Callable[[], object]]] = []
        self.told: list[object] = []
        self.storage = Storage(
            self.files,
            "/data",
            self.clock,
            InlineWorkers(),
            lambda delay_s, call: self.later.append((self.clock.monotonic() + delay_s, call)),
            Reserve(self.files, "/data/reserve", 0),
            self.told.append,
        )

    def pass_time(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        while due := [each for each in self.later if each[0] <= end]:
            first = min(due, key=lambda each: each[0])
            self.later.remove(first)
            self.clock.seconds = max(first[0], self.clock.seconds)
            first[1]()
        self.clock.seconds = end

    def fill(self, left: int = 0) -> None:
        used = self.files.used_bytes()
        self.files.open("/data/filler", create=True).write([bytes(ROOM - used - left)], 0)


def test_a_full_disk_is_told_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.fill()
    for _ in range(10 * int(TELL_S)):
        bench.storage.note_full("records")
        bench.pass_time(0.1)
    bench.storage.note_full("records")
    lines = [record for record in caplog.records if "the disk is full: records cannot be written" in record.message]
    assert len(lines) == 2
    assert bench.storage.refusals == 601
    assert bench.storage.refused == "the disk is full: records cannot be written"
    assert bench.storage.room.free_bytes == 0


def test_it_is_over_once_there_is_room_and_nothing_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.fill()
    bench.storage.note_full("records")
    bench.storage.note_full("topics")
    bench.pass_time(10 * QUIET_S)
    assert bench.storage.refused == "the disk is full: records and topics cannot be written", "nothing is free"
    bench.files.unlink("/data/filler")
    bench.pass_time(2 * CHECK_S)
    assert bench.storage.refused is None
    assert "there is room on the disk again" in caplog.text
    assert not bench.later, "nothing is looked at any more"


def test_a_little_room_is_enough_when_nothing_is_refused_for_long() -> None:
    bench = Bench()
    bench.fill(left=ENOUGH_BYTES - 1)
    bench.storage.note_full("records")
    bench.pass_time(QUIET_S - CHECK_S)
    assert bench.storage.is_full
    bench.pass_time(2 * CHECK_S)
    assert not bench.storage.is_full


def test_the_reserve_is_given_up_once_and_laid_by_again() -> None:
    bench = Bench()
    bench.storage.keep_reserve(1000)
    assert bench.files.list("/data") == {"reserve": 1000}
    bench.fill()
    assert bench.storage.make_room()
    assert not bench.storage.make_room()
    assert bench.storage.is_full
    assert str(bench.told[-1]) == "the disk is full; what is left is for deleting topics and records"
    bench.files.open("/data/small", create=True).write([bytes(500)], 0)
    bench.pass_time(3 * CHECK_S)
    assert bench.storage.is_full, "there is no room for it"
    bench.files.unlink("/data/filler")
    bench.pass_time(CHECK_S)
    assert bench.told[-1] is None
    assert not bench.storage.is_full
    assert bench.files.list("/data")["reserve"] == 1000


def test_a_reserve_that_cannot_be_laid_by_takes_nothing_from_others(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.fill(left=900)
    bench.files.fail_at(1, errno.EIO, times=1000, only=frozenset({"write"}))
    bench.storage.keep_reserve(1000)
    bench.pass_time(4 * CHECK_S)
    assert bench.files.calls == 0, "it is not tried"
    assert not bench.storage.is_full
    assert caplog.text.count("no room can be kept free for deletions") == 1


def test_a_disk_with_nothing_left_is_full_before_anything_is_refused() -> None:
    bench = Bench()
    bench.fill(left=LEAST_BYTES - 1)
    assert not bench.storage.is_full, "nobody has looked"
    bench.storage.look()
    assert bench.storage.refused == "the disk is full: records cannot be written"
    bench.files.unlink("/data/filler")
    bench.storage.look()
    assert bench.storage.refused is None
