"""Certificates for trying TLS out: an authority of one's own, a broker's certificate, clients' certificates.

Made anew each time, with the authority's key kept beside them: good for a desk and for tests, not for a company.
"""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAYS = 825
"""As long as clients take a certificate for."""
SLACK = datetime.timedelta(minutes=5)
"""For clocks that are behind."""
Name = x509.Name


@frozen
class Identity:
    """A key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def pem(self) -> bytes:
        """Both, as `ssl.keystore.location` and most clients take them."""
        return self.key_pem + self.certificate_pem


@frozen
class Authority:
    """Signs the others."""

    identity: Identity

    @classmethod
    def make(cls, name: str = "Tidegate development CA", days: int = DAYS) -> "Authority":
        """A new one."""
        key, subject = ec.generate_private_key(ec.SECP256R1()), _named(name)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = (
            _begun(subject, subject, key, days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(Identity(key, builder.sign(key, hashes.SHA256())))

    def broker(self, hosts: Sequence[str], days: int = DAYS, name: str | None = None) -> Identity:
        """Of a broker, for these host names and addresses."""
        alternatives = x509.SubjectAlternativeName([_host(host) for host in hosts])
        return self._issue(_named(name or hosts[0]), ExtendedKeyUsageOID.SERVER_AUTH, days, alternatives)

    def client(self, subject: str | Name, days: int = DAYS) -> Identity:
        """Of a client, by its common name or its whole name."""
        name = _named(subject) if isinstance(subject, str) else subject
        return self._issue(name, ExtendedKeyUsageOID.CLIENT_AUTH, days, None)

    def _issue(
        self,
        subject: Name,
        usage: x509.ObjectIdentifier,
        days: int,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> Identity:
        key, own = ec.generate_private_key(ec.SECP256R1()), self.identity
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(own.key.public_key())
        # A broker connects to other brokers, too.
        usages = [usage, ExtendedKeyUsageOID.CLIENT_AUTH] if usage == ExtendedKeyUsageOID.SERVER_AUTH else [usage]
        builder = (
            _begun(subject, own.certificate.subject, key, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(issuer, critical=False)
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        return Identity(key, builder.sign(own.key, hashes.SHA256()))

    def revocations(self, *revoked: Identity, days: int = DAYS) -> bytes:
        """A list (PEM) of those that are good no longer."""
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.identity.certificate.subject)
            .last_update(now - SLACK)
            .next_update(now + datetime.timedelta(days=days))
        )
        for each in revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(each.certificate.serial_number)
            builder = builder.add_revoked_certificate(entry.revocation_date(now - SLACK).build())
        return builder.sign(self.identity.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _named(common_name: str) -> Name:
    return Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _begun(subject: Name, issuer: Name, key: ec.EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SLACK - datetime.timedelta(days=max(0, -days) * 2))
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def write_secret(path: Path, data: bytes) -> None:
    """Readable for its owner alone, and there whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    part.replace(path)
