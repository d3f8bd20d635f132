"""Pipelines from the command line: found by name, told where the broker is and how it is reached."""

from pathlib import Path
from typing import Any

import pytest

from tests.tools.cli.conftest import run
from tools.cli.commands.pipeline import handed_over, java_settings, librdkafka_settings
from tools.cli.errors import UsageMistake
from tools.cli.profiles import Profile
from tools.pipelines import PIPELINES

KEY = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
CHAIN = "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n"


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the pipelines' own program is called with."""
    given: dict[str, Any] = {}

    def main(arguments: list[str], below: dict[str, Any]) -> int:
        given.update(arguments=arguments, below=below)
        return 3

    monkeypatch.setattr("tools.pipelines.__main__.main", main)
    return given


def test_pipelines_are_listed() -> None:
    assert [row["name"] for row in run("pipeline", "-o", "json").data] == list(PIPELINES)


def test_a_pipeline_that_is_not_there_is_status_4() -> None:
    ended = run("pipeline", "dance")
    assert ended.code == 4
    assert "archive" in ended.err


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--archive", "lake"], ["--archive", "lake", "--bootstrap", "10.0.0.1:9092"]),
        (["--bootstrap", "b:1"], ["--bootstrap", "b:1"]),
        (["--bootstrap=b:1", "--follow"], ["--bootstrap=b:1", "--follow"]),
        (["--help"], ["--help", "--bootstrap", "10.0.0.1:9092"]),
    ],
)
def test_its_own_options_are_passed_on(passed: dict[str, Any], arguments: list[str], wanted: list[str]) -> None:
    assert run("-b", "10.0.0.1:9092", "pipeline", "archive", *arguments).code == 3
    assert passed["arguments"] == ["archive", *wanted]


def test_a_profile_is_handed_over_beside_the_arguments(
    passed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("open sesame\n")
    (tmp_path / "cli.toml").write_text(
        '[profiles.p]\nbootstrap = "k:9093"\nsecurity_protocol = "SASL_PLAINTEXT"\n'
        'sasl_username = "me"\nsasl_password_file = "password"\n'
    )
    monkeypatch.setenv("TIDEGATE_CLI_CONFIG", str(tmp_path / "cli.toml"))
    ended = run("pipeline", "--profile", "p", "archive", "--archive", "lake")
    assert passed["arguments"] == ["archive", "--archive", "lake"]
    assert passed["below"]["bootstrap"] == "k:9093"
    assert "open sesame" in passed["below"]["kafka"]["sasl.jaas.config"]
    assert passed["below"]["producer"]["sasl.password"] == "open sesame"
    assert "sesame" not in ended.out + ended.err


def test_without_security_nothing_is_handed_over() -> None:
    assert handed_over(Profile()) == {}
    assert handed_over(Profile(bootstrap="k:1")) == {"bootstrap": "k:1"}


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-256", "scram.ScramLoginModule")],
)
def test_passwords_in_both_languages(mechanism: str, module: str) -> None:
    profile = Profile(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, sasl_username="me", sasl_password='a"b\\c'
    )
    java = java_settings(profile)
    assert java["sasl.mechanism"] == mechanism
    assert java["sasl.jaas.config"] == (
        f'org.apache.kafka.common.security.{module} required username="me" password="a\\"b\\\\c";'
    )
    assert librdkafka_settings(profile) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "me",
        "sasl.password": 'a"b\\c',
    }


def test_certificates_in_both_languages(tmp_path: Path) -> None:
    chain, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    chain.write_text(CHAIN)
    key.write_text("a comment\n" + KEY)
    profile = Profile(
        security_protocol="SSL",
        ssl_cafile="/ca.pem",
        ssl_certfile=str(chain),
        ssl_keyfile=str(key),
        ssl_check_hostname=False,
    )
    assert java_settings(profile) == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": CHAIN,
        "ssl.keystore.key": KEY,
        "ssl.endpoint.identification.algorithm": "",
    }
    assert librdkafka_settings(profile) == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": str(chain),
        "ssl.key.location": str(key),
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_key_that_java_cannot_read_is_named(tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text(CHAIN + "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
    with pytest.raises(UsageMistake, match=r"both\.pem holds no private key that Java reads") as refused:
        java_settings(Profile(security_protocol="SSL", ssl_certfile=str(both)))
    assert "openssl pkcs8" in refused.value.hint
    with pytest.raises(UsageMistake, match="cannot be read"):
        java_settings(Profile(security_protocol="SSL", ssl_certfile=str(tmp_path / "none.pem")))


def test_without_spark_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(_: list[str], below: dict[str, Any]) -> int:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr("tools.pipelines.__main__.main", main)
    ended = run("pipeline", "archive")
    assert ended.code == 1
    assert "pip install 'tidegate[spark]'" in ended.err
