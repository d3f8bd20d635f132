"""Files where the data lies, over Hadoop's interface."""

from pathlib import Path

import pytest

from tests.tools.pipelines import jvm
from tools.pipelines.storage import Storage


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(jvm.session(), str(tmp_path / "a"))


def test_names_are_relative_to_the_root(storage: Storage, tmp_path: Path) -> None:
    assert storage.root == f"file:{tmp_path}/a"
    assert storage.path("x/y") == f"file:{tmp_path}/a/x/y"
    assert storage.path("") == storage.root


def test_what_is_written_is_there(storage: Storage) -> None:
    storage.write("x/b", "first")
    storage.write("x/b", "größer")
    storage.write("x/a", "1")
    assert storage.read("x/b") == "größer"
    assert storage.names("x") == ["a", "b"]
    assert storage.files("") == {"x/a": 1, "x/b": 8}


def test_what_is_not_there_is_empty(storage: Storage) -> None:
    assert not storage.exists("x")
    assert storage.names("x") == []
    assert storage.files("x") == {}
    storage.delete("x")


def test_a_file_is_published_once_and_leaves_no_draft(storage: Storage) -> None:
    assert storage.publish("_log/1.json", "first", "a")
    assert not storage.publish("_log/1.json", "second", "b")
    assert storage.read("_log/1.json") == "first"
    assert storage.names("_log") == ["1.json"]


def test_what_else_goes_wrong_with_publishing_is_told(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(jvm.Files, "rename", full)
    with pytest.raises(OSError, match="no space left"):
        storage.publish("_log/1.json", "first", "a")
    assert storage.names("_log") == []


def test_a_move_makes_folders_and_takes_the_place_of_what_was_there(storage: Storage) -> None:
    storage.write("new", "new")
    storage.write("deep/old", "old")
    storage.move("new", "deep/old")
    assert storage.files("") == {"deep/old": 3}
    storage.move("deep/old", "other/place")
    assert storage.read("other/place") == "new"
