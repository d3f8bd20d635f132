"""Whose tenant somebody is who has logged in; and rules, which apply besides."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.access.password_file import PasswordHash
from coordinators.tenants.tenants import UnknownTenant
from tests.coordinators.access.issuing import AUDIENCE, ISSUER, RSA, claims, document, token
from tests.wire.kafka.door import Client, Closed
from tests.wire.kafka.requests import batch, create_topic, fetched, produced
from tests.wire.kafka.sasl.clients import plain_login
from tests.wire.kafka.tenancy.tenants import TenantDoor, open_tenants
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest
from wire.kafka.messages.metadata import MetadataRequest
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest

HASH = str(PasswordHash.of("sesame", os.urandom))
OPERATOR, IN, ZULU = range(3)
TOPIC, LITERAL, ANY_HOST, READ, ALLOW = 2, 3, "*", 3, 3


@asynccontextmanager
async def guarded(
    tmp_path: Path, settings: dict[str, object] | None = None, *, is_new: bool = True
) -> AsyncIterator[TenantDoor]:
    """A listener that asks who somebody is, and one that does so for the tenant `zulu`."""
    (tmp_path / "users").write_text("".join(f"{name}:{HASH}\n" for name in ("acme.bob", "alice", "root", "zulu.zoe")))
    values: dict[str, object] = {
        "listeners": "PLAINTEXT://127.0.0.1:0,IN://127.0.0.1:0,ZULU://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:SASL_PLAINTEXT,ZULU:SASL_PLAINTEXT",
        "listener.name.zulu.tenant": "zulu",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.plain.users.location": str(tmp_path / "users"),
        "connection.failed.authentication.delay.ms": 20,
    }
    async with open_tenants(tmp_path / "data", {**values, **(settings or {})}, bare=True, is_new=is_new) as tenants:
        yield tenants


async def login(tenants: TenantDoor, listener: int, user: str) -> Client:
    client = await tenants.connect(listener)
    answer = await plain_login(client, user, "sesame")
    assert answer.error_code == 0
    return client


async def names(client: Client) -> list[str]:
    return sorted(topic.name for topic in (await client.ask(MetadataRequest(None))).topics)


@trio_test
async def test_whoever_logs_in_is_in_its_tenants_namespace(tmp_path: Path) -> None:
    async with guarded(tmp_path) as tenants:
        await tenants.administration.alter("acme", rewrite=True)
        bob, alice = await login(tenants, IN, "acme.bob"), await login(tenants, IN, "alice")
        await create_topic(bob, "orders")
        await create_topic(alice, "shared")
        assert await names(bob) == ["orders"]
        assert await names(alice) == ["acme.orders", "shared"]
        # From now on alice is the tenant's too, on the connection that she has.
        await tenants.administration.alter("acme", principals=["User:alice", "User:acme.*"], rewrite=False)
        assert await names(alice) == await names(bob) == ["acme.orders"]


@trio_test
async def test_who_belongs_to_another_tenant_than_the_listeners_is_refused(tmp_path: Path) -> None:
    async with guarded(tmp_path) as tenants:
        zoe = await login(tenants, ZULU, "zulu.zoe")
        assert await names(zoe) == []
        alice = await login(tenants, ZULU, "alice")
        assert await names(alice) == []
        bob = await login(tenants, ZULU, "acme.bob")
        with pytest.raises(Closed):
            await names(bob)


@trio_test
async def test_rules_apply_besides_on_full_names(tmp_path: Path) -> None:
    settings: dict[str, object] = {"authorizer.enable": True, "super.users": "User:root;User:ANONYMOUS"}
    async with guarded(tmp_path, settings) as tenants:
        await tenants.administration.alter("acme", rewrite=True)
        operator = await tenants.connect(OPERATOR)
        await create_topic(operator, "acme.orders")
        await produced(operator, "acme.orders", batch())
        bob = await login(tenants, IN, "acme.bob")
        assert await names(bob) == []
        assert (await fetched(bob, "orders")).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        rule = AclCreation(TOPIC, "acme.orders", LITERAL, "User:acme.bob", ANY_HOST, READ, ALLOW)
        made = await operator.ask(CreateAclsRequest([rule]))
        assert made.results[0].error_code == 0
        assert await names(bob) == ["orders"]
        assert (await fetched(bob, "orders")).error_code == 0
        assert (await produced(bob, "orders", batch())).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@trio_test
async def test_a_token_names_its_owners_tenant(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(document(RSA))
    settings: dict[str, object] = {
        "listeners": "PLAINTEXT://127.0.0.1:0,IN://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:SASL_PLAINTEXT",
        "listener.name.in.tenant.rewrite": True,
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{tmp_path}/keys.json",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.tenant.claim.name": "org",
    }
    async with open_tenants(tmp_path / "data", settings, bare=True) as tenants:
        operator = await tenants.connect(OPERATOR)
        for name in ("acme.orders", "zulu.orders"):
            await create_topic(operator, name)
        now = int(time.time())
        for tenant, seen in (("acme", ["orders"]), (None, ["acme.orders", "zulu.orders"])):
            client = await tenants.connect(IN)
            await show_token(client, token(claims(iat=now - 5, exp=now + 600, org=tenant)))
            assert await names(client) == seen
        # A tenant that there is not is not as none.
        client = await tenants.connect(IN)
        await show_token(client, token(claims(iat=now - 5, exp=now + 600, org="nobody")))
        with pytest.raises(Closed):
            await names(client)


async def show_token(client: Client, text: str) -> None:
    await client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
    said = f"n,,\x01auth=Bearer {text}\x01\x01".encode()
    assert (await client.ask(SaslAuthenticateRequest(said), 2)).error_code == 0


@trio_test
async def test_who_was_a_tenants_is_never_served_as_nobodys_on_the_same_connection(tmp_path: Path) -> None:
    async with guarded(tmp_path) as tenants:
        await tenants.administration.alter("acme", principals=["User:alice", "User:acme.*"])
        bob, alice, zoe = [await login(tenants, IN, name) for name in ("acme.bob", "alice", "zulu.zoe")]
        await create_topic(zoe, "zulu.orders")
        assert [await names(each) for each in (bob, alice, zoe)] == [[], [], ["zulu.orders"]]
        usage = tenants.door.broker.server.tenancy.usages
        assert usage.of("acme").connections == 2
        await tenants.administration.alter("acme", principals=["User:acme.*"])
        with pytest.raises(Closed):
            await names(alice)
        assert usage.of("acme").connections == 1
        await tenants.administration.delete("acme")
        assert usage.of("acme").connections == 0
        with pytest.raises(Closed):
            await names(bob)
        # Nor after the last tenant went.
        await tenants.administration.delete("zulu", force=True)
        with pytest.raises(Closed):
            await names(zoe)
        assert usage.of("acme").connections == usage.of("zulu").connections == 0


@trio_test
async def test_whom_a_deleted_tenant_listed_is_refused_until_it_is_let_go(tmp_path: Path) -> None:
    async with guarded(tmp_path) as tenants:
        administration = tenants.administration
        for name in ("acme", "zulu"):
            await administration.delete(name)
        assert list(administration.tenants) == []
        with pytest.raises(UnknownTenant):
            await administration.delete("acme")
        with pytest.raises(Closed):
            await names(await login(tenants, IN, "acme.bob"))
        assert await names(await login(tenants, IN, "alice")) == []
        await administration.create("acme")
        assert await names(await login(tenants, IN, "acme.bob")) == []
        await create_topic(await login(tenants, IN, "alice"), "acme.left")
        await administration.delete("acme", force=True)
        with pytest.raises(Closed):
            await names(await login(tenants, IN, "acme.bob"))
        await administration.delete("acme", release=True)
        assert await names(await login(tenants, IN, "acme.bob")) == ["acme.left"]
        with pytest.raises(Closed):
            await names(await login(tenants, IN, "zulu.zoe"))


@trio_test
async def test_a_deleted_tenant_is_known_after_a_restart(tmp_path: Path) -> None:
    async with guarded(tmp_path) as tenants:
        await tenants.administration.delete("acme")
        await tenants.administration.delete("zulu")
    async with guarded(tmp_path, is_new=False) as tenants:
        assert list(tenants.administration.tenants) == []
        with pytest.raises(Closed):
            await names(await login(tenants, IN, "acme.bob"))
