"""Results survive a stop: written after each measurement, and gone on with."""

from pathlib import Path

import pytest

from tools.bench.results import Measurement, Results, ResultsUnreadable


def test_each_measurement_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.json"
    results = Results({"CPU": "one"}, path=path)
    results.add(Measurement("idle", "kafka", 1, {"start_s": 3.0}))
    read = Results.load(path)
    assert read.machine == {"CPU": "one"}
    assert read.of("idle", "kafka") == [{"start_s": 3.0}]
    assert read.has("idle", "kafka", 1)
    assert not read.has("idle", "kafka", 2)


def test_a_failed_measurement_is_made_again_and_replaced() -> None:
    results = Results({})
    results.add(Measurement("idle", "kafka", 1, error="no Java"))
    assert not results.has("idle", "kafka", 1)
    assert results.errors("idle") == {"kafka": "no Java"}
    results.add(Measurement("idle", "kafka", 1, {"start_s": 3.0}))
    assert results.errors("idle") == {}
    assert len(results.measurements) == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"machine": {}, "scale": 1, "measurements": [{"row": 1}]}'])
def test_another_file_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ResultsUnreadable, match=r"other\.json"):
        Results.load(path)


def test_it_is_told_where_some_rows_were_measured_more_often() -> None:
    results = Results({})
    assert results.rounds() == "0 rounds"
    results.add(Measurement("idle", "kafka", 1))
    assert results.rounds() == "1 round"
    results.add(Measurement("crowd", "kafka", 1))
    results.add(Measurement("crowd", "kafka", 2))
    assert results.rounds() == "1 to 2 rounds"
