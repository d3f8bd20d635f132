"""Archive, audit, backfill and usage on an object store that speaks S3's API: what a disk promises by its renames, the
store promises by its conditions."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compat_tests.clients.base import Record
from compat_tests.conftest import unique_name
from compat_tests.spark.object_store import Application, ObjectStore, moto, store
from compat_tests.spark.pipelines.running import committed, run
from compat_tests.spark.reading import numbered, send, slow
from tools.pipelines.archive.log import ArchiveLog, Overtaken
from tools.pipelines.objects import ObjectStorage, storage_at
from tools.pipelines.options import PipelineError

__all__ = ["store"]
MakeTopic = Callable[..., str]
HOUR_MS = 3_600_000
BASE_MS = 1_760_000_400_000


@pytest.fixture
def told(spark: Any, store: ObjectStore) -> Iterator[ObjectStore]:
    """The server, of which the session's Hadoop knows."""
    with knowing(spark, store):
        yield store


@contextmanager
def knowing(spark: Any, store: ObjectStore) -> Iterator[None]:
    """The session's Hadoop knows of a server for as long as the block runs."""
    configuration = spark._jsc.hadoopConfiguration()
    before = {name: configuration.get(name) for name in store.settings}
    for name, value in store.settings.items():
        configuration.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            configuration.unset(name) if value is None else configuration.set(name, value)


@pytest.fixture
def bucket(told: ObjectStore) -> str:
    """A bucket of the test's own."""
    return told.make(unique_name("lake").lower().replace("_", "-"))


def values(spark: Any, folder: str) -> Counter[int]:
    """How often each value is found by anybody who just reads the folder."""
    rows = spark.read.option("mergeSchema", "true").parquet(folder).select("value").collect()
    return Counter(int(row.value) for row in rows)


def once(count: int) -> Counter[int]:
    return Counter(range(count))


def test_what_is_written_is_there(spark: Any, bucket: str) -> None:
    storage = storage_at(spark, f"{bucket}/a folder")
    assert isinstance(storage, ObjectStorage)
    assert storage.names("x") == []
    assert storage.files("x") == {}
    storage.write("x/ü.txt", "größer\n")
    storage.write("x/ü.txt", "groß\n")
    assert storage.read("x/ü.txt") == "groß\n"
    assert storage.names("x") == ["ü.txt"]
    storage.move("x/ü.txt", "deep/down/old")
    assert storage.files("") == {"deep/down/old": 6}
    storage.delete("deep")
    storage.delete("deep")
    assert not storage.exists("deep/down/old")


def test_of_many_writers_one_publishes(spark: Any, bucket: str) -> None:
    storages = [storage_at(spark, bucket) for _ in range(4)]
    for number in range(5):
        name = f"_log/{number}.json"
        with ThreadPoolExecutor(len(storages)) as together:
            texts = [f"writer {each}" for each in range(len(storages))]
            waiting = [
                together.submit(each.publish, name, text, "") for each, text in zip(storages, texts, strict=True)
            ]
        won = [each.result() for each in waiting]
        assert sum(won) == 1
        assert storages[0].read(name) == texts[won.index(True)]


def test_who_heard_no_answer_and_tries_again_knows_its_own(spark: Any, bucket: str) -> None:
    storage = storage_at(spark, bucket)
    assert storage.publish("_log/1.json", "ours", "a")
    assert storage.publish("_log/1.json", "ours", "a")
    assert not storage.publish("_log/1.json", "theirs", "b")


def test_a_store_that_overwrites_is_refused(spark: Any, store: ObjectStore) -> None:
    def heedless(app: Application) -> Application:
        def without_conditions(environ: dict[str, Any], start_response: Any) -> Any:
            environ.pop("HTTP_IF_NONE_MATCH", None)
            return app(environ, start_response)

        return without_conditions

    with moto(heedless) as endpoint, knowing(spark, ObjectStore(endpoint)):
        storage = storage_at(spark, ObjectStore(endpoint).make("heedless"))
        with pytest.raises(PipelineError, match="does not know `If-None-Match`"):
            storage.publish("_log/1.json", "text", "a")


def test_tasks_write_without_renames(
    spark: Any, bootstrap: str, make_topic: MakeTopic, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(3))
    genuine, marks = ArchiveLog.commit, []

    def commit(self: ArchiveLog, entry: Any) -> None:
        marks.append(json.loads(self.storage.read(f"{self.staging(entry.number)}/_SUCCESS")))
        genuine(self, entry)

    monkeypatch.setattr(ArchiveLog, "commit", commit)
    run("archive", bootstrap, archive=bucket, topics=[topic])
    assert [mark["committer"] for mark in marks] == ["magic"]


