"""Nodes reach each other over TLS: by whom they trust, and only who is called what they dialled."""

from pathlib import Path

import pytest
import trio
from trio.testing import memory_stream_pair, trio_test

from engine.workers import InlineWorkers
from tests.wire.tls.authorities import AUTHORITY, written
from tidegate.dev_certificates import Authority, Identity
from wire.kafka.listeners import parse_listener
from wire.tls.dialling import TlsDialling
from wire.tls.identity import TlsIdentity, TlsSources


def identity(
    directory: Path, own: Identity, authority: Authority = AUTHORITY, client_auth: str = "none", **more: object
) -> TlsIdentity:
    directory.mkdir(exist_ok=True)
    trusted = directory / "trusted.pem"
    trusted.write_bytes(authority.identity.certificate_pem)
    sources = TlsSources(
        keystore=str(written(directory / "own.pem", own)),
        truststore=str(trusted),
        client_auth=client_auth,
        **more,  # type: ignore[arg-type]
    )
    made = TlsIdentity("NODES", sources)
    made.load()
    return made


async def meet(ours: TlsIdentity, theirs: TlsIdentity, address: str = "NODES://two.example:9") -> bytes | None:
    """What the other node says over TLS, and the certificate that it was shown."""
    client, server = memory_stream_pair()
    shown: list[bytes | None] = []
    refusals: list[OSError] = []

    async def serve() -> None:
        encrypted = trio.SSLStream(server, theirs.context, server_side=True)
        try:
            await encrypted.do_handshake()
            shown.append(encrypted.getpeercert(binary_form=True))
            await encrypted.send_all(b"hello")
        except trio.BrokenResourceError:
            await trio.aclose_forcefully(encrypted)

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            try:
                dialling = TlsDialling({"NODES": ours}, InlineWorkers())
                stream = await dialling.encrypt(client, parse_listener(address))
                assert await stream.receive_some() == b"hello"
            except OSError as error:
                refusals.append(error)
            finally:
                await trio.aclose_forcefully(client)
    for refusal in refusals:
        raise refusal
    return shown[0]


@trio_test
async def test_a_node_shows_its_own_certificate_where_one_is_asked_for(tmp_path: Path) -> None:
    ours = identity(tmp_path / "one", AUTHORITY.broker(["one.example"]))
    theirs = AUTHORITY.broker(["two.example"])
    assert await meet(ours, identity(tmp_path / "two", theirs)) is None
    assert await meet(ours, identity(tmp_path / "two", theirs, client_auth="required"))


@trio_test
async def test_a_node_whose_certificate_is_about_another_host_is_refused(tmp_path: Path) -> None:
    ours = identity(tmp_path / "one", AUTHORITY.broker(["one.example"]))
    theirs = identity(tmp_path / "two", AUTHORITY.broker(["other.example"]))
    with pytest.raises(OSError, match=r"Hostname mismatch, certificate is not valid for 'two\.example'"):
        await meet(ours, theirs)
    with pytest.raises(OSError, match="IP address mismatch"):
        await meet(ours, theirs, "NODES://127.0.0.1:9")


@trio_test
async def test_and_one_of_an_authority_that_is_not_trusted(tmp_path: Path) -> None:
    ours = identity(tmp_path / "one", AUTHORITY.broker(["one.example"]))
    theirs = identity(tmp_path / "two", Authority.make().broker(["two.example"]))
    with pytest.raises(OSError, match="unable to get local issuer certificate"):
        await meet(ours, theirs)


@trio_test
async def test_and_one_that_was_revoked(tmp_path: Path) -> None:
    other = AUTHORITY.broker(["two.example"])
    revoked = tmp_path / "revoked.pem"
    revoked.write_bytes(AUTHORITY.revocations(other))
    ours = identity(tmp_path / "one", AUTHORITY.broker(["one.example"]), revoked=str(revoked))
    with pytest.raises(OSError, match="certificate revoked"):
        await meet(ours, identity(tmp_path / "two", other))
    assert await meet(ours, identity(tmp_path / "two", AUTHORITY.broker(["two.example"]))) is None


@trio_test
async def test_certificates_that_were_exchanged_are_shown_from_then_on(tmp_path: Path) -> None:
    ours = identity(tmp_path / "one", AUTHORITY.broker(["one.example"]))
    theirs = identity(tmp_path / "two", AUTHORITY.broker(["two.example"]), client_auth="required")
    first = await meet(ours, theirs)
    assert await meet(ours, theirs) == first
    written(tmp_path / "one" / "own.pem", AUTHORITY.broker(["one.example"]))
    ours.reload()
    assert await meet(ours, theirs) != first


@trio_test
async def test_without_a_listener_of_the_name_there_is_nothing_to_show() -> None:
    client, _ = memory_stream_pair()
    with pytest.raises(OSError, match="no listener NODES whose certificates"):
        await TlsDialling({}, InlineWorkers()).encrypt(client, parse_listener("NODES://two.example:9"))


@trio_test
async def test_who_does_not_speak_tls_is_told_apart(tmp_path: Path) -> None:
    ours = identity(tmp_path / "one", AUTHORITY.broker(["one.example"]))
    client, server = memory_stream_pair()
    await server.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(OSError, match="no TLS: wrong version number"):
        await TlsDialling({"NODES": ours}, InlineWorkers()).encrypt(client, parse_listener("NODES://two.example:9"))
