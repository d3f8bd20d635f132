"""Whether files are sound."""

from pathlib import Path

import pytest

from engine.files.files import OsFiles
from engine.log.index import SparseIndex
from engine.log.recovery import write_start_offset
from engine.records.layout import CONTROL_FLAG, build_batch
from engine.stage.events import Cancelled, build_events
from tools.cli.log_verify import verify


def batch(base_offset: int) -> bytes:
    return build_batch([(b"k", b"v")], timestamp_ms=17, base_offset=base_offset)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """Two batches, and an index that points at the second."""
    first = batch(0)
    (tmp_path / "00000000000000000000.log").write_bytes(first + batch(1))
    index = SparseIndex()
    index.add(1, len(first), 17)
    (tmp_path / "00000000000000000000.index").write_bytes(bytes(index.entries))
    return tmp_path / "00000000000000000000.log"


def problems(segment: Path) -> list[str]:
    return [each.problem for each in verify([segment]).findings]


def test_sound_files_have_no_problems(segment: Path) -> None:
    seen = verify([segment])
    assert (seen.batches, seen.records, seen.indexes, seen.findings) == (2, 2, 1, [])


def test_room_that_was_made_and_not_used_is_no_problem(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes() + b"\0" * 500)
    assert problems(segment) == []


def test_offsets_must_rise(segment: Path) -> None:
    segment.write_bytes(batch(0) + batch(0))
    assert "offset 0 comes after 0" in problems(segment)


def test_an_index_must_point_at_batches(segment: Path) -> None:
    index = SparseIndex()
    index.add(1, 7, 17)
    index.add(2, len(batch(0)), 17)
    segment.with_suffix(".index").write_bytes(bytes(index.entries))
    assert problems(segment) == [
        "entry 0 points at byte 7, where no batch begins",
        "entry 1 has offset 2 for the batch of 1",
    ]


def test_a_file_that_goes_away_is_passed_over(segment: Path) -> None:
    assert verify([segment.with_name("00000000000000000009.log")]).segments == 0


def test_what_a_stage_notes_must_be_readable(tmp_path: Path) -> None:
    (tmp_path / "stage").mkdir()
    path = tmp_path / "stage" / "00000000000000000000.log"
    path.write_bytes(build_events([Cancelled((5,))], 17))
    assert verify([path]).findings == []
    path.write_bytes(build_batch([(b"\0\0\0\x7f", b"")], timestamp_ms=17, attributes=CONTROL_FLAG))
    (finding,) = verify([path]).findings
    assert "unknown kind 127" in finding.problem


def test_small_files_are_looked_at_too(tmp_path: Path) -> None:
    write_start_offset(OsFiles(), str(tmp_path), 17)
    file = tmp_path / "log-start"
    assert verify([file]).findings == []
    file.write_bytes(file.read_bytes()[:-1])
    assert "is damaged" in verify([file]).findings[0].problem
    (tmp_path / "stage-checkpoint").write_bytes(b"nonsense")
    assert "is damaged" in verify([tmp_path / "stage-checkpoint"]).findings[0].problem
    (tmp_path / "leader-epochs").write_bytes(b"nonsense")
    assert "is damaged" in verify([tmp_path / "leader-epochs"]).findings[0].problem
