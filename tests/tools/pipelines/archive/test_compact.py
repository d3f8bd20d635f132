"""Which files are worth writing anew, and how their content is compared."""

from tools.pipelines.archive.compact import content, due
from tools.pipelines.archive.entries import File, Part, State


def file(path: str, size: int, first: int = 0, checksum: str = "0f") -> File:
    return File(path, "orders", size, {0: Part(first, first + 9, 10, checksum)}, "")


def test_folders_with_enough_small_files() -> None:
    files = [file("h=1/a", 10), file("h=1/b", 10), file("h=1/c", 900), file("h=2/a", 10), file("h=3/a", 900)]
    state = State(files={each.path: each for each in files})
    assert [[each.path for each in found] for found in due(state, 2, 100)] == [["h=1/a", "h=1/b"]]
    assert due(state, 3, 100) == []
    assert due(state, 1, 100) == due(state, 2, 100)


def test_content_is_the_same_in_one_file_or_several() -> None:
    apart = [file("a", 1, 0, "0f"), file("b", 1, 10, "f1")]
    whole = [File("c", "orders", 2, {0: Part(0, 19, 20, "fe")}, "")]
    assert content(apart) == content(whole)
    assert content(apart) != content(apart[:1])
