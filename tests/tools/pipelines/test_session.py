"""The session: small by itself, from outside under spark-submit, and nothing left in the working directory."""

# The names are Java's.
# ruff: noqa: N802

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools.pipelines import session
from tools.pipelines.session import LOGGING, connector, keep_artifacts_elsewhere, spark_session
from tools.reference.maven import Jars


class Builder:
    """A builder that keeps what it is told."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.levels: list[str] = []

    def appName(self, name: str) -> "Builder":
        return self.config("name", name)

    def config(self, key: str, value: str) -> "Builder":
        self.settings[key] = value
        return self

    def getOrCreate(self) -> Any:
        return SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=self.levels.append))


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    made = Builder()
    pyspark: Any = SimpleNamespace(SparkSession=SimpleNamespace(builder=made))
    monkeypatch.setitem(sys.modules, "pyspark.sql", pyspark)
    monkeypatch.setattr(session, "keep_artifacts_elsewhere", lambda _: None)
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(name, raising=False)
    return made


def test_a_plain_program_runs_a_small_local_spark(builder: Builder) -> None:
    spark_session("usage", {"spark.driver.memory": "4g"})
    assert builder.settings["spark.master"] == "local[*]"
    assert builder.settings["spark.driver.memory"] == "4g"
    assert builder.settings["spark.sql.session.timeZone"] == "UTC"
    assert LOGGING.as_uri() in builder.settings["spark.driver.extraJavaOptions"]
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert builder.levels == ["ERROR"]


def test_under_spark_submit_all_comes_from_outside(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1234")
    spark_session("usage", {"spark.sql.shuffle.partitions": "9"})
    assert builder.settings == {
        "name": "usage",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "9",
    }
    assert builder.levels == []


def test_the_connector_is_taken_from_the_cache_or_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tools.reference.maven.CACHE", tmp_path)
    assert connector() == {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"}
    monkeypatch.setattr(Jars, "installed", lambda _: True)
    libraries = tmp_path / "spark-kafka-4.0.0" / "libs"
    libraries.mkdir(parents=True)
    for name in ("b.jar", "a.jar"):
        (libraries / name).touch()
    assert connector() == {"spark.jars": f"{libraries / 'a.jar'},{libraries / 'b.jar'}"}


def test_the_log_says_errors_only() -> None:
    settings = dict(
        line.split(" = ", 1) for line in LOGGING.read_text().splitlines() if line and not line.startswith("#")
    )
    assert settings["rootLogger.level"] == settings["logger.gateway.level"] == "error"


class Field:
    """java.lang.reflect.Field of a static value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def setAccessible(self, _accessible: bool) -> None:
        pass

    def get(self, _object: None) -> Any:
        return self.value

    def set(self, _object: None, value: Any) -> None:
        self.value = value


def with_artifacts(fields: dict[str, Field]) -> Any:
    """A session whose JVM has a class with these static fields."""

    def create(root: str, prefix: str) -> Any:
        return SimpleNamespace(toPath=lambda: f"{root}/{prefix}-1")

    lang = SimpleNamespace(
        Thread=SimpleNamespace(currentThread=lambda: SimpleNamespace(getContextClassLoader=lambda: None)),
        Class=SimpleNamespace(forName=lambda *_: SimpleNamespace(getDeclaredField=fields.__getitem__)),
        System=SimpleNamespace(getProperty=lambda _: "/tmp"),
    )
    utils = SimpleNamespace(Utils=SimpleNamespace(createTempDir=create))
    org = SimpleNamespace(apache=SimpleNamespace(spark=SimpleNamespace(util=utils)))
    return SimpleNamespace(_jvm=SimpleNamespace(java=SimpleNamespace(lang=lang), org=org))


def test_artifacts_go_to_the_temporary_folder() -> None:
    fields = {"bitmap$0": Field(value=False), "artifactRootDirectory": Field(None)}
    keep_artifacts_elsewhere(with_artifacts(fields))
    assert fields["artifactRootDirectory"].value == "/tmp/artifacts-1"
    assert fields["bitmap$0"].value is True


def test_a_folder_that_is_in_use_stays() -> None:
    fields = {"bitmap$0": Field(value=True), "artifactRootDirectory": Field("there")}
    keep_artifacts_elsewhere(with_artifacts(fields))
    assert fields["artifactRootDirectory"].value == "there"


def test_another_spark_is_left_alone() -> None:
    keep_artifacts_elsewhere(with_artifacts({}))
