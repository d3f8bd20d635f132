"""Certificates for the tests: an authority, the broker's, and clients'."""

from pathlib import Path

import trustme
from attrs import define, field
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tools.reference.secured import Files


@define
class Certificates:
    """Files in a folder, made when they are asked for."""

    folder: Path
    _authority: trustme.CA = field(factory=trustme.CA)

    def __attrs_post_init__(self) -> None:
        self._authority.cert_pem.write_to_path(str(self.authority))
        self.write_server()

    @property
    def authority(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def server(self) -> Path:
        """The broker's key and chain, in one file."""
        return self.folder / "server.pem"

    @property
    def files(self) -> Files:
        return Files(self.authority, self.server)

    def write_server(self) -> None:
        """A new certificate of the broker, in the place of the one before."""
        names = {"common_name": "broker", "organization_name": "tests", "organization_unit_name": "brokers"}
        issued = self._authority.issue_cert("127.0.0.1", "localhost", **names)
        fresh = self.folder / "server.new"
        fresh.write_bytes(key_of(issued) + chain_of(issued))
        fresh.replace(self.server)

    def client(self, name: str, unit: str = "clients", *, trusted: bool = True) -> tuple[Path, Path]:
        """A client's chain and key; `trusted`: by the broker's authority."""
        authority = self._authority if trusted else trustme.CA()
        issued = authority.issue_cert(
            f"{name}@tests.invalid", common_name=name, organization_name="tests", organization_unit_name=unit
        )
        chain, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        chain.write_bytes(chain_of(issued))
        key.write_bytes(key_of(issued))
        return chain, key


def chain_of(issued: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in issued.cert_chain_pems)


def key_of(issued: trustme.LeafCert) -> bytes:
    """The key as PKCS#8, which Java reads."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
