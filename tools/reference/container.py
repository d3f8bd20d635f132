"""The same Kafka from its published image, for machines where a Docker engine answers.

It shares the machine's network, so that ports and advertised addresses mean the same as without it.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.reference.install import KAFKA_VERSION

IMAGE = f"apache/kafka:{KAFKA_VERSION}"


def docker_answers() -> bool:
    """Whether a Docker engine can be reached."""
    try:
        import docker  # type: ignore[import-untyped, unused-ignore]

        client = docker.from_env(timeout=3)
        try:
            return bool(client.ping())
        finally:
            client.close()
    except Exception:  # whatever is wrong with Docker, the jars do without it
        return False


@contextmanager
def kafka_container(properties: Mapping[str, str]) -> Iterator[Path]:
    """Runs the image with `properties`; yields the file that its log is saved in at the end."""
    from testcontainers.core.container import DockerContainer

    container = DockerContainer(IMAGE).with_kwargs(network_mode="host")
    for key, value in properties.items():
        if key != "log.dirs":  # the image has its own place
            container = container.with_env(environment_name(key), value)
    with tempfile.TemporaryDirectory(prefix="reference-kafka-log-") as work, container:
        log_file = Path(work) / "kafka.log"
        log_file.touch()
        try:
            yield log_file
        finally:
            log_file.write_bytes(b"".join(container.get_logs()))


def environment_name(key: str) -> str:
    """How the image spells a config key as an environment variable."""
    return "KAFKA_" + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()