def test_an_archive_holds_each_record_once_and_is_audited_and_replayed(
    spark: Any, bootstrap: str, make_topic: MakeTopic, bucket: str, tmp_path: Path
) -> None:
    topic, again = make_topic(partitions=2), make_topic(partitions=2)
    options = {"archive": f"{bucket}/topics", "topics": [topic], "json": ["*"], "compact_files": 2}
    for start in (0, 30):
        records = numbered(30, start=start, partitions=2)
        send(bootstrap, topic, [Record(each.value, each.key, (), BASE_MS, each.partition) for each in records])
        assert run("archive", bootstrap, **options) == 0
        assert values(spark, f"{bucket}/topics") == once(start + 30)
    storage = storage_at(spark, f"{bucket}/topics")
    assert [entry.kind for entry in ArchiveLog(storage).entries()] == ["append"] * 2 + ["compact"]
    assert storage.files("_staging") == {}
    report = tmp_path / "audit.json"
    assert run("audit", bootstrap, archive=f"{bucket}/topics", report=str(report)) == 0
    assert json.loads(report.read_text())["same"] is True
    run("backfill", bootstrap, archive=f"{bucket}/topics", topic=topic, to=again)
    assert committed(bootstrap, f"backfill-{topic}-to-{again}") == {(again, 0): 30, (again, 1): 30}
    # The session is as it was, for whoever writes with it next.
    assert spark.conf.get("spark.sql.parquet.output.committer.class").startswith("org.apache.parquet")


@pytest.mark.parametrize(("step", "call"), [pytest.param("publish", 1, marks=slow), ("move", 2)])
def test_a_run_that_is_cut_off_is_finished_by_the_next(
    spark: Any,
    bootstrap: str,
    make_topic: MakeTopic,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    call: int,
) -> None:
    topic = make_topic()
    send(bootstrap, topic, [Record(b"%d" % n, timestamp_ms=BASE_MS + n * HOUR_MS) for n in range(3)])
    genuine, calls = getattr(ObjectStorage, step), []

    def cut_off(self: ObjectStorage, *arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == call:
            raise KeyboardInterrupt
        return genuine(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStorage, step, cut_off)
        with pytest.raises(KeyboardInterrupt):
            run("archive", bootstrap, archive=bucket, topics=[topic])
    send(bootstrap, topic, [Record(b"3", timestamp_ms=BASE_MS)])
    run("archive", bootstrap, archive=bucket, topics=[topic])
    assert values(spark, bucket) == once(4)
    assert storage_at(spark, bucket).files("_staging") == {}


def test_two_writers_do_not_both_commit(
    spark: Any, bootstrap: str, make_topic: MakeTopic, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(10))
    genuine = ArchiveLog.commit

    def commit(self: ArchiveLog, entry: Any) -> None:
        monkeypatch.setattr(ArchiveLog, "commit", genuine)
        run("archive", bootstrap, archive=bucket, topics=[topic])  # somebody else, just before us
        genuine(self, entry)

    monkeypatch.setattr(ArchiveLog, "commit", commit)
    with pytest.raises(Overtaken, match="only one may write"):
        run("archive", bootstrap, archive=bucket, topics=[topic])
    assert values(spark, bucket) == once(10)


@slow
def test_usage_goes_on_from_its_checkpoint(spark: Any, bootstrap: str, make_topic: MakeTopic, bucket: str) -> None:
    topic = make_topic()
    options = {"output": f"{bucket}/usage", "topics": [topic], "window": "1 minute", "watermark": "1 minute"}
    for number in range(2):
        at_ms = BASE_MS + number * 10 * 60_000
        send(bootstrap, topic, [Record(b"x", b"k", (), at_ms, 0)] * 5)
        assert run("usage", bootstrap, **options) == 0
    storage = storage_at(spark, f"{bucket}/usage")
    assert "<span>records</span><b>10</b>" in storage.read("report.html")
    assert [name for name in storage.names("_checkpoint/offsets") if name.isdigit()]
    counted = spark.read.parquet(f"{bucket}/usage/partitions").selectExpr("sum(records) AS records").first()
    assert counted.records == 5  # of the first minute, over which the watermark has gone
