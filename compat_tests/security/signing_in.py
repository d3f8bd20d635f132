"""Connections that show who they are by hand: SCRAM, PLAIN and tokens as messages of the protocol."""

import base64
import hashlib
import hmac
import os
from typing import Any

from compat_tests.share.asking import ask
from compat_tests.wire.connection import Wire
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest

HANDSHAKE_VERSION, AUTHENTICATE_VERSION = 1, 2


class NotLetIn(Exception):
    """The broker says no; `code` is the error's."""

    def __init__(self, code: int, message: str | None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def shake_hands(wire: Wire, mechanism: str) -> None:
    answer = ask(wire, SaslHandshakeRequest(mechanism=mechanism), HANDSHAKE_VERSION)
    if answer.error_code:
        raise NotLetIn(answer.error_code, ", ".join(answer.mechanisms))


def step(wire: Wire, token: bytes) -> Any:
    """One message there and one back."""
    answer = ask(wire, SaslAuthenticateRequest(auth_bytes=token), AUTHENTICATE_VERSION)
    if answer.error_code:
        raise NotLetIn(answer.error_code, answer.error_message)
    return answer


def by_scram(wire: Wire, user: str, password: str, algorithm: str = "sha256") -> Any:
    """The whole exchange; checks that the broker knows the password too."""
    shake_hands(wire, "SCRAM-SHA-" + algorithm.removeprefix("sha"))
    nonce = base64.b64encode(os.urandom(18)).decode()
    bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    first = bytes(step(wire, f"n,,{bare}".encode()).auth_bytes).decode()
    told = dict(part.split("=", 1) for part in first.split(","))
    assert told["r"].startswith(nonce)
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), base64.b64decode(told["s"]), int(told["i"]))
    without_proof = f"c=biws,r={told['r']}"
    covered = f"{bare},{first},{without_proof}".encode()
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), covered, algorithm)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    last = step(wire, f"{without_proof},p={base64.b64encode(proof).decode()}".encode())
    expected = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), covered, algorithm)
    assert bytes(last.auth_bytes) == b"v=" + base64.b64encode(expected)
    return last


def by_plain(wire: Wire, user: str, password: str, identity: str = "") -> Any:
    shake_hands(wire, "PLAIN")
    return step(wire, f"{identity}\0{user}\0{password}".encode())


def by_token(wire: Wire, token: str) -> Any:
    shake_hands(wire, "OAUTHBEARER")
    answer = step(wire, f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    return answer if not answer.auth_bytes else step(wire, b"\x01")
