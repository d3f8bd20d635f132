"""Who may: confluent-kafka's registry client over TLS, with a password, with a certificate, and with neither."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from tidegate.testing import broker

SCHEMA = Schema(json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}), "AVRO")


def commanded(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "tidegate", *arguments], check=True, capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A registry that asks everybody, the address of it, and where certificates lie."""
    directory = tmp_path_factory.mktemp("secured")
    commanded("cert", "dev", "--out", str(directory), "--client", "alice")
    password = directory / "password"
    password.write_text("alice-secret\n")
    data = directory / "data"
    commanded("user", "add", "alice", "--data-dir", str(data), "--password-file", str(password))
    config = {
        "registry.port": "-1",
        "registry.security.protocol": "SSL",
        "registry.enabled.mechanisms": "BASIC",
        "listener.name.registry.ssl.keystore.location": str(directory / "broker.pem"),
        "listener.name.registry.ssl.truststore.location": str(directory / "ca.pem"),
        "listener.name.registry.ssl.client.auth": "requested",
        "listener.name.registry.ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        "authorizer.enable": "true",
        "super.users": "User:ANONYMOUS",
    }
    with broker(config, data_dir=data, timeout_s=60) as running:
        where = ("-b", running.bootstrap, "--timeout", "60")
        commanded("acl", "add", "alice", "read,write", "--subject", "orders", "--prefix", *where)
        yield running.registry_url, directory


def client(secured: tuple[str, Path], **options: Any) -> SchemaRegistryClient:
    url, directory = secured
    named = {name.replace("_", "."): value for name, value in options.items()}
    return SchemaRegistryClient({"url": url, "ssl.ca.location": str(directory / "ca.pem"), **named})


def refused(registry: SchemaRegistryClient, subject: str) -> tuple[int, int]:
    with pytest.raises(SchemaRegistryError) as error:
        registry.register_schema(subject, SCHEMA)
    return error.value.http_status_code, error.value.error_code


def test_nobody_is_answered_who_does_not_show_who_it_is(secured: tuple[str, Path]) -> None:
    assert refused(client(secured), "orders-value") == (401, 40101)
    assert refused(client(secured, basic_auth_user_info="alice:guessed"), "orders-value") == (401, 40101)


@pytest.mark.parametrize("way", ["password", "certificate"])
def test_rules_about_subjects_hold_for_whoever_is_known(secured: tuple[str, Path], way: str) -> None:
    pem = str(secured[1] / "client-alice.pem")
    shown = {
        "password": {"basic_auth_user_info": "alice:alice-secret"},
        "certificate": {"ssl_certificate_location": pem, "ssl_key_location": pem},
    }[way]
    registry = client(secured, **shown)
    assert registry.register_schema("orders-value", SCHEMA) == 1
    assert refused(registry, "bills-value") == (403, 40301)
    assert registry.get_subjects() == ["orders-value"]
