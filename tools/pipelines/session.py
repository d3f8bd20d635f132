"""The Spark session that a pipeline runs in.

Under `spark-submit` everything comes from outside: master, memory, jars. Run as a plain program it is a small local
Spark, whose Kafka connector is taken from the checkout's cache or, where there is none, fetched by Spark itself.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SMALL = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    # A job of seconds: the second compiler and a concurrent collector would only cost it time.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
# Where this package is found: in an installed Tidegate that is no place where Spark's workers would look.
HOME = str(Path(__file__).resolve().parents[2])
# Files are laid out by the hour of UTC, whatever the machine's own zone.
ALWAYS = {"spark.sql.session.timeZone": "UTC"}


def submitted() -> bool:
    """Whether spark-submit started this program, and so decides what it runs on."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def spark_session(name: str, settings: Mapping[str, str] | None = None) -> Any:
    """The session, made or found; `settings` are Spark's own and come before the defaults."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    chosen = {**ALWAYS, **(settings or {})}
    if not submitted():
        # Spark would take whatever python3 is on the path, without our packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        own = {"spark.executorEnv.PYTHONPATH": HOME}
        chosen = {"spark.master": "local[*]", **SMALL, **own, **connector(), **chosen}
    for key, value in chosen.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not submitted():
        session.sparkContext.setLogLevel("ERROR")
    return session


def connector() -> dict[str, str]:
    """The settings by which Spark has its Kafka source and sink."""
    try:
        from tools.reference.spark import CONNECTOR, connector_jars

        if CONNECTOR.installed():
            return {"spark.jars": ",".join(connector_jars())}
    except ImportError:  # not in a checkout
        pass
    import pyspark

    return {"spark.jars.packages": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"}
