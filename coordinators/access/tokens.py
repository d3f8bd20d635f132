"""Tokens of OAuth as proofs of who somebody is (RFC 7519, KIP-768): what must be so for one to count.

The signature is checked by the key that the token names, in an algorithm with two keys: with `none` or HS256 whoever
knows the public key could sign. Issuer and audience must be those that are expected: else a token that was made for
somebody else's service would do here.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from coordinators.access.callers import Principal, known
from engine.errors import SaslAuthenticationFailed

KINDS = {
    **{f"{family}{size}": "RSA" for family in ("RS", "PS") for size in (256, 384, 512)},
    **{f"ES{size}": "EC" for size in (256, 384, 512)},
    "EdDSA": "OKP",
    "Ed25519": "OKP",
}
"""The algorithms that are taken, and the kind of key that each has."""
MOST_TOKEN_BYTES = 64 * 1024
MOST_KEYS = 200


@frozen
class TokenRules:
    """What a token must say."""

    issuer: str
    audiences: frozenset[str]
    skew_s: float = 30.0
    subject_claim: str = "sub"
    tenant_claim: str | None = None
    """The claim that names the tenant of its owner; None where no token does."""


@frozen
class ValidToken:
    """What it came to."""

    principal: Principal
    expires_at_ms: int
    tenant: str | None = None


@frozen
class TokenHeader:
    """By what it says to be signed."""

    algorithm: str
    key_id: str


Keys = Mapping[str, Any]
"""Public keys of joserfc by their ids."""


def parse_keys(document: bytes) -> dict[str, Any]:
    """The keys of a JWKS document that can be used here; `ValueError` if it is none."""
    from joserfc.errors import JoseError  # here: only who takes tokens needs it
    from joserfc.jwk import import_key

    try:
        listed = json.loads(document)["keys"]
    except (ValueError, KeyError, TypeError):
        raise ValueError("it is no set of keys (JWKS)") from None
    if not isinstance(listed, list) or len(listed) > MOST_KEYS:
        raise ValueError(f"it is no list of at most {MOST_KEYS} keys")
    keys: dict[str, Any] = {}
    for each in listed:
        # Secrets (oct) are none that others may know; keys for encryption sign nothing.
        if not isinstance(each, dict) or each.get("kty") not in KINDS.values() or each.get("use", "sig") != "sig":
            continue
        if isinstance(each.get("kid"), str):
            try:
                keys[each["kid"]] = import_key({name: value for name, value in each.items() if name != "d"})
            except (JoseError, ValueError, TypeError, KeyError):
                continue
    return keys


def header_of(token: str) -> TokenHeader:
    """What the token says of its signature, which is not checked yet; `SaslAuthenticationFailed` if it cannot be."""
    if len(token) > MOST_TOKEN_BYTES:
        raise SaslAuthenticationFailed("the token is too long")
    parts = token.split(".")
    if len(parts) != 3:
        raise SaslAuthenticationFailed("the token is none")
    try:
        fields = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise SaslAuthenticationFailed("the token's header is none") from None
    if not isinstance(fields, dict):
        raise SaslAuthenticationFailed("the token's header is none")
    algorithm, key_id = fields.get("alg"), fields.get("kid")
    if not isinstance(algorithm, str) or algorithm not in KINDS:
        raise SaslAuthenticationFailed("the token is signed in a way that is not taken")
    if not isinstance(key_id, str) or "crit" in fields or "b64" in fields:
        raise SaslAuthenticationFailed("the token does not say by which key it is signed, or asks for more")
    return TokenHeader(algorithm, key_id)


def validate(token: str, header: TokenHeader, key: Any, rules: TokenRules, now_s: float) -> ValidToken:
    """Whose token it is, and until when; `SaslAuthenticationFailed` says what is wrong with it, and nothing of it."""
    from joserfc import jws
    from joserfc.errors import JoseError

    if key.key_type != KINDS[header.algorithm]:
        raise SaslAuthenticationFailed("the token names a key of another kind than its algorithm has")
    try:
        payload = jws.deserialize_compact(token, key, algorithms=[header.algorithm]).payload
        claims = json.loads(payload)
    except (JoseError, ValueError, TypeError, RecursionError):
        raise SaslAuthenticationFailed("the token's signature is wrong") from None
    if not isinstance(claims, dict):
        raise SaslAuthenticationFailed("the token has no claims")
    return _judged(claims, rules, now_s)


def _judged(claims: Mapping[str, Any], rules: TokenRules, now_s: float) -> ValidToken:
    expires, issued, not_before = (_time(claims, name) for name in ("exp", "iat", "nbf"))
    if expires is None or issued is None:
        raise SaslAuthenticationFailed("the token does not say when it was made and when it ends")
    if expires <= now_s - rules.skew_s:
        raise SaslAuthenticationFailed("the token has ended")
    if max(issued, not_before or issued) > now_s + rules.skew_s:
        raise SaslAuthenticationFailed("the token does not count yet")
    if claims.get("iss") != rules.issuer:
        raise SaslAuthenticationFailed("the token is another issuer's")
    audience = claims.get("aud")
    named = [audience] if isinstance(audience, str) else audience
    if not isinstance(named, list) or rules.audiences.isdisjoint(each for each in named if isinstance(each, str)):
        raise SaslAuthenticationFailed("the token is meant for somebody else")
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not subject or not subject.isprintable():
        raise SaslAuthenticationFailed("the token does not say whose it is")
    tenant = claims.get(rules.tenant_claim) if rules.tenant_claim is not None else None
    if tenant is not None and not isinstance(tenant, str):
        raise SaslAuthenticationFailed("the token's tenant is none")
    return ValidToken(known(subject), round(expires * 1000), tenant)


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**40:
        raise SaslAuthenticationFailed("the token's times are none")
    return float(value)
