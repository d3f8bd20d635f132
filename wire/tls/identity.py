"""A listener's side of TLS: its certificate and key, whom it trusts, whom not any more; read again when files change.

What is read is checked before it takes the place of what was: that the key belongs to the certificate, that the
certificate is valid now, that it is about the same names. What fails is logged, and the last stays in force.
Connections that are there go on with what they began with.
"""

import datetime
import logging
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import trio
from attrs import define, field, frozen

from engine.errors import InvalidConfig
from wire.tls.names import NameRule
from wire.tls.pkcs12 import certificates, key_and_chain

if TYPE_CHECKING:
    from cryptography import x509

logger = logging.getLogger("tidegate.access")

CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
PEM, PKCS12 = "PEM", "PKCS12"
OWN_FILES, TRUSTED_FILES = ("tls.key", "tls.crt"), ("ca.crt",)
"""As a directory has them that Kubernetes makes of a secret with a certificate."""
CRL_CHECK = ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF


@frozen
class TlsSources:
    """Where it is read from, as the settings say: files, or PEM in the settings themselves."""

    keystore: str | None = None
    chain: str | None = None
    key: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    truststore: str | None = None
    trusted: str | None = None
    revoked: str | None = None
    client_auth: str = "none"
    versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    allows_other_names: bool = False
    keystore_type: str = PEM
    keystore_password: str | None = field(default=None, repr=False)
    truststore_type: str = PEM
    truststore_password: str | None = field(default=None, repr=False)

    @property
    def files(self) -> list[str]:
        """Those that may change."""
        return [path for path in (self.keystore, self.truststore, self.revoked) if path]

    def read(self) -> "TlsMaterial":
        """[thread] What stands there now; `InvalidConfig` if a file cannot be read."""
        own = self._own(self.keystore) if self.keystore else None
        if own is None:
            if not self.chain or not self.key:
                raise InvalidConfig(
                    "TLS needs a certificate: set ssl.keystore.location to a PEM file with the key and the chain, or a "
                    "directory with tls.key and tls.crt; or set ssl.keystore.certificate.chain and ssl.keystore.key; "
                    "'tidegate cert dev' makes some to try"
                )
            own = f"{self.key}\n{self.chain}\n".encode()
        trusted = self._trusted(self.truststore) if self.truststore else None
        if trusted is None and self.trusted:
            trusted = self.trusted.encode()
        if trusted is None and self.client_auth != "none":
            raise InvalidConfig(
                f"ssl.client.auth={self.client_auth} needs ssl.truststore.location (PEM): whose certificates are "
                f"clients to show?"
            )
        return TlsMaterial(own, trusted, _read(self.revoked, "ssl.crl.location") if self.revoked else None)

    def _own(self, keystore: str) -> bytes:
        if self.keystore_type == PEM:
            return _read(keystore, "ssl.keystore.location", OWN_FILES)
        return key_and_chain(_read(keystore, "ssl.keystore.location"), self.keystore_password, keystore)

    def _trusted(self, truststore: str) -> bytes:
        if self.truststore_type == PEM:
            return _read(truststore, "ssl.truststore.location", TRUSTED_FILES)
        return certificates(_read(truststore, "ssl.truststore.location"), self.truststore_password, truststore)


@frozen
class TlsMaterial:
    """PEM, as it was read."""

    own: bytes = field(repr=False)
    trusted: bytes | None = field(default=None, repr=False)
    revoked: bytes | None = field(default=None, repr=False)


@frozen
class CertificateNames:
    """What a certificate is about."""

    subject: str
    alternatives: frozenset[str]


def _read(path: str, key: str, within: tuple[str, ...] = ()) -> bytes:
    """A file, or those of these names in a directory, one behind the other."""
    paths = [os.path.join(path, name) for name in within] if within and os.path.isdir(path) else [path]
    return b"\n".join(_read_file(each, key) for each in paths)


