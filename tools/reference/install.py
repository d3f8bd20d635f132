"""Fetches Apache Kafka and its tools as jars through Maven: `python -m tools.reference.install`."""

from pathlib import Path

from tools.reference.maven import Jars, install_or_exit

KAFKA_VERSION = "4.3.0"
KAFKA = Jars(
    name="kafka",
    version=KAFKA_VERSION,
    artifacts=(
        ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
        ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
        # The tools run without a log, the broker with one on its standard error: java.py picks.
        ("org.slf4j", "slf4j-nop", "1.7.36"),
        ("org.slf4j", "slf4j-simple", "1.7.36"),
    ),
    announcement=f"Apache Kafka {KAFKA_VERSION} from Maven (about 55 MB the first time)",
)


def libraries() -> Path:
    """The folder of Kafka's jars, fetched now if it is not there yet."""
    return KAFKA.libraries()


if __name__ == "__main__":
    install_or_exit(KAFKA)
