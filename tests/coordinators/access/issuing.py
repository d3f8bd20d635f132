"""Who issues tokens, for tests: keys, documents, and tokens with anything wrong that one likes."""

import base64
import hashlib
import hmac
import json
from typing import Any

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

ISSUER, AUDIENCE, NOW_S = "https://issuer.example", "tidegate", 1_700_000_000
RSA = RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
EC = ECKey.generate_key("P-256", {"kid": "ec"}, private=True)
OKP = OKPKey.generate_key("Ed25519", {"kid": "okp"}, private=True)
STRANGER = RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)


def document(*keys: Any) -> bytes:
    return json.dumps({"keys": [key.as_dict(private=False) for key in keys]}).encode()


def claims(**others: Any) -> dict[str, Any]:
    usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": NOW_S - 10, "exp": NOW_S + 300}
    return {name: value for name, value in {**usual, **others}.items() if value is not None}


def token(body: Any = None, *, key: Any = RSA, algorithm: str = "RS256", **header: Any) -> str:
    made = {"alg": algorithm, "kid": key.kid, **header}
    payload = json.dumps(claims() if body is None else body)
    return jws.serialize_compact(made, payload, key, algorithms=[algorithm])


def part(data: Any) -> str:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def unsigned(algorithm: str = "none", kid: str | None = "rsa") -> str:
    header = {"alg": algorithm, **({} if kid is None else {"kid": kid})}
    return f"{part(header)}.{part(claims())}."


def signed_with_the_public_key() -> str:
    """HS256 by what everybody knows: CVE-2016-5431 and its many children."""
    start = f"{part({'alg': 'HS256', 'kid': 'rsa'})}.{part(claims())}"
    return f"{start}.{part(hmac.digest(RSA.as_pem(private=False), start.encode(), hashlib.sha256))}"
