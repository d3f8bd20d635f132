"""The pages are made of the results and the notes."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.bench import page
from tools.bench.plot import draw
from tools.bench.results import Measurement, Results
from tools.bench.rows import ROWS

FIGURES = {"records_per_s": 10.0, "p99_ms": 4.0, "cpu_s_per_1000": 0.1, "memory_mb": 40.0}


def _results(scale: float = 1.0) -> Results:
    results = Results({"CPU": "two cores"}, scale)
    for broker, factor in (("tidegate", 2.0), ("tidegate-os", 1.0), ("kafka", 1.0)):
        figures = {name: value * factor for name, value in FIGURES.items()}
        results.add(Measurement("produce-1k-native", broker, 1, figures))
    return results


def test_a_page_has_machine_ratio_goal_and_note() -> None:
    results = _results()
    assert "| CPU | two cores |" in page.summary(results)
    assert "Sizes were" not in page.summary(results)
    shown = page.details(results, {"produce-1k-native": "the disk"})
    assert "| records/s | 20 | 10 | 10 | 2.00 ✓ | ≥ 1.2 | 1.00 ✗ | ≥ 1.2 |" in shown
    assert "Held back by: the disk" in shown


def test_the_overview_has_both_ratios_and_how_many_goals_are_met() -> None:
    shown = page.summary(_results())
    assert "| native | 2.00 / 1.00 ✗ | 2.00 ✗ / 1.00 ✗ | 2.00 ✗ / 1.00 ✗ | 2.00 ✗ / 1.00 ✗ | 1 of 8 ✗ |" in shown


def test_a_missed_goal_without_a_note_says_so() -> None:
    assert "Held back by: not looked into yet." in page.details(_results(), {})


def test_a_quick_look_is_marked() -> None:
    assert "Sizes were 0.5 of those named" in page.summary(_results(0.5))


def test_without_figures_the_page_says_so() -> None:
    shown = page.summary(Results({}))
    assert "Nothing has been measured" in shown
    assert "goals met" not in shown


def test_a_row_that_was_not_run_is_left_out_and_a_failed_one_shown() -> None:
    results = _results()
    results.add(Measurement("crash", "kafka", 1, error="no disk\nmore"))
    shown = page.details(results, {})
    assert "### crash" in shown
    assert "Kafka failed: `no disk`" in shown
    assert "### fan-out" not in shown


def test_a_note_on_no_row_is_refused(tmp_path: Path) -> None:
    notes = tmp_path / "notes.toml"
    notes.write_text('produce-9k = "x"\n')
    with pytest.raises(SystemExit, match="produce-9k"):
        page.load_notes(notes)


def test_writing_makes_a_summary_with_a_plot_and_a_page_of_every_figure(tmp_path: Path) -> None:
    source = tmp_path / "run.json"
    _results().save(source)
    page.main([str(source), "--docs", str(tmp_path), "--details", str(tmp_path / "build")])
    assert "### produce-1k-native" in (tmp_path / "build" / page.PAGE).read_text()
    ElementTree.fromstring((tmp_path / page.PLOT).read_text())
    assert page.PLOT in (tmp_path / page.PAGE).read_text()


def test_the_plot_has_a_dot_per_ratio() -> None:
    assert draw(_results(), ROWS).count("h0") == 2 * len(FIGURES)


def test_the_summary_in_docs_is_of_the_rows_that_there_are() -> None:
    shown = re.findall(
        r"^\| ([a-z0-9-]+) \| (?:Java|native|none) \|", (page.DOCS / page.PAGE).read_text(), re.MULTILINE
    )
    assert shown == [row.name for row in ROWS if row.name in shown]
    assert len(shown) > len(ROWS) // 2
