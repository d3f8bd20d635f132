"""Tokens of an issuer that exists in the tests alone: signed JWTs, and the file of keys that brokers check them by."""

import json
import time
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from attrs import define, field
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from tools.reference.secured import Tokens

ISSUER, AUDIENCE, KEY_ID = "https://issuer.tests.invalid/", "tidegate-tests", "first"


def _new_key() -> RSAPrivateKey:
    return generate_private_key(65_537, 2048)


@define
class Issuer:
    """Whoever gives out tokens."""

    folder: Path
    _key: RSAPrivateKey = field(factory=_new_key)

    def __attrs_post_init__(self) -> None:
        numbers = self._key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "kid": KEY_ID,
            "use": "sig",
            "alg": "RS256",
            "n": _number(numbers.n),
            "e": _number(numbers.e),
        }
        self.file.write_text(json.dumps({"keys": [key]}))

    @property
    def file(self) -> Path:
        return self.folder / "jwks.json"

    @property
    def settings(self) -> Tokens:
        return Tokens(self.file.as_uri(), ISSUER, AUDIENCE)

    def token(self, subject: str, lifetime_s: float = 3_600, **claims: Any) -> str:
        now = int(time.time())
        content = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": now - 60, "exp": int(now + lifetime_s)}
        signed = _json({"alg": "RS256", "kid": KEY_ID, "typ": "JWT"}) + b"." + _json({**content, **claims})
        return (signed + b"." + _base64(self._key.sign(signed, PKCS1v15(), SHA256()))).decode()


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big")).decode()


def _json(value: Any) -> bytes:
    return _base64(json.dumps(value).encode())


def _base64(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
