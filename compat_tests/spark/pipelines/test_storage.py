"""Files by Hadoop's own classes, on a real disk."""

from pathlib import Path
from typing import Any

import pytest

from tools.pipelines.storage import Storage


@pytest.fixture
def storage(spark: Any, tmp_path: Path) -> Storage:
    return Storage(spark, str(tmp_path / "a folder"))


def test_what_is_written_is_there(storage: Storage, tmp_path: Path) -> None:
    assert storage.names("x") == []
    assert storage.files("x") == {}
    storage.write("x/ü.txt", "größer\n")
    storage.write("x/ü.txt", "groß\n")
    assert (tmp_path / "a folder" / "x" / "ü.txt").read_text() == "groß\n"
    assert storage.read("x/ü.txt") == "groß\n"
    assert storage.exists("x")
    assert storage.names("x") == ["ü.txt"]
    assert storage.files("") == {"x/ü.txt": 6}
    storage.delete("x")
    storage.delete("x")
    assert not storage.exists("x/ü.txt")


def test_a_file_is_published_once(storage: Storage) -> None:
    assert storage.publish("_log/1.json", "first", "a")
    assert not storage.publish("_log/1.json", "second", "b")
    assert storage.read("_log/1.json") == "first"
    assert storage.names("_log") == ["1.json"]


def test_a_move_takes_the_place_of_what_was_there(storage: Storage) -> None:
    storage.write("new", "new")
    storage.write("deep/down/old", "old")
    storage.move("new", "deep/down/old")
    assert storage.files("") == {"deep/down/old": 3}
    assert storage.read("deep/down/old") == "new"
