"""What all pipelines do around their work: the options they share, and the session for as long as it takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tools.pipelines.options import Option, Values
from tools.pipelines.session import spark_session

SHARED = (
    Option("bootstrap", "the broker's address, HOST:PORT", default="127.0.0.1:9092"),
    Option("kafka", "a setting of Kafka's clients, KEY=VALUE, as security.protocol=SASL_SSL", kind="pairs"),
    Option("spark", "a setting of Spark, KEY=VALUE, as spark.master=local[4]", kind="pairs"),
    Option("metrics-file", "a file for Prometheus' textfile collector, written after each batch"),
    Option("quiet", "say nothing but results and errors", kind="flag"),
)


def first_line(error: Exception) -> str:
    """What went wrong, without the stack traces that Spark adds."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("An error occurred", "at "))]
    return (told or lines or [type(error).__name__])[0].lstrip(": ")


@contextmanager
def session_for(name: str, values: Values) -> Iterator[Any]:
    """A session for one pipeline. One that runs already is used, and left running."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    session = spark_session(f"tidegate {name}", values["spark"])
    try:
        yield session
    finally:
        session.stop()
