"""What a campaign found is kept and shown."""

from pathlib import Path

from tools.fuzz.cost.genomes import Genome
from tools.fuzz.cost.search import Bounds, Finding, Worst
from tools.fuzz.cost.subject import Cost
from tools.fuzz.cost.table import BEGIN, END, load, merged, row, save, written_into

METADATA = 3


def _finding(stall_ms: float, growth_bytes: int = 0, answer_bytes: int = 0, outcome: str = "answered") -> Finding:
    cost = Cost(outcome, 1 << 20, answer_bytes, growth_bytes, stall_ms)  # type: ignore[arg-type]
    return Finding(METADATA, 9, Genome("topics", {}, {}), cost)


def test_each_figure_is_the_worst_of_its_kind() -> None:
    worst = Worst(METADATA, 9, [_finding(40.0), _finding(3.0, 5 << 20), _finding(1.0, 0, 2048)])
    found = row(worst)
    assert (found.api, found.stall_ms, found.growth_mib, found.answer_kib) == ("metadata", 40.0, 5.0, 2.0)
    assert worst.complaints(Bounds()) == []


def test_what_breaks_a_bound_is_a_complaint() -> None:
    slow, large, silent = _finding(51.0), _finding(1.0, 50 << 20), _finding(1.0, outcome="silent")
    worst = Worst(METADATA, 9, [_finding(49.0), slow, large, silent])
    assert worst.complaints(Bounds()) == [large, silent, slow]


def test_a_newer_row_replaces_the_older_one(tmp_path: Path) -> None:
    old, new = row(Worst(METADATA, 9, [_finding(40.0)])), row(Worst(METADATA, 9, [_finding(4.0)]))
    save(tmp_path / "costs.json", merged(load(tmp_path / "costs.json"), [old]))
    save(tmp_path / "costs.json", merged(load(tmp_path / "costs.json"), [new]))
    assert load(tmp_path / "costs.json") == [new]


def test_the_table_stands_between_its_marks() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    written = written_into(page, [row(Worst(METADATA, 9, [_finding(40.0)]))])
    assert written.startswith("before\n")
    assert written.endswith("after\n")
    assert "old" not in written
    assert "| metadata | 9 | 1 | 40.0 |" in written
