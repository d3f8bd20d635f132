"""The guard of the hot path, and that it would bite."""

import json
import shutil
from pathlib import Path

import pytest

from tools.bench import callgrind, instructions
from tools.bench.instructions import COUNTED, TIMED, Costs, changes, complaints, record, recorded
from tools.bench.replay import CALIBRATION, loads

COSTS = {CALIBRATION: 100.0, "produce-small": 200.0, "fetch-batch": 300.0}
ANEW = "if that is meant, run `python -m tools.bench.instructions --record` and commit instructions.json"


@pytest.fixture(scope="module")
def measured() -> tuple[str, Costs]:
    """Once for all: counting takes long."""
    return instructions.measure()


def test_a_request_costs_what_was_recorded(measured: tuple[str, Costs]) -> None:
    kind, costs = measured
    before = recorded(kind)
    if before is None:
        pytest.skip(f"nothing is recorded for this version of Python: {ANEW}")
    assert set(costs) == {CALIBRATION, *(load.name for load in loads())}
    assert complaints(kind, costs, before) == [], ANEW


@pytest.mark.slow
@pytest.mark.skipif(not callgrind.available(), reason="instructions are counted with Valgrind")
def test_rules_cost_a_produce_next_to_nothing(measured: tuple[str, Costs]) -> None:
    """Two counts of the same differ by up to one in a hundred."""
    _, without = measured
    added = instructions.rules_add(without)
    assert added["produce-small"] <= instructions.MOST_FOR_RULES + 0.01, added
    assert added["produce-batch"] <= instructions.MOST_FOR_RULES + 0.01, added


def test_more_than_a_little_dearer_is_a_complaint() -> None:
    dearer = COSTS | {"produce-small": 232.0}
    (complaint,) = complaints(COUNTED, dearer, COSTS)
    assert complaint.startswith("produce-small: 232 instructions per request, +16.0 %")
    assert complaints(COUNTED, COSTS | {"produce-small": 228.0}, COSTS) == []


def test_much_cheaper_is_to_be_recorded_too() -> None:
    assert len(complaints(COUNTED, COSTS | {"fetch-batch": 200.0}, COSTS)) == 1


def test_another_build_of_python_does_not_matter() -> None:
    slower = {name: cost * 1.5 for name, cost in COSTS.items()}
    assert all(abs(change) < 1e-9 for change in changes(slower, COSTS).values())


def test_a_record_is_kept_by_version_and_kind(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"2.7": {COUNTED: {CALIBRATION: 1}}}))
    assert recorded(COUNTED, path) is None
    record(COUNTED, COSTS, path)
    record(TIMED, {CALIBRATION: 1.234}, path)
    assert recorded(COUNTED, path) == COSTS
    assert recorded(TIMED, path) == {CALIBRATION: 1.23}
    assert json.loads(path.read_text())["2.7"] == {COUNTED: {CALIBRATION: 1}}


def test_without_valgrind_cpu_time_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(instructions, "clock", lambda: COSTS)
    assert instructions.measure() == (TIMED, COSTS)


def test_outside_of_valgrind_nothing_is_counted() -> None:
    if not callgrind.available():
        pytest.skip("no Valgrind for this machine")
    with pytest.raises(RuntimeError, match="does not run under Valgrind"):
        callgrind.Counter()
