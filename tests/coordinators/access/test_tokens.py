"""Tokens: which count, and that nothing else does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.access.callers import Principal
from coordinators.access.tokens import TokenRules, ValidToken, header_of, parse_keys, validate
from engine.errors import SaslAuthenticationFailed
from tests.coordinators.access.issuing import (
    AUDIENCE,
    EC,
    ISSUER,
    NOW_S,
    OKP,
    RSA,
    STRANGER,
    claims,
    document,
    part,
    signed_with_the_public_key,
    token,
    unsigned,
)

RULES = TokenRules(ISSUER, frozenset({AUDIENCE, "other"}))
KEYS = parse_keys(document(RSA, EC, OKP))


def judged(text: str, rules: TokenRules = RULES) -> ValidToken:
    header = header_of(text)
    key = KEYS.get(header.key_id)
    if key is None:
        raise SaslAuthenticationFailed("unknown key")
    return validate(text, header, key, rules, NOW_S)


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (RSA, "RS512"), (RSA, "PS384"), (EC, "ES256"), (OKP, "Ed25519")]
)
def test_a_token_of_the_issuer_counts_until_it_ends(key: Any, algorithm: str) -> None:
    made = token(key=key, algorithm=algorithm)
    assert judged(made) == ValidToken(Principal("alice"), (NOW_S + 300) * 1000)


@pytest.mark.parametrize("audience", [AUDIENCE, ["x", AUDIENCE], ["other"]])
def test_it_is_meant_for_us_among_others(audience: object) -> None:
    assert judged(token(claims(aud=audience))).principal == Principal("alice")


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"iss": [ISSUER]},
        {"aud": "somebody"},
        {"aud": None},
        {"aud": []},
        {"aud": [1]},
        {"aud": {AUDIENCE: 1}},
        {"exp": None},
        {"exp": NOW_S - 31},
        {"exp": "tomorrow"},
        {"exp": True},
        {"exp": 1e300},
        {"iat": None},
        {"iat": NOW_S + 31},
        {"nbf": NOW_S + 31},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "a\nb"},
        {"sub": "ANONYMOUS"},
    ],
)
def test_what_is_signed_and_says_something_else_does_not_count(changed: dict[str, object]) -> None:
    with pytest.raises(SaslAuthenticationFailed):
        judged(token(claims(**changed)))


@pytest.mark.parametrize(
    "made",
    [
        unsigned(),
        unsigned("None"),
        unsigned("NONE"),
        unsigned("RS256"),
        unsigned("RS256", kid=None),
        signed_with_the_public_key(),
        token(key=STRANGER),
        token(key=EC, algorithm="ES256", kid="rsa"),
        token()[:-4] + "AAAA",
        token().rpartition(".")[0] + ".",
        token() + ".x",
        "",
        "a.b.c",
        f"{part([])}.{part({})}.x",
        f"{part({'alg': 'RS256', 'kid': 'rsa', 'crit': ['x']})}.{part(claims())}.x",
        f"{part(b'[' * 50_000)}.{part({})}.x",
        token(["no", "claims"]),
        "a" * 70_000 + ".b.c",
    ],
)
def test_what_is_not_signed_by_the_issuer_does_not_count(made: str) -> None:
    """CVE-2026-33557, CVE-2021-22160: alg none, HS256 with the public key, other keys, altered tokens."""
    with pytest.raises(SaslAuthenticationFailed) as raised:
        judged(made)
    assert len(made) < 20 or made[:20] not in str(raised.value), "nothing of it is told"


def test_a_token_moved_to_other_claims_does_not_count() -> None:
    head, _, signature = token().split(".")
    with pytest.raises(SaslAuthenticationFailed):
        judged(f"{head}.{part(claims(sub='admin'))}.{signature}")


def test_the_owner_and_the_tenant_may_stand_in_other_claims() -> None:
    rules = TokenRules(ISSUER, frozenset({AUDIENCE}), subject_claim="client_id", tenant_claim="org")
    made = judged(token(claims(client_id="orders", org="acme")), rules)
    assert (made.principal, made.tenant) == (Principal("orders"), "acme")
    with pytest.raises(SaslAuthenticationFailed):
        judged(token(claims(client_id="orders", org=7)), rules)


def test_secrets_and_keys_for_encryption_are_passed_over() -> None:
    listed = b'{"keys": [{"kty": "oct", "kid": "s", "k": "c2VjcmV0"}, {"kty": "RSA", "kid": "x"}, 7, {"kty": "EC"}]}'
    assert parse_keys(listed) == {}


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"keys": 7}', b"\xff"])
def test_what_is_no_set_of_keys_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        parse_keys(text)


@given(st.text(max_size=60))
def test_no_text_is_anything_but_a_failure(text: str) -> None:
    with pytest.raises(SaslAuthenticationFailed):
        judged(text)
