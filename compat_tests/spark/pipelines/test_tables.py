"""Archives as tables of Delta Lake and Iceberg: each record once over restarts, beside others who change the tables."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.clients.base import Record
from compat_tests.conftest import unique_name
from compat_tests.spark.object_store import store
from compat_tests.spark.pipelines.running import committed, run
from compat_tests.spark.pipelines.test_object_store import bucket, told
from compat_tests.spark.reading import numbered, send, slow
from tools.pipelines.archive.log import Overtaken
from tools.pipelines.options import PipelineError
from tools.pipelines.tables.delta import DeltaTable
from tools.pipelines.tables.iceberg import IcebergTable

__all__ = ["bucket", "store", "told"]
pytestmark = pytest.mark.timeout(400)
MakeTopic = Callable[..., str]
Options = dict[str, Any]
BASE_MS = 1_760_000_400_000
TABLES = {"delta": DeltaTable, "iceberg": IcebergTable}
HERE, THERE = "iceberg", "iceberg in a catalog"


@pytest.fixture(params=["delta", HERE, pytest.param(THERE, marks=slow)])
def options(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Iterator[Options]:
    """Where an archive is, and what it is kept as."""
    archive = str(tmp_path / "archive")
    if request.param != THERE:
        yield {"archive": archive, "format": request.param}
        return
    catalog = unique_name("lake").replace("-", "_")
    settings = {
        f"spark.sql.catalog.{catalog}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{catalog}.type": "hadoop",
        f"spark.sql.catalog.{catalog}.warehouse": str(tmp_path / "warehouse"),
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield {"archive": archive, "format": "iceberg", "catalog": f"{catalog}.topics"}
    for name in settings:
        spark.conf.unset(name)


def table(spark: Any, options: Options, topic: str) -> Any:
    """What anybody finds who reads the table."""
    if "catalog" in options:
        return spark.table(f"{options['catalog']}.`{topic}`")
    return spark.read.format(options["format"]).load(f"{options['archive']}/topic={topic}")


def values(spark: Any, options: Options, topic: str) -> Counter[int]:
    return Counter(int(row.value) for row in table(spark, options, topic).select("value").collect())


def once(count: int) -> Counter[int]:
    return Counter(range(count))


def made_compact(spark: Any, options: Options, topic: str) -> None:
    """Somebody makes few files of many, by the program that the table's kind has for that."""
    path = f"{options['archive']}/topic={topic}"
    if options["format"] == "delta":
        spark.sql(f"OPTIMIZE delta.`{path}`")
        return
    actions = spark._jvm.org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession)
    if "catalog" in options:
        name = f"{options['catalog']}.`{topic}`"
        found = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    else:
        found = spark._jvm.org.apache.iceberg.hadoop.HadoopTables(spark._jsc.hadoopConfiguration()).load(path)
    actions.rewriteDataFiles(found).option("rewrite-all", "true").execute()
    found.refresh()
    found.expireSnapshots().expireOlderThan(2**62).retainLast(1).commit()


@slow
def test_runs_go_on_where_the_last_one_ended_also_when_others_changed_the_table(
    spark: Any, bootstrap: str, make_topic: MakeTopic, options: Options, tmp_path: Path
) -> None:
    topic, again = make_topic(partitions=2), make_topic(partitions=2)
    for start in (0, 30):
        records = numbered(30, start=start, partitions=2)
        send(bootstrap, topic, [Record(each.value, each.key, (), BASE_MS, each.partition) for each in records])
        assert run("archive", bootstrap, topics=[topic], max_records=40, **options) == 0
        assert values(spark, options, topic) == once(start + 30)
        made_compact(spark, options, topic)
    assert run("archive", bootstrap, topics=[topic], **options) == 0
    assert values(spark, options, topic) == once(60)
    report = tmp_path / "audit.json"
    assert run("audit", bootstrap, report=str(report), **options) == 0
    told = json.loads(report.read_text())
    assert [each["rows"] for each in told["verdicts"]] == [30, 30]
    run("backfill", bootstrap, topic=topic, to=again, **options)
    assert committed(bootstrap, f"backfill-{topic}-to-{again}") == {(again, 0): 30, (again, 1): 30}
    row = table(spark, options, topic).where("offset = 0 AND partition = 1").first()
    assert (row.topic, row.date, row.hour, bytes(row.key)) == (topic, "2025-10-09", "09", b"k1")


