"""The clients that can run beside librdkafka's, and where they can."""

import importlib.util
from collections.abc import Callable, Mapping

from attrs import frozen

from tools.chaos.client_history import OtherClient
from tools.chaos.java_clients import JavaClients, has_java
from tools.chaos.workloads import Plain

Make = Callable[[str, int, Plain], OtherClient]


@frozen
class Other:
    """One that may be installed."""

    make: Make
    """From the addresses of the nodes, a seed, and the producer whose records it may read."""
    is_installed: Callable[[], bool]


def _kafka_python(bootstrap: str, seed: int, _plain: Plain) -> OtherClient:
    from tools.chaos.kafka_python import KafkaPython

    return KafkaPython(bootstrap, seed)


def _java(bootstrap: str, seed: int, _plain: Plain) -> OtherClient:
    return JavaClients(bootstrap, seed)


def _spark(bootstrap: str, seed: int, plain: Plain) -> OtherClient:
    from tools.chaos.spark_client import SparkStreaming

    return SparkStreaming(bootstrap, seed, plain)


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


OTHERS: Mapping[str, Other] = {
    "kafka-python": Other(_kafka_python, lambda: _has("kafka")),
    "java": Other(_java, has_java),
    "spark": Other(_spark, lambda: has_java() and _has("pyspark")),
}
"""By the name that a command gives them."""
