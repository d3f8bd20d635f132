"""The pipelines by spark-submit on a standalone cluster of two workers, which the tests start."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.spark.reading import numbered, send, slow
from compat_tests.spark.standalone import Standalone, standalone

pytestmark = [slow, pytest.mark.timeout(1000)]
MakeTopic = Callable[..., str]
RECORDS = 200


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def topic(bootstrap: str, make_topic: MakeTopic) -> str:
    name = make_topic(partitions=2)
    send(bootstrap, name, numbered(RECORDS, partitions=2))
    return name


def test_an_archive_is_written_audited_and_replayed(
    cluster: Standalone, bootstrap: str, topic: str, make_topic: MakeTopic, tmp_path: Path
) -> None:
    common = ["--bootstrap", bootstrap, "--archive", str(tmp_path / "lake")]
    status, said = cluster.ran("archive", *common, "--topics", topic)
    assert status == 0, said[-3000:]
    assert f"archive {RECORDS} rows" in said
    again = make_topic(partitions=2)
    status, said = cluster.ran("backfill", *common, "--topic", topic, "--to", again)
    assert status == 0, said[-3000:]
    assert f"{RECORDS} records of {topic} are in {again} now" in said
    status, said = cluster.ran("audit", *common, "--report", str(tmp_path / "audit.json"))
    assert status == 0, said[-3000:]


def test_usage_is_counted(cluster: Standalone, bootstrap: str, topic: str, tmp_path: Path) -> None:
    options = ["--bootstrap", bootstrap, "--topics", topic, "--output", str(tmp_path / "usage")]
    status, said = cluster.ran("usage", *options)
    assert status == 0, said[-3000:]
    assert (tmp_path / "usage" / "report.html").is_file(), said[-2000:]


@pytest.mark.parametrize("name", ["timelines", "dead-letters"])
def test_reports_are_made(cluster: Standalone, bootstrap: str, topic: str, tmp_path: Path, name: str) -> None:
    read = {"timelines": ["--events", topic], "dead-letters": ["--topics", topic]}[name]
    status, said = cluster.ran(name, "--bootstrap", bootstrap, "--output", str(tmp_path / name), *read)
    assert status == 0, said[-3000:]
    assert (tmp_path / name / "report.html").is_file(), said[-2000:]
