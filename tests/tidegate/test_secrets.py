"""Secrets are told nowhere: not by the log at its finest, not by what the broker shows of its settings."""

import base64
import logging
import os
from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.access.password_file import PasswordHash
from tests.coordinators.access.issuing import AUDIENCE, ISSUER, RSA, document, token
from tests.wire.http.door import HttpDoor
from tests.wire.kafka.door import Client, Door, open_door
from tests.wire.kafka.sasl.clients import ScramClient, plain_login, scram_login
from tests.wire.tls.authorities import AUTHORITY, BROKER, client_context
from tests.wire.tls.test_identity import connect
from wire.kafka.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest

PASSWORD, WRONG, DOOR_TOKEN = "s3same-right", "s3same-wrong", "s3same-door"
SALT = bytes(range(24))
BROKER_RESOURCE = 4


async def _log_in_every_way(door: Door, jwt: str) -> None:
    for user, password in (("carol", PASSWORD), ("carol", WRONG), ("nobody", WRONG)):
        client = await connect(door, client_context())
        await scram_login(client, ScramClient(user, password), "SCRAM-SHA-256")
        client = await connect(door, client_context())
        await plain_login(client, user.replace("carol", "alice"), password)
    client = await connect(door, client_context())
    await client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
    await client.ask(SaslAuthenticateRequest(f"n,,\x01auth=Bearer {jwt}\x01\x01".encode()), 2)


async def _known(door: Door) -> Client:
    client = await connect(door, client_context())
    assert (await plain_login(client, "alice", PASSWORD)).error_code == 0
    return client


@trio_test
async def test_neither_the_log_nor_what_is_shown_tells_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """CVE-2026-33558: credentials in the log at DEBUG."""
    caplog.set_level(logging.DEBUG)
    (tmp_path / "users").write_text(f"alice:{PasswordHash.of(PASSWORD, os.urandom)}\n")
    (tmp_path / "keys").write_bytes(document(RSA))
    jwt, scram = token(), ScramClient("carol", PASSWORD)
    scram.final(f"r=x,s={base64.b64encode(SALT).decode()},i=4096".encode())
    settings: dict[str, object] = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        "sasl.plain.users.location": str(tmp_path / "users"),
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{tmp_path}/keys",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "ssl.keystore.key": BROKER.key_pem.decode(),
        "ssl.keystore.certificate.chain": BROKER.certificate_pem.decode(),
        "ssl.truststore.certificates": AUTHORITY.identity.certificate_pem.decode(),
        "listener.name.sasl_ssl.ssl.key.password": "s3same-key",
        "http.port": -1,
        "http.token": DOOR_TOKEN,
        "connection.failed.authentication.delay.ms": 0,
    }
    async with open_door(tmp_path / "data", settings) as door:
        client = await _known(door)
        row = ScramCredentialUpsertion("carol", 1, 4096, SALT, scram.salted)
        assert (await client.ask(AlterUserScramCredentialsRequest(upsertions=[row]))).results[0].error_code == 0
        await _log_in_every_way(door, jwt)
        wanted = DescribeConfigsRequest([DescribeConfigsResource(BROKER_RESOURCE, "1")], True, True)
        shown = repr(await client.ask(wanted))
        told = str(await HttpDoor(door).get("/config", headers={"Authorization": f"Bearer {DOOR_TOKEN}"}))
        kept = repr(door.broker.config) + repr(door.broker.config.settings)
    assert "listener.name.sasl_ssl.ssl.key.password" in shown, "that it is set is told"
    key_line = BROKER.key_pem.decode().splitlines()[1]
    secrets = ["s3same", key_line, jwt.rpartition(".")[2], scram.salted.hex(), base64.b64encode(scram.salted).decode()]
    secrets += [SALT.hex(), base64.b64encode(SALT).decode(), repr(SALT)]
    everything = {"the log": caplog.text, "DescribeConfigs": shown, "/config": told, "the config's own text": kept}
    for place, text in everything.items():
        assert text
        assert [secret for secret in secrets if secret in text] == [], place
