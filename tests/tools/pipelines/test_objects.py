"""What is an object store, and how the session writes for as long as a pipeline writes to one."""

from types import SimpleNamespace
from typing import Any

from tests.tools.pipelines import jvm
from tools.pipelines.objects import SETTINGS, ObjectStorage, storage_at, writing_to
from tools.pipelines.running import needs_of
from tools.pipelines.storage import Storage


class Settings(dict[str, Any]):
    """Spark's runtime configuration."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


def test_the_session_is_told_while_the_pipeline_writes_there() -> None:
    conf = Settings({"spark.sql.parquet.output.committer.class": "before"})
    spark = SimpleNamespace(conf=conf)
    with writing_to(spark, {"archive": "s3a://lake"}):
        assert conf == SETTINGS
    assert conf == {"spark.sql.parquet.output.committer.class": "before"}
    with writing_to(spark, {"archive": "hdfs:///lake"}), writing_to(spark, {"output": None}):
        assert conf == {"spark.sql.parquet.output.committer.class": "before"}


def test_only_who_writes_to_a_store_needs_its_client() -> None:
    assert needs_of({"output": "s3a://lake/usage"}) == ["s3"]
    assert needs_of({"archive": "lake"}) == []


def test_a_folder_on_a_disk_is_written_as_ever() -> None:
    assert not isinstance(storage_at(jvm.session(), "lake"), ObjectStorage)
    assert isinstance(storage_at(jvm.session(), "lake"), Storage)
