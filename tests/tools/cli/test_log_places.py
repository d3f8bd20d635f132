"""Whose files these are; test_log.py has a data directory that a broker has written."""

from pathlib import Path

import pytest

from tools.cli.errors import NotFound, UsageMistake
from tools.cli.log_places import Place, folders, place_of, segments, topic_names


def test_a_folder_without_a_catalogue_has_no_names(tmp_path: Path) -> None:
    assert topic_names(tmp_path / "none") == {}
    (tmp_path / "catalogue.sqlite").write_bytes(b"not a database at all, but long enough")
    assert topic_names(tmp_path) == {}


def test_a_place_is_told_by_the_folders() -> None:
    assert place_of(Path("data/topics/abc/3/1.log")) == Place("abc", 3)
    assert place_of(Path("data/topics/abc/0/stage/1.log")) == Place("abc", 0, True)
    assert place_of(Path("kafka-logs/my-orders-12/1.log")) == Place("my-orders", 12)
    assert place_of(Path("elsewhere/1.log")) is None
    assert Place("abc", 0, True).name == "abc-0/stage"


def test_segments_are_those_of_a_folder_or_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "stage").mkdir()
    for name in ("2.log", "1.log", "1.index", "stage/7.log"):
        (tmp_path / name).write_bytes(b"")
    assert [each.name for each in segments(tmp_path, None, (), stage=False)] == ["1.log", "2.log"]
    assert [each.name for each in segments(tmp_path, None, (), stage=True)] == ["7.log"]
    assert segments(tmp_path / "1.index", None, (), stage=False) == [tmp_path / "1.index"]


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no"):
        segments(tmp_path / "gone", None, (), stage=False)
    with pytest.raises(NotFound, match="has no segments"):
        segments(tmp_path, None, (), stage=False)
    with pytest.raises(NotFound, match="no topic 'orders'"):
        folders(tmp_path, "orders", ())
    (tmp_path / "catalogue.sqlite").write_bytes(b"")
    with pytest.raises(UsageMistake, match="which topic"):
        segments(tmp_path, None, (), stage=False)
