"""What a pipeline tells of its progress."""

from pathlib import Path

import pytest

from tools.pipelines.progress import Progress


def test_lines_tell_rows_rate_and_lag(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 2.0, 4.0])
    progress = Progress("archive", clock=lambda: next(times))
    progress.batch(1000, {"a": {0: 1000}}, {"a": {0: 1500, 1: 7}})
    progress.batch(500, {"a": {0: 1500}}, {"a": {0: 1500}})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "archive 1,000 rows, 500/s, 500 behind the end, 2.0 s"
    assert lines[1] == "archive 1,500 rows, 250/s, 0 behind the end, 4.0 s"


def test_metrics_are_a_file_for_prometheus(tmp_path: Path) -> None:
    progress = Progress("archive", str(tmp_path / "archive.prom"), quiet=True)
    progress.batch(3, {"a": {0: 3}}, {"a": {0: 5}})
    assert (tmp_path / "archive.prom").read_text() == (
        "# TYPE tidegate_pipeline_rows_total counter\n"
        'tidegate_pipeline_rows_total{pipeline="archive"} 3\n'
        "# TYPE tidegate_pipeline_offset gauge\n"
        'tidegate_pipeline_offset{pipeline="archive",topic="a",partition="0"} 3\n'
        "# TYPE tidegate_pipeline_lag gauge\n"
        'tidegate_pipeline_lag{pipeline="archive",topic="a",partition="0"} 2\n'
    )
    assert [path.name for path in tmp_path.iterdir()] == ["archive.prom"]
