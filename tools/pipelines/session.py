"""The Spark session that a pipeline runs in.

Under `spark-submit` everything comes from outside: master, memory, jars. Run as a plain program it is a small local
Spark, whose Kafka connector is taken from the checkout's cache or, where there is none, fetched by Spark itself.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# A job of seconds: the second compiler and a concurrent collector would only cost it time. What Spark says before it
# can be told to be quiet would be half a page of warnings about itself.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile={}"
LOGGING = Path(__file__).resolve().with_name("log4j2.properties")
SMALL = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS.format(LOGGING.as_uri()),
}
# What must be told before the session is there.
STATIC = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Of the tasks that read a table's log; Delta's 50 take longer to start than to do so.
        "spark.databricks.delta.snapshotPartitions": "2",
    }
}
# Where this package is found: in an installed Tidegate that is no place where Spark's workers would look.
HOME = str(Path(__file__).resolve().parents[2])
# Files are laid out by the hour of UTC, whatever the machine's own zone.
ALWAYS = {"spark.sql.session.timeZone": "UTC"}
ARTIFACTS = "org.apache.spark.sql.artifact.ArtifactManager$"


def submitted() -> bool:
    """Whether spark-submit started this program, and so decides what it runs on."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def spark_session(name: str, settings: Mapping[str, str] | None = None, needs: Iterable[str] = ()) -> Any:
    """The session, made or found; `settings` are Spark's own and come before the defaults. `needs` are names of what
    Spark must have beside the connector (tools/reference/spark.py)."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    needs = tuple(needs)
    static = {key: value for name in needs for key, value in STATIC.get(name, {}).items()}
    chosen = {**ALWAYS, **static, **(settings or {})}
    if not submitted():
        # Spark would take whatever python3 is on the path, without our packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # It would look for a name of this machine that others can reach, and warn that there is none.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        own = {"spark.executorEnv.PYTHONPATH": HOME}
        chosen = {"spark.master": "local[*]", **SMALL, **own, **connector(needs), **chosen}
    for key, value in chosen.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not submitted():
        session.sparkContext.setLogLevel("ERROR")
    keep_artifacts_elsewhere(session)
    return session


def keep_artifacts_elsewhere(session: Any) -> None:
    """Spark 4.0.0 makes a folder `artifacts` in the working directory and leaves it there (SPARK-52396). No setting
    changes that: its one static value is given here, before the first query takes it, as later versions have it."""
    jvm = session._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        manager = jvm.java.lang.Class.forName(ARTIFACTS, True, loader)
        made, value = (manager.getDeclaredField(name) for name in ("bitmap$0", "artifactRootDirectory"))
        made.setAccessible(True)
        value.setAccessible(True)
        if not made.get(None):
            temporary = jvm.java.lang.System.getProperty("java.io.tmpdir")
            value.set(None, jvm.org.apache.spark.util.Utils.createTempDir(temporary, "artifacts").toPath())
            made.set(None, True)
    except Exception:
        # A Spark that is made otherwise, and needs no help with it.
        return


def connector(needs: Iterable[str] = ()) -> dict[str, str]:
    """The settings by which Spark has its Kafka source and sink, and what else is needed."""
    from tools.reference.spark import connector_jars, installed, packages

    if installed(needs):
        return {"spark.jars": ",".join(connector_jars(needs))}
    return {"spark.jars.packages": ",".join(packages(needs))}
