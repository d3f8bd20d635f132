"""Fetches MirrorMaker 2 as jars through Maven: `python -m tools.reference.mirror`."""

from pathlib import Path

from tools.reference.install import KAFKA_VERSION
from tools.reference.maven import Jars, install_or_exit

MIRROR = Jars(
    name="kafka-mirror",
    version=KAFKA_VERSION,
    artifacts=(
        ("org.apache.kafka", "connect-mirror", KAFKA_VERSION),
        ("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
        # A log on standard error is what tells why a connector stops.
        ("org.slf4j", "slf4j-simple", "1.7.36"),
    ),
    announcement=f"MirrorMaker {KAFKA_VERSION} from Maven (about 60 MB the first time)",
)


def mirror_class_path() -> str:
    """Every jar."""
    return ":".join(str(jar) for jar in sorted(Path(MIRROR.libraries()).glob("*.jar")))


if __name__ == "__main__":
    install_or_exit(MIRROR)
