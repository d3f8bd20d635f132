"""Pipelines with TLS and passwords out of a profile."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from compat_tests.admin import create_topic
from compat_tests.cli.test_secure import folder, secure_broker
from tools.cli.commands.pipeline import handed_over
from tools.cli.profiles import load
from tools.pipelines import PIPELINES
from tools.reference.broker import free_port

__all__ = ["folder"]
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def profiles(folder: Path) -> Iterator[dict[str, str]]:
    """A broker with two secured listeners; the environment in which profiles of them are found."""
    plain, tls, scram = (free_port() for _ in range(3))
    common = 'sasl_username = "tools"\nsasl_password_file = "password"\n'
    (folder / "password").write_text("secret\n")
    (folder / "cli.toml").write_text(
        f'[profiles.tls]\nbootstrap = "127.0.0.1:{tls}"\nsecurity_protocol = "SASL_SSL"\n'
        f'{common}ssl_cafile = "ca.pem"\n'
        f'[profiles.scram]\nbootstrap = "127.0.0.1:{scram}"\nsecurity_protocol = "SASL_PLAINTEXT"\n'
        f'sasl_mechanism = "SCRAM-SHA-512"\n{common}'
    )
    with secure_broker(folder, plain, tls, scram) as bootstrap:
        producer = Producer({"bootstrap.servers": bootstrap})
        for topic in ("tls", "scram"):
            create_topic(bootstrap, topic)
            create_topic(bootstrap, f"{topic}-again")
            producer.produce(topic, b"hello")
        assert producer.flush(20) == 0
        yield {"TIDEGATE_CLI_CONFIG": str(folder / "cli.toml")}


@pytest.mark.parametrize("name", ["tls", "scram"])
def test_read_by_spark_and_written_by_executors(
    spark: Any, profiles: dict[str, str], name: str, tmp_path: Path
) -> None:
    below = handed_over(load(name, profiles))

    def run(pipeline: str, **options: Any) -> int:
        values = PIPELINES[pipeline].values({"quiet": True, "archive": str(tmp_path), **options}, below=below)
        return PIPELINES[pipeline].run(values)

    assert run("archive", topics=[name], group=f"g-{name}") == 0
    assert [bytes(row.value) for row in spark.read.parquet(str(tmp_path)).collect()] == [b"hello"]
    assert run("backfill", topic=name, to=f"{name}-again") == 0
    assert run("archive", topics=[f"{name}-again"]) == 0
    assert run("audit") == 0
