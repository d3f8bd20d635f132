"""What a pipeline tells of its progress."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.pipelines.progress import Progress


def ticking(*times: float) -> "Iterator[float]":
    yield from times
    while True:
        yield times[-1]


def with_clock(*times: float, **named: object) -> Progress:
    clock = ticking(*times)
    return Progress("archive", clock=lambda: next(clock), **named)  # type: ignore[arg-type]


def test_lines_tell_rows_rate_and_lag(capsys: pytest.CaptureFixture[str]) -> None:
    progress = with_clock(0.0, 2.0, 2.0, 4.0)
    progress.batch(1000, {"a": {0: 1000}}, {"a": {0: 1500, 1: 7}})
    progress.batch(500, {"a": {0: 1500}}, {"a": {0: 1500}})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "archive 1,000 rows, 500/s, 500 behind the end, 2.0 s"
    assert lines[1] == "archive 1,500 rows, 375/s, 0 behind the end, 4.0 s"


def test_several_topics_have_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    progress = with_clock(0.0, 2.0)
    progress.begin({"a": {0: 100}, "b": {0: 0, 1: 0}}, {"a": {0: 300}, "b": {0: 10, 1: 10}})
    progress.batch(110, {"a": {0: 200}, "b": {0: 10}}, {"a": {0: 300}})
    assert capsys.readouterr().err.splitlines()[1:] == [
        "archive   a: 100 read, 50/s, 100 behind the end",
        "archive   b: 10 read, 5/s, 10 behind the end",
    ]


def test_before_the_first_batch_it_is_known_what_is_behind() -> None:
    progress = with_clock(0.0)
    progress.begin({"a": {0: 5}}, {"a": {0: 25}})
    (topic,) = progress.topics()
    assert (topic.read, topic.at, topic.end, topic.lag, topic.share) == (0, 5, 25, 20, 0.0)


def test_new_ends_do_not_make_it_slow() -> None:
    progress = with_clock(0.0, 1.0, 60.0)
    progress.begin({"a": {0: 0}}, {"a": {0: 10}})
    progress.observe({"a": {0: 10}}, {"a": {0: 10}}, rows=10)
    progress.observe({}, {"a": {0: 50}})
    assert progress.rows_per_second == 10
    assert progress.total_lag == 40


def test_rates_are_of_the_last_seconds() -> None:
    progress = with_clock(0.0, 10.0, 30.0, 40.0)
    for reached in (1000, 1100, 1200):
        progress.observe({"a": {0: reached}}, {"a": {0: 5000}}, rows=100)
    assert progress.rows_per_second == pytest.approx(200 / 30)


def test_only_topics_that_are_read_now_are_shown() -> None:
    progress = with_clock(0.0, 1.0)
    progress.observe({"a": {0: 5}, "archived-before": {0: 9}}, {"a": {0: 5}})
    assert [topic.name for topic in progress.topics()] == ["a"]


def test_a_later_round_does_not_count_earlier_rows_again() -> None:
    progress = with_clock(0.0, 10.0, 40.0, 50.0)
    for reached in (1000, 2000):
        progress.observe({"a": {0: reached}}, {"a": {0: 5000}}, rows=1000)
    progress.begin({"a": {0: 2000}}, {"a": {0: 5000}})
    progress.observe({"a": {0: 2100}}, {"a": {0: 5000}}, rows=100)
    assert progress.rows_per_second == pytest.approx(1100 / 40)


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("archive", quiet=True) as progress:
        progress.batch(1, {"a": {0: 1}}, {"a": {0: 1}})
        progress.say("done")
    assert capsys.readouterr().err == ""


def test_metrics_are_a_file_for_prometheus(tmp_path: Path) -> None:
    progress = with_clock(0.0, 1.0, metrics_file=str(tmp_path / "archive.prom"), quiet=True)
    progress.batch(3, {"a": {0: 3}}, {"a": {0: 5}})
    assert (tmp_path / "archive.prom").read_text() == (
        "# TYPE tidegate_pipeline_rows_total counter\n"
        'tidegate_pipeline_rows_total{pipeline="archive"} 3\n'
        "# TYPE tidegate_pipeline_rows_per_second gauge\n"
        'tidegate_pipeline_rows_per_second{pipeline="archive"} 3.000\n'
        "# TYPE tidegate_pipeline_offset gauge\n"
        'tidegate_pipeline_offset{pipeline="archive",topic="a",partition="0"} 3\n'
        "# TYPE tidegate_pipeline_lag gauge\n"
        'tidegate_pipeline_lag{pipeline="archive",topic="a",partition="0"} 2\n'
    )
    assert [path.name for path in tmp_path.iterdir()] == ["archive.prom"]
