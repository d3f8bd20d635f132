"""Clients' sides of the mechanisms, in plain words, for tests."""

import base64
import hashlib
import hmac

from attrs import define, field

from tests.wire.kafka.door import Client
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest


@define
class ScramClient:
    """RFC 5802, with each part open to be got wrong."""

    user: str
    password: str
    hash_name: str = "sha256"
    nonce: str = "rOprNGfwEbeRWgbNEkqO"
    header: str = "n,,"
    extensions: str = ""
    first_bare: str = field(default="", init=False)
    salted: bytes = field(default=b"", init=False)
    messages: str = field(default="", init=False)

    def first(self) -> bytes:
        name = self.user.replace("=", "=3D").replace(",", "=2C")
        self.first_bare = f"n={name},r={self.nonce}{self.extensions}"
        return (self.header + self.first_bare).encode()

    def final(self, server_first: bytes, *, nonce: str | None = None, binding: str | None = None) -> bytes:
        fields = dict(part.split("=", 1) for part in server_first.decode().split(","))
        salt, iterations = base64.b64decode(fields["s"]), int(fields["i"])
        self.salted = hashlib.pbkdf2_hmac(self.hash_name, self.password.encode(), salt, iterations)
        bound = base64.b64encode(self.header.encode()).decode() if binding is None else binding
        unproven = f"c={bound},r={fields['r'] if nonce is None else nonce}"
        self.messages = f"{self.first_bare},{server_first.decode()},{unproven}"
        client_key = hmac.digest(self.salted, b"Client Key", self.hash_name)
        stored_key = hashlib.new(self.hash_name, client_key).digest()
        signature = hmac.digest(stored_key, self.messages.encode(), self.hash_name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{unproven},p={base64.b64encode(proof).decode()}".encode()

    def is_from_server(self, server_final: bytes) -> bool:
        server_key = hmac.digest(self.salted, b"Server Key", self.hash_name)
        signature = hmac.digest(server_key, self.messages.encode(), self.hash_name)
        return server_final == b"v=" + base64.b64encode(signature)


async def scram_login(client: Client, scram: ScramClient, mechanism: str) -> SaslAuthenticateResponse:
    """The last answer of a login over the wire."""
    shaken = await client.ask(SaslHandshakeRequest(mechanism), 1)
    assert shaken.error_code == 0
    first: SaslAuthenticateResponse = await client.ask(SaslAuthenticateRequest(scram.first()), 2)
    if first.error_code:
        return first
    answer: SaslAuthenticateResponse = await client.ask(SaslAuthenticateRequest(scram.final(first.auth_bytes)), 2)
    return answer


async def plain_login(client: Client, user: str, password: str) -> SaslAuthenticateResponse:
    """The answer to a login by PLAIN."""
    shaken = await client.ask(SaslHandshakeRequest("PLAIN"), 1)
    assert shaken.error_code == 0
    answer: SaslAuthenticateResponse = await client.ask(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), 2)
    return answer
