"""Fetches Kafka Streams as jars through Maven: `python -m tools.reference.streams`."""

from pathlib import Path

from tools.reference.install import KAFKA_VERSION
from tools.reference.maven import Jars, install_or_exit

STREAMS = Jars(
    name="kafka-streams",
    version=KAFKA_VERSION,
    artifacts=(
        ("org.apache.kafka", "kafka-streams", KAFKA_VERSION),
        # A log on standard error is what tells why an application stops.
        ("org.slf4j", "slf4j-simple", "1.7.36"),
    ),
    announcement=f"Kafka Streams {KAFKA_VERSION} from Maven (about 80 MB the first time)",
)


def streams_class_path() -> str:
    """Every jar."""
    return ":".join(str(jar) for jar in sorted(Path(STREAMS.libraries()).glob("*.jar")))


if __name__ == "__main__":
    install_or_exit(STREAMS)
