"""Reading a partition's files; test_log.py has them from a broker and from the command line."""

from pathlib import Path

import pytest

from engine.index import IndexTrailer, SparseIndex
from engine.records import build_batch
from tools.cli.errors import NotFound
from tools.cli.log_files import files_under, index_rows, place_name, topic_names, verify


def test_files_are_found_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "topics" / "a").mkdir(parents=True)
    for name in ("1.log", "1.index", "1.snapshot", "notes.txt"):
        (tmp_path / "topics" / "a" / name).write_bytes(b"")
    assert [each.name for each in files_under(tmp_path)] == ["1.index", "1.log", "1.snapshot"]
    assert files_under(tmp_path / "topics" / "a" / "1.log") == [tmp_path / "topics" / "a" / "1.log"]
    with pytest.raises(NotFound):
        files_under(tmp_path / "gone")


def test_a_folder_without_a_catalogue_has_no_names(tmp_path: Path) -> None:
    assert topic_names(tmp_path) == {}
    (tmp_path / "catalogue.sqlite").write_bytes(b"not a database at all, but long enough")
    assert topic_names(tmp_path) == {}


def test_a_place_is_told_by_the_topics_name() -> None:
    path = Path("data/topics/abc/0/stage/1.log")
    assert place_name(path, {"abc": "orders"}) == "orders-0/stage/1.log"
    assert place_name(path, {}) == str(path)


def test_the_entries_of_an_index_are_offsets(tmp_path: Path) -> None:
    index = SparseIndex()
    index.add(5, 100, 17)
    (tmp_path / "00000000000000001000.index").write_bytes(bytes(index.entries))
    row = {"offset": 1005, "position": 100, "max_timestamp_before_ms": 17}
    assert index_rows(tmp_path / "00000000000000001000.index") == [row]
    (tmp_path / "00000000000000001000.log").write_bytes(b"x" * 200)
    sealed = index.seal(IndexTrailer(17, 0, 17, 200, False))
    (tmp_path / "00000000000000001000.index").write_bytes(sealed)
    assert index_rows(tmp_path / "00000000000000001000.index") == [row]


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
