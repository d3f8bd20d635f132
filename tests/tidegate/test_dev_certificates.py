"""Certificates for trying it out: what clients and servers of the library think of them."""

import ssl
import stat
from pathlib import Path

import pytest

from tidegate.dev_certificates import Authority, Identity, write_secret

AUTHORITY = Authority.make()


def shake(server: Identity, name: str, tmp_path: Path) -> None:
    """A handshake in memory."""
    write_secret(tmp_path / "server.pem", server.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    trusting = ssl.create_default_context(cadata=AUTHORITY.identity.certificate_pem.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        trusting.wrap_bio(to_client, to_server, server_hostname=name),
        context.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "kafka.example"])
def test_a_broker_is_known_by_its_hosts_and_addresses(tmp_path: Path, name: str) -> None:
    shake(AUTHORITY.broker(["localhost", "127.0.0.1", "::1", "kafka.example"]), name, tmp_path)


@pytest.mark.parametrize("name", ["other.example", "127.0.0.2"])
def test_it_is_not_known_by_others(tmp_path: Path, name: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(AUTHORITY.broker(["localhost", "127.0.0.1"]), name, tmp_path)


def test_a_client_cannot_pose_as_a_broker(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(AUTHORITY.client("localhost"), "localhost", tmp_path)


def test_what_is_written_is_the_owners_alone(tmp_path: Path) -> None:
    write_secret(tmp_path / "key.pem", b"secret")
    write_secret(tmp_path / "key.pem", b"another")
    assert (tmp_path / "key.pem").read_bytes() == b"another"
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
