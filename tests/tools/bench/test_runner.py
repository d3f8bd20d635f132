"""The run: every broker begins in turn, what is there is not repeated, a failure stops nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tools.bench import runner
from tools.bench.brokers import Subject
from tools.bench.results import Measurement, Results
from tools.bench.rows import Row
from tools.bench.runner import Plan, run
from tools.bench.trial import Trial


def _good(trial: Trial) -> dict[str, float]:
    return {"start_s": trial.scaled(100)}


def _bad(trial: Trial) -> dict[str, float]:
    raise ValueError(f"{trial.subject.name} broke")


GOOD, BAD = Row("good", "Section", "works", _good), Row("bad", "Section", "breaks", _bad)


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    @contextmanager
    def subject(name: str) -> Iterator[Subject]:
        names.append(name)
        yield Subject(name, "nowhere:0", 0, 0.0, lambda: 0)

    for name in ("tidegate", "kafka"):
        monkeypatch.setitem(runner.SUBJECTS, name, lambda name=name: subject(name))
    return names


def test_who_begins_changes() -> None:
    plan = Plan([GOOD, BAD], ["tidegate", "kafka"], rounds=2)
    first = {(number, row.name): broker for number, row, broker in reversed(list(plan.steps()))}
    assert first[1, "good"] != first[2, "good"]
    assert first[1, "good"] != first[1, "bad"]


def test_a_row_is_run_only_on_its_brokers() -> None:
    row = Row("ours", "Section", "ours alone", _good, brokers=("tidegate",))
    assert [broker for _, _, broker in Plan([row], ["tidegate", "kafka"], 1).steps()] == ["tidegate"]


def test_a_failing_row_is_reported_and_the_others_go_on() -> None:
    results, said = Results({}), []
    failed = run(Plan([BAD, GOOD], ["kafka"], 1, scale=0.5), results, said.append)
    assert failed == 1
    assert results.of("good", "kafka") == [{"start_s": 50}]
    assert "kafka broke" in results.errors("bad")["kafka"]
    assert any("FAILED" in line for line in said)


def test_what_was_measured_is_not_repeated(started: list[str]) -> None:
    results = Results({}, measurements=[Measurement("good", "kafka", 1, {"start_s": 1.0})])
    run(Plan([GOOD], ["tidegate", "kafka"], 1), results, lambda line: None)
    assert started == ["tidegate"]


def test_what_the_host_disturbed_is_measured_again_and_the_best_counts(started: list[str]) -> None:
    taken = iter([0.4, 0.2, 0.3, 0.05])
    row = Row("disturbed", "Section", "works", lambda _: {"stolen": next(taken), "start_s": 1.0})
    results = Results({})
    run(Plan([row], ["tidegate", "kafka"], 1), results, lambda line: None)
    first, second = started[0], started[-1]
    assert started == [first] * 3 + [second]
    assert results.of("disturbed", first) == [{"stolen": 0.2, "start_s": 1.0}]
    assert results.of("disturbed", second) == [{"stolen": 0.05, "start_s": 1.0}]


def test_an_earlier_checkout_is_measured_on_the_rows_of_this_one() -> None:
    plan = Plan([GOOD], ["tidegate-before", "tidegate"], 1)
    assert sorted(broker for _, _, broker in plan.steps()) == ["tidegate", "tidegate-before"]
    kafkas = Row("theirs", "Section", "theirs alone", _good, brokers=("kafka",))
    assert list(Plan([kafkas], ["tidegate-before"], 1).steps()) == []