def _read_file(path: str, key: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InvalidConfig(f"Cannot read {path} ({key}): {error.strerror}") from error


@define(eq=False)
class TlsIdentity:
    """One listener's. `context` is that of new connections."""

    listener: str
    sources: TlsSources
    rules: tuple[NameRule, ...] = (NameRule(),)
    handshake_timeout_s: float = 10.0
    turn: trio.Lock = field(factory=trio.Lock)
    """For the steps of handshakes, of all listeners."""
    protocols: tuple[str, ...] = ()
    """What is spoken here, told to clients that ask (ALPN)."""
    context: ssl.SSLContext = field(init=False)
    _material: TlsMaterial = field(init=False, repr=False)
    _names: CertificateNames = field(init=False)
    _dialling: tuple[TlsMaterial, ssl.SSLContext] | None = field(default=None, init=False, repr=False)

    def load(self) -> None:
        """[thread] For the first time; `InvalidConfig` says what is wrong."""
        self._material = self.sources.read()
        self._names = self._checked(self._material)
        self.context = self._context(self._material)

    def reload(self) -> None:
        """[thread] If something has changed, and is right."""
        try:
            material = self.sources.read()
            if material == self._material:
                return
            names = self._checked(material)
            if not self.sources.allows_other_names:
                self._compare(names)
            self.context, self._material, self._names = self._context(material), material, names
        except InvalidConfig as error:
            logger.error("the certificates stay as they were read last: %s", error, extra={"listener": self.listener})
        else:
            logger.info("certificates read again", extra={"listener": self.listener, "subject": names.subject})

    def dialling(self) -> ssl.SSLContext:
        """[thread] For connections to the same listener of other nodes: they must show a certificate of a trusted
        authority that is about the host that is dialled, and are shown this node's own."""
        material = self._material
        if self._dialling is None or self._dialling[0] is not material:
            context = self._context(material, ssl.PROTOCOL_TLS_CLIENT)
            if material.trusted is None:
                context.load_default_certs(ssl.Purpose.SERVER_AUTH)
            self._dialling = material, context
        return self._dialling[1]

    def _compare(self, names: CertificateNames) -> None:
        missing = self._names.alternatives - names.alternatives
        if names.subject != self._names.subject or missing:
            said = f"its owner is {names.subject}" if not missing else f"it is not about {', '.join(sorted(missing))}"
            raise InvalidConfig(
                f"the new certificate is about others than the last ({said}); ssl.allow.san.changes permits that"
            )

    def _checked(self, material: TlsMaterial) -> CertificateNames:
        from cryptography import x509  # here: a broker without TLS need not wait for it

        try:
            certificate = x509.load_pem_x509_certificates(material.own)[0]
        except (ValueError, IndexError):
            raise InvalidConfig(f"{self._place} holds no certificate (PEM)") from None
        try:
            begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
            subject, alternatives = certificate.subject.rfc4514_string(), _alternatives(certificate)
        except Exception as error:  # its parts are read only now, and each has errors of its own
            raise InvalidConfig(f"the certificate of {self._place} cannot be read: {error}") from None
        if not begins <= datetime.datetime.now(datetime.UTC) <= ends:
            raise InvalidConfig(
                f"the certificate of {self._place} is valid from {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC, "
                f"not now"
            )
        return CertificateNames(subject, alternatives)

    @property
    def _place(self) -> str:
        return self.sources.keystore or "ssl.keystore.certificate.chain"

    def _context(self, material: TlsMaterial, side: int = ssl.PROTOCOL_TLS_SERVER) -> ssl.SSLContext:
        sources = self.sources
        context = ssl.SSLContext(side)
        versions = [VERSIONS[name] for name in sources.versions]
        context.minimum_version, context.maximum_version = min(versions), max(versions)
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
        if side == ssl.PROTOCOL_TLS_SERVER:
            context.verify_mode = CLIENT_AUTH[sources.client_auth]
            if self.protocols:
                context.set_alpn_protocols(self.protocols)
        try:
            with _in_memory(material.own) as path:
                # Without a password OpenSSL would ask for one on the terminal.
                context.load_cert_chain(path, password=sources.key_password or "")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise InvalidConfig(f"the key and the chain of {self._place} cannot be used: {_words(error)}") from None
        try:
            if material.trusted is not None:
                context.load_verify_locations(cadata=material.trusted.decode("ascii", "replace"))
            if material.revoked is not None:
                with _in_memory(material.revoked) as path:
                    context.load_verify_locations(cafile=path)
                context.verify_flags |= CRL_CHECK
        except (ssl.SSLError, OSError, ValueError) as error:
            raise InvalidConfig(f"the certificates that are trusted cannot be used: {_words(error)}") from None
        return context


def _alternatives(certificate: "x509.Certificate") -> frozenset[str]:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(each.value) for each in names)


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """A file that OpenSSL can read and nobody else: keys are not written to any disk."""
    descriptor = os.memfd_create("tls", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _words(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(reason).replace("_", " ").lower()
