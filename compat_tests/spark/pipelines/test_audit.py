"""`audit`: silent about an archive that is right, and precise about one that is not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.clients.base import Record
from compat_tests.spark.pipelines.running import committed, run
from compat_tests.spark.reading import delete_before, numbered, send, slow
from compat_tests.transactions.writers import confluent
from tools.pipelines.archive.log import ArchiveLog
from tools.pipelines.options import DIFFERENT, OK, PipelineError
from tools.pipelines.storage import Storage

MakeTopic = Callable[..., str]


@pytest.fixture(scope="module")
def sound(spark: Any, bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A topic of two partitions with gaps in one, and an archive of it; records of it are deleted since."""
    from compat_tests.admin import create_topic
    from compat_tests.conftest import unique_name

    topic, folder = unique_name("audited"), tmp_path_factory.mktemp("audit") / "archive"
    create_topic(bootstrap, topic, 2)
    send(bootstrap, topic, numbered(60, partitions=2))
    confluent(bootstrap, topic, topic, [(["60", "61"], True), (["x"], False)])
    run("archive", bootstrap, archive=str(folder), topics=[topic])
    delete_before(bootstrap, topic, 10, partition=1)
    send(bootstrap, topic, [Record(b"later", partition=1)])
    return topic, folder


@pytest.fixture
def archive(sound: tuple[str, Path], tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(sound[1], tmp_path / "copy"))


def audit(bootstrap: str, archive: Path, tmp_path: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    report = tmp_path / "report.json"
    status = run("audit", bootstrap, archive=str(archive), report=str(report), **options)
    return status, json.loads(report.read_text())


def rewrite(spark: Any, archive: Path, change: Callable[[Any], Any]) -> None:
    """Changes the records of the archive's only file, and has its log say that all is well."""
    log = ArchiveLog(Storage(spark, str(archive)))
    (file,) = log.state.files.values()
    place = archive / file.path
    change(spark.read.parquet(str(place))).coalesce(1).write.parquet(str(archive / "_changed"))
    (changed,) = (archive / "_changed").glob("*.parquet")
    shutil.move(changed, place)
    (place.parent / f".{place.name}.crc").unlink(missing_ok=True)
    entry = archive / "_log" / f"{0:020d}.json"
    content = json.loads(entry.read_text())
    content["add"][0]["bytes"] = place.stat().st_size
    entry.write_text(json.dumps(content))
    (entry.parent / f".{entry.name}.crc").unlink(missing_ok=True)


def test_an_archive_that_is_right(
    spark: Any, bootstrap: str, sound: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, folder = sound
    status, report = audit(bootstrap, folder, tmp_path, bucket=7, group=f"auditor-of-{topic}")
    assert committed(bootstrap, f"auditor-of-{topic}") == {(topic, 0): 35, (topic, 1): 30}
    assert (status, report["same"], report["files"]) == (OK, True, [])
    assert [(each["compared"], each["rows"], each["behind"]) for each in report["verdicts"]] == [
        ([0, 35], 32, 0),
        ([10, 30], 30, 1),
    ]
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{topic}-0: 32 records, compared from offset 0 to 34: the same"
    assert told[1] == f"{topic}-1: 30 records, compared from offset 10 to 29, 1 not archived yet: the same"


def test_missing_altered_and_duplicated_records(
    spark: Any, bootstrap: str, sound: tuple[str, Path], archive: Path, tmp_path: Path
) -> None:
    def change(records: Any) -> Any:
        kept = records.where("NOT (partition = 0 AND offset IN (3, 4, 31))")
        other = "CASE WHEN partition = 1 AND offset = 20 THEN CAST('y' AS BINARY) ELSE value END"
        altered = kept.selectExpr(*[f"{other} AS value" if name == "value" else name for name in kept.columns])
        return altered.union(kept.where("partition = 0 AND offset = 7"))

    rewrite(spark, archive, change)
    status, report = audit(bootstrap, archive, tmp_path, samples=2, bucket=10)
    assert status == DIFFERENT
    first, second = report["verdicts"]
    assert first["faults"] == {"missing": 3, "duplicated": 1}
    assert first["samples"] == {"missing": [3, 4], "duplicated": [7]}
    assert (second["faults"], second["samples"]) == ({"altered": 1}, {"altered": [20]})
    assert len(report["files"]) == 1
    assert "does not hold what the archive's log says" in report["files"][0]


def test_files_that_are_gone_and_files_that_are_foreign(
    spark: Any, bootstrap: str, archive: Path, tmp_path: Path
) -> None:
    (file,) = archive.rglob("topic=*/**/*.parquet")
    file.rename(file.with_name("other.parquet"))
    status, report = audit(bootstrap, archive, tmp_path)
    assert status == DIFFERENT
    assert [line.split(": ")[1] for line in report["files"]] == ["is no file of the archive", "is gone"]
    assert report["verdicts"][0]["faults"] == {"missing": 32}


@slow
def test_a_record_below_the_topics_beginning_is_held_against_the_log(
    spark: Any, bootstrap: str, archive: Path, tmp_path: Path
) -> None:
    rewrite(spark, archive, lambda records: records.where("NOT (partition = 1 AND offset = 5)"))
    status, report = audit(bootstrap, archive, tmp_path)
    assert status == DIFFERENT
    assert [each["faults"] for each in report["verdicts"]] == [{}, {}]
    assert len(report["files"]) == 1


def test_no_archive(spark: Any, bootstrap: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="there is no archive in"):
        run("audit", bootstrap, archive=str(tmp_path))
