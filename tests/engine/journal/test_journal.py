"""The journal: what it takes is given back, its slots are used again only when nobody needs them."""

import errno
import os

import pytest

from engine.files.memory import MemoryFiles
from engine.journal.device import Slot
from engine.journal.format import JournalPiece
from engine.journal.journal import ROUNDS_WITHOUT, Journal
from engine.workers import InlineWorkers
from tests.engine.journals import SLOT_BYTES, MemoryDevice, SettleLater, open_journal
from tests.engine.logs import memory_files

LOG = "/data/topics/0a/0"


class World:
    """A file that is journaled piece by piece."""

    def __init__(self, files: MemoryFiles | None = None, slots: int = 2) -> None:
        self.files = files or memory_files()
        self.device = MemoryDevice(self.files)
        self.settle = SettleLater()
        self.journal = open_journal(self.files, self.device, slots=slots, settle=self.settle)
        self.files.make_directories(LOG)
        self.file = self.files.open(f"{LOG}/0.log", create=True)
        self.written = b""
        self.taken: list[OSError | None] = []
        self.refused = 0

    def take(self, content: bytes = b"x", owner: object = "log") -> bool:
        """Write to the file and have it journaled."""
        position = len(self.written)
        self.file.write([content], position)
        self.written += content
        piece = JournalPiece(LOG, 0, self.file, position, len(content))
        took = self.journal.take([owner], [piece], self.taken.append)
        self.refused += not took
        return took

    def take_until_full(self) -> None:
        """So much that another slot is needed, and not one more."""
        while self.journal.statistics()["active_bytes"] < SLOT_BYTES:
            assert self.take()

    def journaled(self) -> bytes:
        """What a journal that is opened now has of the file."""
        return _content(open_journal(self.files, started=False))


def _content(journal: Journal) -> bytes:
    return b"".join(entry.read(0) for entry in journal.tail(LOG))


def test_the_first_round_is_refused_while_a_slot_is_laid_out() -> None:
    world = World()
    assert not world.take()
    assert world.take()
    assert world.taken == [None]


def test_a_slot_is_laid_out_as_soon_as_anything_is_written() -> None:
    world = World()
    world.journal.prepare()
    assert world.take()


def test_what_was_taken_is_given_back_after_a_crash() -> None:
    world = World()
    world.take(b"refused")
    world.take(b"one")
    world.take(b"two")
    world.files.crash()
    assert world.journaled() == b"onetwo"


def test_a_round_of_several_logs_is_one_frame() -> None:
    world = World()
    world.take()
    other = world.files.open(f"{LOG}/1.log", create=True)
    other.write([b"other"], 0)
    world.file.write([b"mine"], 1)
    pieces = [JournalPiece(LOG, 0, world.file, 1, 4), JournalPiece("/data/topics/0a/1", 7, other, 0, 5)]
    assert world.journal.take(["log", "other"], pieces, world.taken.append)
    assert world.journal.statistics()["frames"] == 1
    again = open_journal(world.files, started=False)
    (mine,), (theirs,) = again.tail(LOG), again.tail("/data/topics/0a/1")
    assert (mine.segment, mine.position, mine.read(0)) == (0, 1, b"mine")
    assert (theirs.segment, theirs.position, theirs.read(2)) == (7, 0, b"her")
    assert mine.place == theirs.place


def test_a_round_that_is_too_large_is_refused() -> None:
    world = World()
    world.take()
    assert not world.take(b"x" * SLOT_BYTES)
    assert world.take(b"x" * (SLOT_BYTES - 4096))


def test_a_full_slot_is_settled_and_the_next_one_taken() -> None:
    world = World()
    world.take()
    world.take_until_full()
    assert world.settle.asked == []
    assert world.take(owner="later")
    assert world.settle.asked == [["log"]]
    assert world.journal.statistics()["slots"] == 2


def test_a_slot_is_not_written_again_before_it_is_settled() -> None:
    world = World()
    world.take()
    world.take_until_full()
    assert world.take()
    world.take_until_full()
    before = world.journaled()
    assert not world.take(), "both are full, and the first is not settled yet"
    assert world.journaled() == before
    world.settle.finish()
    assert world.take(b"fresh")
    assert world.journaled().endswith(b"fresh")


