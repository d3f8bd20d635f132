"""The log of an archive: what entries add up to, and what is refused."""

from dataclasses import replace

import pytest

from tools.pipelines.archive.entries import ArchiveDamaged, Entry, File, Part, State


def file(path: str, first: int = 0, last: int = 9) -> File:
    return File(path, "orders", 100, {0: Part(first, last, last - first + 1, "00ff")}, f"_staging/{path}")


def entry(number: int, start: int, end: int, *files: File) -> Entry:
    return Entry(
        number, "append", "run", 1, ranges={"orders": {0: (start, end)}}, topic_ids={"orders": "id"}, add=files
    )


def state() -> State:
    return State().apply(entry(0, 5, 15, file("a"))).apply(entry(1, 15, 20, file("b", 15, 19)))


def test_entries_add_up() -> None:
    found = state()
    assert (found.number, found.offsets, found.starts) == (1, {"orders": {0: 20}}, {"orders": {0: 5}})
    assert set(found.files) == {"a", "b"}


def test_texts_give_the_same_again() -> None:
    first = replace(entry(0, 5, 15, file("a")), gaps={"orders": {0: (1, 5)}})
    assert Entry.from_text("x", first.to_text()) == first
    assert State.from_text("x", state().to_text()) == state()


def test_compaction_replaces_files() -> None:
    compacted = Entry(2, "compact", "run", 1, add=(file("c", 0, 19),), remove=("a", "b"))
    assert set(state().apply(compacted).files) == {"c"}
    assert state().apply(compacted).offsets == state().offsets


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (entry(3, 20, 30), "entry 3 after entry 1"),
        (entry(2, 19, 30), "begins at offset 19 of orders-0, not at 20"),
        (entry(2, 21, 30), "begins at offset 21 of orders-0, not at 20"),
        (entry(2, 20, 30, file("a")), "adds a again"),
        (Entry(2, "compact", "run", 1, remove=("z",)), "removes z, which the archive does not have"),
    ],
)
def test_what_no_writer_leaves_is_refused(wrong: Entry, message: str) -> None:
    with pytest.raises(ArchiveDamaged, match=message):
        state().apply(wrong)


def test_a_gap_must_be_named() -> None:
    later = replace(entry(2, 25, 30), gaps={"orders": {0: (20, 25)}})
    assert state().apply(later).offsets == {"orders": {0: 30}}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 2}', '{"format": 1, "number": 0}'])
def test_what_is_no_entry_is_refused(text: str) -> None:
    with pytest.raises(ArchiveDamaged, match=r"_log/1\.json"):
        Entry.from_text("_log/1.json", text)
    with pytest.raises(ArchiveDamaged):
        State.from_text("_log/1.state", text)
