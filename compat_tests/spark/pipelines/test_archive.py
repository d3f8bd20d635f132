"""`archive`: every record once, in the folder of its hour, with offsets that tell what each file holds."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compat_tests.admin import admin_client, create_topic, delete_topic
from compat_tests.clients.base import Record
from compat_tests.spark.pipelines.running import committed, run
from compat_tests.spark.reading import Row, delete_before, numbered, send, slow
from compat_tests.spark.reading import rows as rows_of
from compat_tests.transactions.writers import confluent
from compat_tests.waiting import eventually
from tools.pipelines.archive import pipeline
from tools.pipelines.archive.log import ArchiveLog, Overtaken
from tools.pipelines.kafka import Cluster
from tools.pipelines.options import PipelineError
from tools.pipelines.storage import Storage

MakeTopic = Callable[..., str]
HOUR_MS = 3_600_000
CUTS = [
    ("publish", 1),
    ("move", 2),
    pytest.param("move", 1, marks=slow),
    pytest.param("delete", 1, marks=slow),
]
BASE_MS = 1_760_000_400_000  # 2025-10-09, nine o'clock exactly


def archived(spark: Any, folder: Path, topic: str | None = None) -> list[Row]:
    """What anybody finds who just reads the folder."""
    found = spark.read.parquet(str(folder))
    return rows_of(found if topic is None else found.where(found.topic == topic))


def values(spark: Any, folder: Path) -> list[int]:
    return sorted(int(row.value or b"-1") for row in archived(spark, folder))


def test_records_are_what_was_sent_by_date_and_hour(
    spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    sent = [
        Record(b"nine", b"k", (("a", b"1"), ("a", None)), BASE_MS, 0),
        Record(None, b"tombstone", (), BASE_MS + HOUR_MS - 1, 1),
        Record(b"", None, (), BASE_MS + HOUR_MS, 1),
        Record(b"late", b"", (("b", b""),), BASE_MS - 30 * HOUR_MS, 0),
    ]
    send(bootstrap, topic, sent)
    assert run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic]) == 0
    found = archived(spark, tmp_path / "a")
    assert [(row.partition, row.offset, row.key, row.value, row.headers, row.timestamp_ms) for row in found] == [
        (each.partition, offset, each.key, each.value, each.headers, each.timestamp_ms)
        for each, offset in ((sent[0], 0), (sent[3], 1), (sent[1], 0), (sent[2], 1))
    ]
    folders = {str(file.parent.relative_to(tmp_path / "a")) for file in (tmp_path / "a").rglob("topic=*/**/*.parquet")}
    hours = ("date=2025-10-08/hour=03", "date=2025-10-09/hour=09", "date=2025-10-09/hour=10")
    assert folders == {f"topic={topic}/{hour}" for hour in hours}


def test_each_run_goes_on_where_the_last_one_ended(
    spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topics = [make_topic(partitions=2), make_topic()]
    folder = tmp_path / "a"
    send(bootstrap, topics[0], numbered(100, partitions=2))
    run("archive", bootstrap, archive=str(folder), topics=topics, max_records=60)
    run("archive", bootstrap, archive=str(folder), topics=topics)
    assert values(spark, folder) == list(range(100))
    send(bootstrap, topics[0], numbered(10, start=100, partitions=2))
    send(bootstrap, topics[1], numbered(10, start=110))
    run("archive", bootstrap, archive=str(folder), topics=topics)
    assert values(spark, folder) == list(range(120))
    log = ArchiveLog(Storage(spark, str(folder)))
    assert log.state.offsets == {topics[0]: {0: 55, 1: 55}, topics[1]: {0: 10}}
    assert [len(entry.add) > 0 for entry in log.entries()] == [True] * len(log.entries())


def test_the_log_says_what_each_file_holds(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(partitions=2)
    records = [Record(b"%d" % n, timestamp_ms=BASE_MS + n * HOUR_MS // 4, partition=n % 2) for n in range(20)]
    send(bootstrap, topic, records)
    run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic], max_records=12)
    log = ArchiveLog(Storage(spark, str(tmp_path / "a")))
    assert sum(file.rows for file in log.state.files.values()) == 20
    assert set(log.state.files) == {
        str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("topic=*/**/*.parquet")
    }
    for file in log.state.files.values():
        assert (tmp_path / "a" / file.path).stat().st_size == file.bytes
        found = spark.read.parquet(str(tmp_path / "a" / file.path)).select("partition", "offset").collect()
        for number, part in file.parts.items():
            offsets = [row.offset for row in found if row.partition == number]
            assert (min(offsets), max(offsets), len(offsets)) == (part.first, part.last, part.rows)


@pytest.mark.parametrize(("step", "call"), CUTS)
def test_a_run_that_is_cut_off_anywhere_is_finished_by_the_next(
    spark: Any,
    bootstrap: str,
    make_topic: MakeTopic,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    call: int,
) -> None:
    topic = make_topic()
    records = [Record(b"%d" % n, timestamp_ms=BASE_MS + n * HOUR_MS) for n in range(3)]
    send(bootstrap, topic, records)
    genuine, calls = getattr(Storage, step), []

    def cut_off(self: Storage, *arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == call:
            raise KeyboardInterrupt
        return genuine(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Storage, step, cut_off)
        with pytest.raises(KeyboardInterrupt):
            run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic])
    send(bootstrap, topic, [Record(b"3", timestamp_ms=BASE_MS)])
    run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic])
    assert values(spark, tmp_path / "a") == [0, 1, 2, 3]
    assert list((tmp_path / "a" / "_staging").iterdir()) == []


def test_what_transactions_aborted_is_left_out(
    spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic()
    confluent(bootstrap, topic, topic, [(["1", "2"], True), (["8", "9"], False), (["3"], True), (["7"], False)])
    run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic], max_records=4)
    assert values(spark, tmp_path / "a") == [1, 2, 3]
    run("archive", bootstrap, archive=str(tmp_path / "b"), topics=[topic], isolation="read_uncommitted")
    assert values(spark, tmp_path / "b") == [1, 2, 3, 7, 8, 9]


def test_small_files_become_one(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    options = {"archive": str(tmp_path / "a"), "topics": [topic], "compact_files": 3}
    before = []
    for start in (0, 10, 20):
        records = [Record(b"%d" % n, timestamp_ms=BASE_MS + n) for n in range(start, start + 10)]
        send(bootstrap, topic, [*records, Record(b"%d" % (1000 + start), timestamp_ms=BASE_MS + start // 10 * HOUR_MS)])
        before = values(spark, tmp_path / "a") if start else []
        run("archive", bootstrap, **options)
    wanted = sorted([*range(30), 1000, 1010, 1020])
    assert values(spark, tmp_path / "a") == wanted
    assert len(before) == 22
    files = sorted(str(file.relative_to(tmp_path / "a")) for file in (tmp_path / "a").rglob("topic=*/**/*.parquet"))
    assert [file.split("/")[2] for file in files] == ["hour=09", "hour=10", "hour=11"]
    log = ArchiveLog(Storage(spark, str(tmp_path / "a")))
    assert [entry.kind for entry in log.entries()] == ["append", "append", "append", "compact"]
    run("archive", bootstrap, **options)
    assert log.state.number == ArchiveLog(log.storage).state.number


def test_json_becomes_a_column_that_grows(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic, other = make_topic(), make_topic()
    options = {"archive": str(tmp_path / "a"), "topics": [topic, other], "json": [topic]}
    first = [{"id": 1, "item": {"name": "tea"}}, {"id": 2}]
    send(bootstrap, topic, [Record(json.dumps(each).encode()) for each in first] + [Record(b"no json"), Record(None)])
    send(bootstrap, other, [Record(b'{"id": 7}')])
    run("archive", bootstrap, **options)
    second = [{"id": "three", "item": {"name": "cake", "price": 2.5}, "tags": ["new"]}]
    send(bootstrap, topic, [Record(json.dumps(each).encode()) for each in second])
    run("archive", bootstrap, **options)
    found = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "a")).orderBy("offset")
    rows = [row for row in found.collect() if row.topic == topic]
    assert [row.json and row.json.id for row in rows] == [1, 2, None, None, None]
    assert rows[4].json.item.asDict() == {"name": "cake", "price": 2.5}
    assert rows[4].json.tags == ["new"]
    assert bytes(rows[4].value) == json.dumps(second[0]).encode()
    assert [row.json for row in found.collect() if row.topic == other] == [None]


def test_what_retention_took_first_is_told(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    options = {"archive": str(tmp_path / "a"), "topics": [topic]}
    send(bootstrap, topic, numbered(10))
    run("archive", bootstrap, **options)
    send(bootstrap, topic, numbered(10, start=10))
    delete_before(bootstrap, topic, 15)
    with pytest.raises(PipelineError, match=f"offsets 10 to 14 of {topic}-0 were deleted"):
        run("archive", bootstrap, **options)
    run("archive", bootstrap, allow_gaps=True, **options)
    assert values(spark, tmp_path / "a") == [*range(10), *range(15, 20)]
    assert ArchiveLog(Storage(spark, str(tmp_path / "a"))).entries()[1].gaps == {topic: {0: (10, 15)}}


def test_a_topic_made_again_is_another_topic(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(3))
    run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic])
    delete_topic(bootstrap, topic)
    eventually(lambda: topic in admin_client(bootstrap).list_topics(timeout=10).topics, False)
    create_topic(bootstrap, topic)
    with pytest.raises(PipelineError, match="was deleted and made again"):
        run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic])


def test_from_now_on(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    options = {"archive": str(tmp_path / "a"), "topics": [topic], "start": "latest"}
    send(bootstrap, topic, numbered(5))
    run("archive", bootstrap, **options)
    send(bootstrap, topic, numbered(5, start=5))
    run("archive", bootstrap, **options)
    assert values(spark, tmp_path / "a") == [5, 6, 7, 8, 9]


def test_following_forgives_failures_for_a_while(
    spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(5))
    genuine, rounds = Cluster.topics, 0

    def topics(self: Cluster, *arguments: Any) -> list[str]:
        if rounds in (2, 4, 5):
            raise PipelineError("the broker is away")
        return genuine(self, *arguments)

    def wait(_seconds: float) -> bool:
        nonlocal rounds
        rounds += 1
        if rounds < 4:
            send(bootstrap, topic, numbered(5, start=5 * rounds))
        return False

    asked = SimpleNamespace(is_set=lambda: False, wait=wait)

    monkeypatch.setattr(Cluster, "topics", topics)
    monkeypatch.setattr(pipeline, "stopping", lambda: nullcontext(asked))
    with pytest.raises(PipelineError, match="the broker is away"):
        run("archive", bootstrap, archive=str(tmp_path / "a"), topics=[topic], follow=True, retries=1)
    assert rounds == 5
    assert values(spark, tmp_path / "a") == list(range(20))


def test_two_writers_do_not_both_commit(
    spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic()
    options = {"archive": str(tmp_path / "a"), "topics": [topic]}
    send(bootstrap, topic, numbered(10))
    genuine = ArchiveLog.commit

    def commit(self: ArchiveLog, entry: Any) -> None:
        monkeypatch.setattr(ArchiveLog, "commit", genuine)
        run("archive", bootstrap, **options)  # somebody else, just before us
        genuine(self, entry)

    monkeypatch.setattr(ArchiveLog, "commit", commit)
    with pytest.raises(Overtaken, match="only one may write"):
        run("archive", bootstrap, **options)
    run("archive", bootstrap, **options)
    assert values(spark, tmp_path / "a") == list(range(10))


def test_lag_monitors_and_metrics_see_it(
    spark: Any, bootstrap: str, make_topic: MakeTopic, topic_name: str, tmp_path: Path
) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(12))
    metrics = tmp_path / "archive.prom"
    run(
        "archive",
        bootstrap,
        archive=str(tmp_path / "a"),
        topics=[topic],
        group=topic_name,
        metrics_file=str(metrics),
    )
    assert committed(bootstrap, topic_name) == {(topic, 0): 12}
    assert f'tidegate_pipeline_lag{{pipeline="archive",topic="{topic}",partition="0"}} 0' in metrics.read_text()


def test_a_topic_that_is_not_there(spark: Any, bootstrap: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no such topic: nowhere"):
        run("archive", bootstrap, archive=str(tmp_path / "a"), topics=["nowhere"])
