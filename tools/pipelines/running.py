"""What all pipelines do around their work: the options they share, and the session for as long as it takes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tools.pipelines.kafka import Cluster
from tools.pipelines.objects import stores_objects, writing_to
from tools.pipelines.options import Option, Values
from tools.pipelines.progress import Progress
from tools.pipelines.session import spark_session
from tools.pipelines.watching import Watch, count_tasks

SHARED = (
    Option("bootstrap", "the broker's address, HOST:PORT", default="127.0.0.1:9092"),
    Option("kafka", "a setting of Kafka's clients, KEY=VALUE, as security.protocol=SASL_SSL", kind="pairs"),
    Option("spark", "a setting of Spark, KEY=VALUE, as spark.master=local[4]", kind="pairs"),
    Option("metrics-file", "a file for Prometheus' textfile collector, written after each batch"),
    Option("quiet", "say nothing but results and errors", kind="flag"),
)


# Parts of the names of settings that nobody may see: sasl.jaas.config, ssl.keystore.key, sasl.password, ...
SECRET = ("password", "jaas", "secret", "token", "keystore.key", "key.pem", "access.key", "user.info")


def hidden(text: str, values: Values) -> str:
    """A text for people, without whatever is secret among the settings."""
    for settings in (value for value in values.values() if isinstance(value, dict)):
        for name, value in settings.items():
            if value and any(part in name.lower() for part in SECRET):
                text = text.replace(value, "[hidden]")
    return text


def first_line(error: Exception) -> str:
    """What went wrong, without the stack traces that Spark adds."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("An error occurred", "at "))]
    return (told or lines or [type(error).__name__])[0].lstrip(": ")


def one_line(text: str) -> str:
    """A text that a client chose, for people: nothing in it steers a terminal or begins a line of its own."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Set when somebody wants an end: Ctrl-C, or a scheduler's SIGTERM. What is under way is finished first; a second
    Ctrl-C does not wait. PySpark's own handler would talk to the JVM in the middle of another call, and may hang."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(_number: int, _frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def connected(spark: Any, values: Values) -> Iterator[Cluster]:
    """The broker that the options name."""
    cluster = Cluster(spark, values["bootstrap"], values["kafka"])
    try:
        yield cluster
    finally:
        cluster.close()


GROUP = Option("group", "commit what was read as this group's offsets, for lag monitors")


@contextmanager
def progress_for(name: str, values: Values, spark: Any) -> Iterator[Progress]:
    """What the pipeline tells of itself while it runs; on a terminal Spark's tasks too."""
    with Progress(name, values["metrics_file"], values["quiet"]) as progress:
        if not progress.draws:
            yield progress
            return
        with Watch(count_tasks(spark, progress)):
            yield progress


@contextmanager
def session_for(name: str, values: Values) -> Iterator[Any]:
    """A session for one pipeline. One that runs already is used, and left running."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        with writing_to(running, values):
            yield running
        return
    session = spark_session(f"tidegate {name}", values["spark"], needs_of(values))
    try:
        with writing_to(session, values):
            yield session
    finally:
        session.stop()


def needs_of(values: Values) -> list[str]:
    """What Spark must have beside Kafka's connector."""
    tables = values.get("format", "parquet")
    return (["s3"] if stores_objects(values) else []) + ([] if tables == "parquet" else [tables])
