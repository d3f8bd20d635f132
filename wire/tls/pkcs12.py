"""PKCS12, the form in which Java keeps keys and certificates, made into the form that OpenSSL's contexts read."""

from typing import TYPE_CHECKING

from engine.errors import InvalidConfig

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates


def key_and_chain(data: bytes, password: str | None, place: str) -> bytes:
    """PEM of the key in a keystore, its certificate and those above it; it is never written to a disk."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    store = _opened(data, password, f"{place} (ssl.keystore.location)", "ssl.keystore.password")
    if store.key is None or store.cert is None:
        raise InvalidConfig(f"{place} (ssl.keystore.location) holds no key with its certificate")
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = (store.cert, *store.additional_certs)
    return key + b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain)


def certificates(data: bytes, password: str | None, place: str) -> bytes:
    """PEM of every certificate in a truststore."""
    from cryptography.hazmat.primitives.serialization import Encoding

    store = _opened(data, password, f"{place} (ssl.truststore.location)", "ssl.truststore.password")
    found = [*(() if store.cert is None else (store.cert,)), *store.additional_certs]
    if not found:
        raise InvalidConfig(f"{place} (ssl.truststore.location) holds no certificate")
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in found)


def _opened(data: bytes, password: str | None, place: str, key: str) -> "PKCS12KeyAndCertificates":
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        return load_pkcs12(data, None if password is None else password.encode())
    except (ValueError, TypeError) as error:
        raise InvalidConfig(f"{place} cannot be opened: {key} is wrong, or it is no PKCS12 ({error})") from None
