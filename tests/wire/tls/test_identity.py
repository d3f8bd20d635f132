"""A listener's certificates: checked before they count, exchanged under clients, and who is let in by them."""

import datetime
import logging
import os
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from trio.testing import trio_test

from coordinators.access.password_file import PasswordHash, format_users
from engine.errors import InvalidConfig
from tests.wire.kafka.door import Client, Closed, Door, open_door, until
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.sasl.clients import plain_login
from tests.wire.tls.authorities import AUTHORITY, BROKER, CLIENT, client_context, written
from tidegate.dev_certificates import Authority, Identity
from tidegate.entrances import Entrances
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.metadata import MetadataRequest
from wire.tls.identity import TlsIdentity, TlsSources

TRUSTED = AUTHORITY.identity.certificate_pem.decode()


async def connect(door: Door, context: ssl.SSLContext, name: str = "localhost") -> Client:
    host, port = door.broker.kafka_address.rsplit(":", 1)
    stream = trio.SSLStream(await trio.open_tcp_stream(host, int(port)), context, server_hostname=name)
    client = Client(stream)  # type: ignore[arg-type]
    door._clients.append(client)
    return client


@asynccontextmanager
async def encrypted(tmp_path: Path, **settings: object) -> AsyncIterator[Door]:
    keystore = written(tmp_path / "broker.pem", BROKER)
    values: dict[str, object] = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.certificates": TRUSTED,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    async with open_door(tmp_path / "data", values) as door:
        yield door


def principals(door: Door) -> set[str]:
    return {str(each.peer.caller.principal) for each in door.broker.server.connections.values()}


@trio_test
async def test_a_client_that_trusts_the_authority_is_served_and_nobody_in_particular(tmp_path: Path) -> None:
    async with encrypted(tmp_path) as door:
        client = await connect(door, client_context())
        await create_topic(client, "t", 1)
        assert (await produced(client, "t", batch())).error_code == 0
        assert principals(door) == {"User:ANONYMOUS"}
        other = await connect(door, client_context(), "elsewhere.example")
        with pytest.raises(trio.BrokenResourceError):
            await other.ask(ApiVersionsRequest("a", "1"))


@trio_test
async def test_who_shows_a_certificate_is_who_the_rules_make_of_its_name(tmp_path: Path) -> None:
    shown = written(tmp_path / "client.pem", CLIENT)
    settings = {"ssl_client_auth": "required", "ssl_principal_mapping_rules": "RULE:CN=(.*)/$1/"}
    async with encrypted(tmp_path, **settings) as door:
        client = await connect(door, client_context(shown))
        assert (await client.ask(ApiVersionsRequest("a", "1"))).error_code == 0
        assert principals(door) == {"User:orders"}
        stranger = written(tmp_path / "stranger.pem", Authority.make("other").client("orders"))
        expired = written(tmp_path / "expired.pem", AUTHORITY.client("orders", days=-1))
        for path in (None, stranger, expired):
            refused = await connect(door, client_context(path))
            with pytest.raises((trio.BrokenResourceError, Closed, ssl.SSLError)):
                await refused.ask(ApiVersionsRequest("a", "1"))
        await until(lambda: door.broker.server.ended["unauthenticated"] == 3)


@trio_test
async def test_where_it_is_only_requested_one_may_have_none(tmp_path: Path) -> None:
    async with encrypted(tmp_path, ssl_client_auth="requested") as door:
        client = await connect(door, client_context())
        assert (await client.ask(ApiVersionsRequest("a", "1"))).error_code == 0
        shown = await connect(door, client_context(written(tmp_path / "client.pem", CLIENT)))
        assert (await shown.ask(ApiVersionsRequest("a", "1"))).error_code == 0
        assert principals(door) == {"User:ANONYMOUS", "User:CN=orders"}


@trio_test
async def test_who_is_revoked_is_not_let_in_and_the_list_is_read_again(tmp_path: Path) -> None:
    shown = written(tmp_path / "client.pem", CLIENT)
    (tmp_path / "revoked.pem").write_bytes(AUTHORITY.revocations())
    settings = {"ssl_client_auth": "required", "ssl_crl_location": str(tmp_path / "revoked.pem")}
    async with encrypted(tmp_path, **settings) as door:
        client = await connect(door, client_context(shown))
        assert (await client.ask(ApiVersionsRequest("a", "1"))).error_code == 0
        (tmp_path / "revoked.pem").write_bytes(AUTHORITY.revocations(CLIENT))
        await door.broker.node.services[Entrances].reload()
        late = await connect(door, client_context(shown))
        with pytest.raises((trio.BrokenResourceError, Closed)):
            await late.ask(ApiVersionsRequest("a", "1"))


