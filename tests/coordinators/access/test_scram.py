"""SCRAM's arithmetic, held to the example of RFC 7677."""

import base64

from coordinators.access.scram import (
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    credential,
    credential_of,
    has_password,
    is_proof,
    salted,
    server_signature,
)

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
MESSAGES = (
    b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
)
PROOF = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
SIGNATURE = base64.b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
KEPT = credential(SCRAM_SHA_256, SALT, salted(SCRAM_SHA_256, "pencil", SALT, 4096), 4096)


def test_the_example_of_the_standard() -> None:
    assert is_proof(SCRAM_SHA_256, KEPT, PROOF, MESSAGES)
    assert server_signature(SCRAM_SHA_256, KEPT, MESSAGES) == SIGNATURE


def test_a_proof_is_for_one_exchange_and_one_length() -> None:
    assert not is_proof(SCRAM_SHA_256, KEPT, PROOF, MESSAGES + b"x")
    assert not is_proof(SCRAM_SHA_256, KEPT, PROOF[:-1], MESSAGES)
    assert not is_proof(SCRAM_SHA_256, KEPT, bytes(32), MESSAGES)
    assert not is_proof(SCRAM_SHA_256, KEPT, b"", MESSAGES)


def test_a_password_in_clear_is_checked_against_the_same() -> None:
    kept = credential_of(SCRAM_SHA_512, "pencil", lambda size: bytes(size), 4096)
    assert has_password(SCRAM_SHA_512, kept, "pencil")
    assert not has_password(SCRAM_SHA_512, kept, "Pencil")


def test_nothing_that_is_kept_is_shown() -> None:
    shown = repr(KEPT)
    assert "4096" in shown
    assert not any(repr(secret) in shown for secret in (KEPT.salt, KEPT.stored_key, KEPT.server_key))