def test_a_run_that_is_cut_off_is_finished_by_the_next(
    spark: Any, bootstrap: str, make_topic: MakeTopic, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic()
    kind = TABLES[options["format"]]
    steps = [("commit", False), ("commit", True)] + ([("_publish", False)] if kind is IcebergTable else [])
    for number, (step, does) in enumerate(steps):
        genuine = getattr(kind, step)

        def cut_off(self: Any, *arguments: Any, genuine: Any = genuine, does: bool = does) -> Any:
            if does:
                genuine(self, *arguments)
            raise KeyboardInterrupt

        send(bootstrap, topic, numbered(5, start=5 * number))
        with monkeypatch.context() as patched:
            patched.setattr(kind, step, cut_off)
            with pytest.raises(KeyboardInterrupt):
                run("archive", bootstrap, topics=[topic], **options)
    run("archive", bootstrap, topics=[topic], **options)
    assert values(spark, options, topic) == once(5 * len(steps))


@slow
def test_two_writers_do_not_both_commit(
    spark: Any, bootstrap: str, make_topic: MakeTopic, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic()
    kind = TABLES[options["format"]]
    send(bootstrap, topic, numbered(5))
    run("archive", bootstrap, topics=[topic], **options)
    send(bootstrap, topic, numbered(5, start=5))
    genuine = kind.commit

    def commit(self: Any, *arguments: Any) -> int:
        monkeypatch.setattr(kind, "commit", genuine)
        run("archive", bootstrap, topics=[topic], **options)  # somebody else, just before us
        return int(genuine(self, *arguments))

    monkeypatch.setattr(kind, "commit", commit)
    with pytest.raises(Overtaken, match="only one may write"):
        run("archive", bootstrap, topics=[topic], **options)
    assert values(spark, options, topic) == once(10)


@slow
def test_columns_grow_with_what_topics_hold(
    spark: Any, bootstrap: str, make_topic: MakeTopic, options: Options
) -> None:
    topic = make_topic()
    rounds = [[b"no json"], [b'{"id": 1}'], [b'{"id": 2, "unit price": {"net": 2.5}, "tags": ["new"]}', b'{"id": "x"}']]
    for each in rounds:
        send(bootstrap, topic, [Record(value) for value in each])
        assert run("archive", bootstrap, topics=[topic], json=[topic], **options) == 0
    rows = table(spark, options, topic).orderBy("offset").collect()
    assert [row.json and row.json.asDict(recursive=True) for row in rows] == [
        None,
        {"id": 1, "tags": None, "unit price": None},
        {"id": 2, "tags": ["new"], "unit price": {"net": 2.5}},
        {"id": None, "tags": None, "unit price": None},
    ]


@slow
def test_a_topic_may_begin_with_what_comes(spark: Any, bootstrap: str, make_topic: MakeTopic, options: Options) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(5))
    run("archive", bootstrap, topics=[topic], start="latest", **options)
    send(bootstrap, topic, numbered(5, start=5))
    run("archive", bootstrap, topics=[topic], start="latest", **options)
    assert values(spark, options, topic) == Counter(range(5, 10))


def test_an_archive_stays_what_it_is(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(3))
    options = {"archive": str(tmp_path), "topics": [topic]}
    run("archive", bootstrap, **options)
    with pytest.raises(PipelineError, match="is kept as parquet, not as delta"):
        run("archive", bootstrap, format="delta", **options)


@slow
def test_delta_lies_on_an_object_store_too(spark: Any, bootstrap: str, make_topic: MakeTopic, bucket: str) -> None:
    topic = make_topic()
    options = {"archive": bucket, "format": "delta"}
    for start in (0, 5):
        send(bootstrap, topic, numbered(5, start=start))
        run("archive", bootstrap, topics=[topic], **options)
    assert values(spark, options, topic) == once(10)
    assert run("audit", bootstrap, **options) == 0