@pytest.mark.parametrize("is_again", [False, True])
@trio_test
async def test_who_fails_to_log_in_is_told_so_and_then_that_this_was_the_end(tmp_path: Path, is_again: bool) -> None:
    (tmp_path / "users").write_text(format_users({"alice": PasswordHash.of("sesame", os.urandom)}))
    settings = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "sasl_enabled_mechanisms": "PLAIN",
        "sasl_plain_users_location": str(tmp_path / "users"),
    }
    async with encrypted(tmp_path, **settings) as door:
        client = await connect(door, client_context())
        if is_again:
            assert (await plain_login(client, "alice", "sesame")).error_code == 0
        assert (await plain_login(client, "alice", "wrong")).error_code == 58
        with trio.fail_after(5):
            assert await client.stream.receive_some() == b"", "an end that nobody could have made on the way"


@trio_test
async def test_certificates_are_exchanged_under_load_without_an_error(tmp_path: Path) -> None:
    async with encrypted(tmp_path) as door:
        stays = await connect(door, client_context())
        await create_topic(stays, "t", 1)
        done, errors = 0, []

        async def produce_on(client: Client) -> None:
            nonlocal done
            for _ in range(60):
                errors.append((await produced(client, "t", batch())).error_code)
            done += 1

        async def come_and_go() -> None:
            for _ in range(20):
                client = await connect(door, client_context())
                errors.append(((await client.ask(MetadataRequest(topics=[]))).topics and 1) or 0)
                await client.stream.aclose()

        seen = set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce_on, stays)
            nursery.start_soon(come_and_go)
            for _ in range(5):
                written(tmp_path / "broker.pem", AUTHORITY.broker(["localhost", "127.0.0.1"]))
                await door.broker.node.services[Entrances].reload()
                client = await connect(door, client_context())
                await client.ask(ApiVersionsRequest("a", "1"))
                stream = client.stream
                assert isinstance(stream, trio.SSLStream)
                seen.add(stream.getpeercert()["serialNumber"])
        assert done == 1
        assert not any(errors)
        assert len(seen) == 5, "each new one was shown"


@trio_test
async def test_a_handshake_that_does_not_go_on_ends(tmp_path: Path) -> None:
    async with encrypted(tmp_path, ssl_handshake_timeout_ms=150) as door:
        host, port = door.broker.kafka_address.rsplit(":", 1)
        silent = [await trio.open_tcp_stream(host, int(port)) for _ in range(20)]
        for stream in silent[:10]:
            await stream.send_all(b"\x16\x03\x01\x02\x00")
        client = await connect(door, client_context())
        assert (await client.ask(ApiVersionsRequest("a", "1"))).error_code == 0
        await until(lambda: door.broker.server.ended["unauthenticated"] == 20)
        for stream in silent:
            await stream.aclose()


def identity(own: Identity, tmp_path: Path, *, others: bool = False) -> TlsIdentity:
    path = written(tmp_path / "own.pem", own)
    made = TlsIdentity("SSL", TlsSources(keystore=str(path), allows_other_names=others))
    made.load()
    return made


def with_alternatives(value: bytes) -> bytes:
    """A certificate whose other names are these bytes."""
    key, now = BROKER.key, datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    names = x509.UnrecognizedExtension(x509.OID_SUBJECT_ALTERNATIVE_NAME, value)
    made = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    return BROKER.key_pem + made.public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"nothing", "holds no certificate"),
        (BROKER.certificate_pem, "cannot be used"),
        (BROKER.certificate_pem + CLIENT.key_pem, "key values mismatch"),
        (AUTHORITY.broker(["localhost"], days=-1).pem, "not now"),
        (AUTHORITY.broker(["localhost"], name="localhost").pem, r"not about 127\.0\.0\.1"),
        (AUTHORITY.broker(["localhost", "127.0.0.1"], name="other").pem, "its owner is CN=other"),
        (with_alternatives(b"\x30\x03\x82\x01\xff"), "cannot be read"),
        (with_alternatives(b"none"), "cannot be read"),
    ],
)
def test_what_is_not_right_does_not_take_the_place_of_what_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes, said: str
) -> None:
    made = identity(BROKER, tmp_path)
    before = made.context
    (tmp_path / "own.pem").write_bytes(content)
    with caplog.at_level(logging.DEBUG):
        made.reload()
    assert made.context is before
    assert re.search(said, caplog.text)
    assert "PRIVATE" not in caplog.text


