"""The loads of the other doors, each on a real broker, in small."""

from collections.abc import Iterator

import pytest

from tools.bench.brokers import TIDEGATE, tidegate_subject
from tools.bench.loads import doors
from tools.bench.nats import nats_server
from tools.bench.rows import DOOR_LOADS
from tools.bench.trial import Trial

RECORDS = 1_100


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with tidegate_subject(TIDEGATE, doors.DOORS) as subject:
        yield Trial(subject)


@pytest.mark.slow
@pytest.mark.parametrize("load", [*(load for load in DOOR_LOADS if load != "sse"), "text-publish"])
def test_every_record_is_written_or_read(trial: Trial, load: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "TOPIC", f"doors-{load}")
    monkeypatch.setattr(doors, "WARM", f"warm-{load}")
    figures = doors.through(trial, load, RECORDS, 10)
    assert figures["records_per_s"] > 0
    assert figures["cpu_s"] >= 0


def test_without_go_there_is_no_peer(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setattr("tools.bench.nats.FOLDER", tmp_path_factory.mktemp("none"))
    monkeypatch.setenv("PATH", "")
    with nats_server() as server:
        assert server is None