def test_a_slot_stays_as_it_is_while_one_of_its_logs_cannot_be_synced() -> None:
    world = World()
    world.take()
    world.take(owner="good")
    world.take_until_full()
    world.take(owner="second slot")
    world.take_until_full()
    world.settle.finish(failed=["log"])
    assert not world.take()
    assert world.settle.asked[1] == ["log", "second slot"], "what could be synced need not be again"
    world.settle.finish()
    assert world.take()


def test_frames_of_the_life_before_are_not_mixed_with_new_ones() -> None:
    world = World()
    world.take()
    world.take(b"old")
    world.take(b"older frames lie behind the new one")
    again = World(world.files)
    again.take()
    again.take(b"new")
    entries = open_journal(world.files, started=False).tail(LOG)
    assert [entry.read(0) for entry in entries] == [b"new"]


def test_after_a_clean_shutdown_nothing_is_read_and_the_numbers_go_on() -> None:
    world = World()
    world.take()
    world.take(b"old")
    place = world.journal.place
    again = open_journal(world.files, started=False, clean=True)
    assert again.tail(LOG) == ()
    assert again.place > place


def test_a_damaged_frame_does_not_count_and_what_follows_it_does() -> None:
    world = World()
    world.take()
    for content in (b"one", b"two", b"three"):
        world.take(content)
    world.files.flip_bit("/data/journal/0.journal", 4096 + 60)
    assert world.journaled() == b"onethree"


def test_a_failed_write_is_told_and_the_journal_is_not_used_again() -> None:
    world = World()
    world.take()
    world.device.fail = OSError(errno.EIO, "no")
    assert world.take()
    assert world.taken == [world.device.fail]
    world.device.fail = None
    assert not world.take()


def test_where_no_slot_can_be_made_there_is_no_journal(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.files.fail_at(1, errno.EIO, only=frozenset({"write"}), times=2)
    world.journal.take([], [], world.taken.append)
    world.files.stop_failing()
    assert "no file can be made for the journal" in caplog.text
    assert not world.take()
    assert world.journal.idle()


def test_a_place_divides_what_was_journaled_before_from_what_comes() -> None:
    world = World()
    world.take()
    before = world.journal.place
    world.take(b"one")
    world.device.hold = True
    world.take(b"two")
    under_way = world.journal.place
    world.device.release()
    world.device.hold = False
    world.take(b"three")
    places = [entry.place for entry in open_journal(world.files, started=False).tail(LOG)]
    assert before <= places[0] < places[1] < under_way == places[2]


def test_while_it_runs_what_it_holds_is_read_from_the_disk() -> None:
    world = World()
    world.take()
    world.take(b"one")
    assert _content(world.journal) == b"one"


def test_it_is_idle_when_nothing_is_laid_out_or_settled() -> None:
    workers = InlineWorkers(hold=True)
    files = memory_files()
    journal = open_journal(files, workers=workers)
    assert journal.idle()
    journal.take([], [], lambda _: None)
    assert not journal.idle()
    workers.run_held(1)
    assert journal.idle()


def test_without_a_device_it_is_only_read() -> None:
    world = World()
    world.take()
    world.take(b"one")
    files = world.files
    reader = Journal("/data", files, None, InlineWorkers(), os.urandom, slot_bytes=SLOT_BYTES, slot_count=2)
    reader.open(0, clean=False)
    assert _content(reader) == b"one"
    reader.start(world.settle)
    assert not reader.take([], [], world.taken.append)
    assert reader.idle()


def test_a_closed_journal_takes_nothing() -> None:
    world = World()
    world.take()
    world.journal.close()
    assert not world.take()


def test_where_the_disk_is_full_a_slot_is_made_later(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    tries: list[str] = []

    def full(path: str, _size: int) -> Slot:
        tries.append(path)
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as broken:
        broken.setattr(world.device, "lay_out", full)
        for _ in range(ROUNDS_WITHOUT):
            assert not world.take()
    assert len(tries) == 1, "each attempt would fill what is left"
    while not world.take():
        assert world.refused < ROUNDS_WITHOUT + 5