def test_other_names_are_taken_where_that_is_allowed(tmp_path: Path) -> None:
    made = identity(BROKER, tmp_path, others=True)
    before = made.context
    written(tmp_path / "own.pem", AUTHORITY.broker(["elsewhere"]))
    made.reload()
    assert made.context is not before


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (TlsSources(), "tidegate cert dev"),
        (TlsSources(keystore="/nowhere.pem"), "Cannot read /nowhere.pem"),
        (TlsSources(chain="x", key="y", client_auth="required"), "needs ssl.truststore.location"),
        (TlsSources(chain="x", key="y"), "holds no certificate"),
    ],
)
def test_what_is_missing_at_the_start_is_told(sources: TlsSources, said: str) -> None:
    with pytest.raises(InvalidConfig, match=said):
        TlsIdentity("SSL", sources).load()


def test_an_encrypted_key_needs_its_password_and_asks_nobody_for_it() -> None:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

    key = BROKER.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame")).decode()
    chain = BROKER.certificate_pem.decode()
    TlsIdentity("SSL", TlsSources(chain=chain, key=key, key_password="sesame")).load()
    with pytest.raises(InvalidConfig, match="cannot be used"):
        TlsIdentity("SSL", TlsSources(chain=chain, key=key)).load()
    assert "sesame" not in repr(TlsSources(chain=chain, key=key, key_password="sesame"))


def test_a_directory_as_kubernetes_makes_it_of_a_secret_is_read_like_a_file(tmp_path: Path) -> None:
    for name, content in (
        ("tls.key", BROKER.key_pem),
        ("tls.crt", BROKER.certificate_pem),
        ("ca.crt", AUTHORITY.identity.certificate_pem),
    ):
        (tmp_path / name).write_bytes(content)
    identity = TlsIdentity("SSL", TlsSources(keystore=str(tmp_path), truststore=str(tmp_path), client_auth="required"))
    identity.load()
    assert identity.context.verify_mode is ssl.CERT_REQUIRED
    (tmp_path / "tls.key").unlink()
    with pytest.raises(InvalidConfig, match=r"tls\.key \(ssl\.keystore\.location\)"):
        TlsIdentity("SSL", TlsSources(keystore=str(tmp_path))).load()


def test_java_s_keystores_and_truststores_are_read(tmp_path: Path) -> None:
    keystore, truststore = pkcs12_stores(tmp_path, b"sesame")
    sources = TlsSources(
        keystore=str(keystore),
        keystore_type="PKCS12",
        keystore_password="sesame",
        truststore=str(truststore),
        truststore_type="PKCS12",
        truststore_password="sesame",
        client_auth="required",
    )
    identity = TlsIdentity("SSL", sources)
    identity.load()
    assert identity.context.verify_mode is ssl.CERT_REQUIRED
    (trusted,) = identity.context.get_ca_certs()
    assert "Tidegate" in str(trusted["subject"])
    assert "sesame" not in repr(sources)


@pytest.mark.parametrize(("name", "key"), [("keystore", "ssl.keystore"), ("truststore", "ssl.truststore")])
def test_a_wrong_password_of_a_store_is_named(tmp_path: Path, name: str, key: str) -> None:
    stores = dict(zip(("keystore", "truststore"), map(str, pkcs12_stores(tmp_path, b"sesame")), strict=True))
    given = {f"{each}_type": "PKCS12" for each in stores} | {f"{each}_password": "sesame" for each in stores}
    sources = TlsSources(**{**stores, **given, f"{name}_password": "wrong"})
    with pytest.raises(InvalidConfig, match=rf"{key}\.password is wrong"):
        TlsIdentity("SSL", sources).load()


def pkcs12_stores(folder: Path, password: bytes) -> tuple[Path, Path]:
    """A keystore with the broker's key and a truststore with the authority, as Java's keytool makes them."""
    locked = serialization.BestAvailableEncryption(password)
    key = serialization.load_pem_private_key(BROKER.key_pem, None)
    own = x509.load_pem_x509_certificates(BROKER.certificate_pem)
    authority = x509.load_pem_x509_certificate(AUTHORITY.identity.certificate_pem)
    keystore, truststore = folder / "broker.p12", folder / "trust.p12"
    keystore.write_bytes(pkcs12.serialize_key_and_certificates(b"broker", key, own[0], own[1:] or None, locked))  # type: ignore[arg-type]
    truststore.write_bytes(pkcs12.serialize_key_and_certificates(None, None, None, [authority], locked))
    return keystore, truststore
