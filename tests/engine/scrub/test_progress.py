"""How far the scrubber is survives a restart; what cannot be read of it is a beginning."""

from engine.damage import Damage
from engine.scrub.progress import FILE_NAME, Cursor, ScrubPlace, ScrubProgress, kept, known
from tests.engine.logs import memory_files


def test_it_is_read_as_it_was_written() -> None:
    files = memory_files()
    damage = Damage("/data/topics/ab/0/1.log", 61, "torn", "t", 0, 7, 12)
    progress = ScrubProgress(
        3, 100, 50, 4096, True, Cursor(ScrubPlace("ab", 1, True), 10, 61, 11), [kept(damage, "/data")]
    )
    progress.write(files, "/data")
    files.crash()
    found = ScrubProgress.read(files, "/data")
    assert found == progress
    assert known(found.damages[0], "/elsewhere").file == "/elsewhere/topics/ab/0/1.log"
    assert known(found.damages[0], "/data") == damage


def test_a_missing_or_damaged_one_is_a_beginning() -> None:
    files = memory_files()
    assert ScrubProgress.read(files, "/data") == ScrubProgress()
    ScrubProgress(passes=3).write(files, "/data")
    for position in range(files.list("/data")[FILE_NAME]):
        files.flip_bit(f"/data/{FILE_NAME}", position)
        assert ScrubProgress.read(files, "/data") == ScrubProgress()
        files.flip_bit(f"/data/{FILE_NAME}", position)


def test_logs_come_by_topic_partition_and_then_the_stage() -> None:
    places = [ScrubPlace("b", 0), ScrubPlace("a", 10), ScrubPlace("a", 2, True), ScrubPlace("a", 2)]
    assert sorted(places) == [ScrubPlace("a", 2), ScrubPlace("a", 2, True), ScrubPlace("a", 10), ScrubPlace("b", 0)]
