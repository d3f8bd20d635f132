"""The command line with TLS and passwords."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from compat_tests.brokers import target
from coordinators.access.password_file import PasswordHash, format_users
from tidegate import testing
from tools.reference.broker import free_port, reference_kafka

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
PATIENCE_S = 60.0
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("secure")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=127.0.0.1"
    subject = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command.split(), *subject], cwd=folder, check=True, capture_output=True)
    (folder / "keystore.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    return folder


@contextmanager
def secure_broker(folder: Path, plain: int, tls: int, scram: int) -> Iterator[str]:
    """Three listeners: open, PLAIN over TLS, and SCRAM; where the open one is."""
    if target() == "kafka":
        with pytest.MonkeyPatch.context() as patch:
            # A container would not see the certificate.
            patch.setenv("REFERENCE_KAFKA", "jars")
            own = kafka_settings(folder, plain, tls, scram, free_port())
            with reference_kafka(own, port=plain, heap="512m") as kafka:
                _add_user(kafka.bootstrap)
                yield kafka.bootstrap
        return
    (folder / "users").write_text(format_users({"tools": PasswordHash.of("secret", os.urandom)}))
    own = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},TLS://127.0.0.1:{tls},SCRAM://127.0.0.1:{scram}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SASL_SSL,SCRAM:SASL_PLAINTEXT",
        "listener.name.tls.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.plain.users.location": str(folder / "users"),
        "ssl.keystore.location": str(folder / "keystore.pem"),
    }
    with testing.broker(own):
        _add_user(f"127.0.0.1:{plain}")
        yield f"127.0.0.1:{plain}"


def kafka_settings(folder: Path, plain: int, tls: int, scram: int, controller: int) -> dict[str, str]:
    """The same as Kafka writes it."""
    clients = f"PLAINTEXT://127.0.0.1:{plain},TLS://127.0.0.1:{tls},SCRAM://127.0.0.1:{scram}"
    module = "org.apache.kafka.common.security"
    return {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SASL_SSL,SCRAM:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.tls.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.tls.plain.sasl.jaas.config": f'{module}.plain.PlainLoginModule required user_tools="secret";',
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{module}.scram.ScramLoginModule required;",
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(folder / "keystore.pem"),
    }


@pytest.fixture(scope="module")
def tidegate(folder: Path) -> Iterator[Run]:
    """The program, with a profile for each listener, and some that are wrong."""
    plain, tls, scram = (free_port() for _ in range(3))
    common = 'sasl_username = "tools"\nsasl_password = "secret"\n'
    secure = f'bootstrap = "127.0.0.1:{tls}"\nsecurity_protocol = "SASL_SSL"\n'
    (folder / "cli.toml").write_text(
        f'[profiles.tls]\n{secure}{common}ssl_cafile = "ca.pem"\n'
        f'[profiles.password]\n{secure}sasl_username = "tools"\nsasl_password = "wrong"\nssl_cafile = "ca.pem"\n'
        f"[profiles.untrusted]\n{secure}{common}"
        f'[profiles.open]\nbootstrap = "127.0.0.1:{tls}"\ntimeout_s = 5\n'
        f'[profiles.scram]\nbootstrap = "127.0.0.1:{scram}"\nsecurity_protocol = "SASL_PLAINTEXT"\n'
        f'sasl_mechanism = "SCRAM-SHA-512"\n{common}'
    )

    def run(profile: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "tidegate", "--profile", profile, *arguments]
        environment = {**os.environ, "TIDEGATE_CLI_CONFIG": str(folder / "cli.toml")}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    with secure_broker(folder, plain, tls, scram):
        yield run


def _add_user(bootstrap: str) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wanted = UserScramCredentialUpsertion("tools", info, b"secret")
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.alter_user_scram_credentials([wanted]).values():
        done.result(PATIENCE_S)


@pytest.mark.parametrize("profile", ["tls", "scram"])
def test_topics_records_and_groups(tidegate: Run, profile: str) -> None:
    assert tidegate(profile, "topic", "create", f"t-{profile}").returncode == 0
    assert tidegate(profile, "produce", f"t-{profile}", "hello").returncode == 0
    assert tidegate(profile, "consume", f"t-{profile}", "-e").stdout == "hello\n"
    assert tidegate(profile, "consume", f"t-{profile}", "-g", "g", "-e").stdout == "hello\n"
    assert tidegate(profile, "group", "lag", "g").returncode == 0


@pytest.mark.parametrize(
    ("profile", "code", "said"),
    [
        ("password", 5, "does not let us in: Authentication failed"),
        ("untrusted", 3, "self-signed certificate"),
        ("open", 3, "does it want TLS or a password?"),
    ],
)
def test_what_is_wrong_is_told(tidegate: Run, profile: str, code: int, said: str) -> None:
    for arguments in (["topic", "list"], ["produce", "t", "x"], ["consume", "t", "-e"]):
        ended = tidegate(profile, *arguments)
        assert ended.returncode == code, ended.stderr
        (line,) = ended.stderr.splitlines()
        assert said in line
