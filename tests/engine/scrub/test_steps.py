"""What a step of the scrubber does in its thread, on real files."""

from pathlib import Path

from engine.damage import Damage
from engine.files.files import OsFiles
from engine.files.page_cache import is_resident, let_go
from engine.log.segment import Segment
from engine.scrub.progress import ScrubPlace
from engine.scrub.segment_check import SegmentCheck
from engine.scrub.steps import MissingStep, SegmentStep
from tests.engine.logs import batch


def step_on(path: Path, count: int) -> SegmentStep:
    content = batch(1, size=50_000) * count
    file = path / "00000000000000000000.log"
    file.write_bytes(content)
    segment = Segment(OsFiles(), str(path), 0, size=len(content))
    return SegmentStep(
        ScrubPlace("ab", 0), segment, segment.file(), len(content), 10**6, SegmentCheck(0), end_offset=None
    )


def test_it_tells_where_to_go_on(tmp_path: Path) -> None:
    step = step_on(tmp_path, 1)
    step.run()
    assert step.is_last
    assert (step.cursor.segment, step.cursor.position, step.cursor.next_offset) == (0, step.size_bytes, 1)
    assert step.check.position == 0, "it can be repeated"


def test_what_was_in_memory_stays_there(tmp_path: Path) -> None:
    step = step_on(tmp_path, 1)
    descriptor = step.file.fileno()
    assert descriptor is not None
    assert is_resident(descriptor, 0, step.limit)
    step.run()
    assert is_resident(descriptor, 0, step.limit)


def test_what_was_not_in_memory_is_not_kept_there(tmp_path: Path) -> None:
    step = step_on(tmp_path, 1)
    descriptor = step.file.fileno()
    assert descriptor is not None
    step.file.sync()
    let_go(descriptor, 0, step.limit)
    was_resident = is_resident(descriptor, 0, step.limit)
    step.run()
    assert is_resident(descriptor, 0, step.limit) == was_resident, "where the file system lets go at all"


def test_files_that_are_gone_are_told(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    damages = [Damage(str(tmp_path / name), 0, "torn") for name in ("here", "gone")]
    step = MissingStep(OsFiles(), damages)
    step.run()
    assert step.gone == {str(tmp_path / "gone")}
