"""How far a table is, as its commits say it."""

import pytest

from tools.pipelines.archive.entries import ArchiveDamaged
from tools.pipelines.tables.reached import Reached, after

FIRST = after(None, "orders", "id", "run", {0: (5, 9), 1: (0, 0)}, {})


def test_a_commit_goes_on_where_the_one_before_ended() -> None:
    second = after(FIRST, "orders", "id", "other", {0: (9, 12), 2: (0, 1)}, {})
    assert (FIRST.number, second.number, second.run) == (0, 1, "other")
    assert second.starts == {0: 5, 1: 0, 2: 0}
    assert second.offsets == {0: 12, 1: 0, 2: 1}


def test_a_gap_must_be_known() -> None:
    assert after(FIRST, "orders", "id", "run", {0: (11, 12)}, {0: (9, 11)}).offsets[0] == 12
    with pytest.raises(ArchiveDamaged, match="begins at offset 11 of orders-0, not at 9"):
        after(FIRST, "orders", "id", "run", {0: (11, 12)}, {})


def test_it_is_read_as_it_was_written() -> None:
    assert Reached.from_text("a table", FIRST.to_text()) == FIRST


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tidegate-archive": 1}', '{"tidegate-archive": 2}'])
def test_what_it_cannot_know_is_refused(text: str) -> None:
    with pytest.raises(ArchiveDamaged, match="a table"):
        Reached.from_text("a table", text)
