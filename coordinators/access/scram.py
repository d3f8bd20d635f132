"""SCRAM's arithmetic (RFC 5802, RFC 7677): what is kept of a password, and how a proof is checked against it."""

import hashlib
import hmac

from attrs import frozen

from engine.catalogue.user_records import ScramCredential
from engine.ids import RandomBytes

LEAST_ITERATIONS, MOST_ITERATIONS = 4_096, 16_384
DEFAULT_ITERATIONS = 8_192
SALT_BYTES = 24


@frozen
class ScramMechanism:
    """One of the two that Kafka has; `number` is how its requests name it."""

    name: str
    number: int
    hash_name: str

    @property
    def key_bytes(self) -> int:
        return hashlib.new(self.hash_name).digest_size

    def digest(self, data: bytes) -> bytes:
        return hashlib.new(self.hash_name, data).digest()

    def keyed(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self.hash_name)


SCRAM_SHA_256 = ScramMechanism("SCRAM-SHA-256", 1, "sha256")
SCRAM_SHA_512 = ScramMechanism("SCRAM-SHA-512", 2, "sha512")
SCRAM_MECHANISMS = (SCRAM_SHA_256, SCRAM_SHA_512)
BY_NUMBER = {each.number: each for each in SCRAM_MECHANISMS}
BY_NAME = {each.name: each for each in SCRAM_MECHANISMS}


def salted(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """[thread] The salted password, which takes milliseconds on purpose."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential(mechanism: ScramMechanism, salt: bytes, salted_password: bytes, iterations: int) -> ScramCredential:
    """What is kept of a salted password."""
    stored_key = mechanism.digest(mechanism.keyed(salted_password, b"Client Key"))
    return ScramCredential(salt, iterations, stored_key, mechanism.keyed(salted_password, b"Server Key"))


def credential_of(
    mechanism: ScramMechanism, password: str, random_bytes: RandomBytes, iterations: int = DEFAULT_ITERATIONS
) -> ScramCredential:
    """[thread] What is kept of a password, with a new salt."""
    salt = random_bytes(SALT_BYTES)
    return credential(mechanism, salt, salted(mechanism, password, salt, iterations), iterations)


def has_password(mechanism: ScramMechanism, kept: ScramCredential, password: str) -> bool:
    """[thread] Whether this is the password, for who sends it in clear."""
    tried = credential(mechanism, kept.salt, salted(mechanism, password, kept.salt, kept.iterations), kept.iterations)
    return hmac.compare_digest(tried.stored_key, kept.stored_key)


def is_proof(mechanism: ScramMechanism, kept: ScramCredential, proof: bytes, messages: bytes) -> bool:
    """Whether the proof comes from one who knows the password, for this very exchange of messages."""
    if len(proof) != mechanism.key_bytes:
        return False
    signature = mechanism.keyed(kept.stored_key, messages)
    client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
    return hmac.compare_digest(mechanism.digest(client_key), kept.stored_key)


def server_signature(mechanism: ScramMechanism, kept: ScramCredential, messages: bytes) -> bytes:
    """By which the server shows that it knows the user, too."""
    return mechanism.keyed(kept.server_key, messages)
