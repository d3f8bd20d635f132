"""The whole way in small: a row is measured on a real broker, saved, shown, and not measured again."""

from pathlib import Path

import pytest

from tools.bench.__main__ import main
from tools.bench.clients import native
from tools.bench.results import Results


def _run(path: Path, row: str) -> int:
    return main(["--quick", "--rounds", "1", "--brokers", "tidegate", "--rows", row, "--json", str(path)])


def test_a_quick_look_at_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    assert _run(path, "idle") == 0
    (figures,) = Results.load(path).of("idle", "tidegate")
    assert figures["start_s"] > 0
    assert figures["idle_mb"] > 1
    assert "start to ready s" in capsys.readouterr().out
    assert _run(path, "idle") == 0
    assert "round 1" not in capsys.readouterr().out


@pytest.mark.skipif(not native.available(), reason="the native load generator needs Go")
def test_the_native_client_loads_a_broker(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    assert _run(path, "produce-1k-native") == 0
    (figures,) = Results.load(path).of("produce-1k-native", "tidegate")
    assert figures["records_per_s"] > 0
    assert 0 < figures["p50_ms"] <= figures["p99_ms"] <= figures["p999_ms"]


def test_results_of_another_size_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results({}).save(path)
    with pytest.raises(SystemExit, match=r"scale 1, not 0\.01"):
        _run(path, "idle")


def test_a_scale_beyond_the_sizes_is_refused() -> None:
    with pytest.raises(SystemExit, match="--scale 2"):
        main(["--scale", "2"])


def test_rows_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert "growth-pending" in capsys.readouterr().out
