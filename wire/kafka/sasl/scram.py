"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) as a server: the password never goes over the wire.

    client -> server   n,,n=user,r=nonce
    server -> client   r=nonce and ours,s=salt,i=iterations
    client -> server   c=biws,r=both nonces,p=proof
    server -> client   v=signature

Who names a user that there is not goes through all of it and fails at the proof, as with a wrong password. As in Kafka,
there is no channel binding, and extensions that are not known are passed over.
"""

import base64
import binascii
import hmac
import re

from attrs import define, field

from coordinators.access.callers import Principal
from coordinators.access.scram import ScramMechanism, is_proof, server_signature
from coordinators.access.users import Users
from engine.catalogue.user_records import ScramCredential
from engine.errors import SaslAuthenticationFailed
from engine.ids import RandomBytes
from wire.kafka.sasl.exchange import Shown, Turn, check_authorization_id

NONCE_BYTES = 24
MOST_TEXT_BYTES = 8 * 1024
_NAME = r"((?:[^,=]|=2C|=3D)+)"
_NONCE = r"([\x21-\x2b\x2d-\x7e]+)"
_EXTENSIONS = r"((?:,[A-Za-z]+=[^,]*)*)"
_FIRST = re.compile(rf"([ny],(?:a={_NAME})?,)(n={_NAME},r={_NONCE}{_EXTENSIONS})")
_FINAL = re.compile(rf"(c=([A-Za-z0-9+/=]+),r={_NONCE}{_EXTENSIONS}),p=([A-Za-z0-9+/=]+)")


@define(eq=False)
class ScramExchange:
    """One login."""

    mechanism: ScramMechanism
    users: Users
    random_bytes: RandomBytes
    _user: str | None = field(default=None, init=False)
    _header: str = field(default="", init=False)
    _client_nonce: str = field(default="", init=False, repr=False)
    _nonce: str = field(default="", init=False, repr=False)
    _messages: str = field(default="", init=False, repr=False)
    """Both first messages, as the proof covers them."""
    _kept: ScramCredential | None = field(default=None, init=False, repr=False)
    _is_known: bool = field(default=False, init=False)

    async def take(self, message: bytes) -> Turn:
        if len(message) > MOST_TEXT_BYTES:
            raise SaslAuthenticationFailed("the message is too long")
        try:
            text = message.decode()
        except UnicodeDecodeError:
            raise SaslAuthenticationFailed("the message is not UTF-8") from None
        return Turn(self._first(text).encode()) if self._user is None else self._final(text)

    def _first(self, text: str) -> str:
        match = _FIRST.fullmatch(text)
        if match is None:
            raise SaslAuthenticationFailed("the first message is none")
        self._header, authorization_id, bare, name, nonce, extensions = match.groups()
        if "tokenauth=true" in extensions.split(","):
            raise SaslAuthenticationFailed("there are no delegation tokens here")
        self._user = _plain_name(name)
        check_authorization_id(_plain_name(authorization_id or ""), self._user)
        self._kept, self._is_known = self.users.scram(self._user, self.mechanism)
        self._client_nonce = nonce
        self._nonce = nonce + base64.b64encode(self.random_bytes(NONCE_BYTES)).decode()
        salt = base64.b64encode(self._kept.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._kept.iterations}"
        self._messages = f"{bare},{answer}"
        return answer

    def _final(self, text: str) -> Turn:
        kept, self._kept = self._kept, None
        match = _FINAL.fullmatch(text)
        if match is None or kept is None or self._user is None:
            raise SaslAuthenticationFailed("the final message is none")
        unproven, binding, nonce, _extensions, proof = match.groups()
        expected = base64.b64encode(self._header.encode()).decode()
        if not hmac.compare_digest(binding, expected):
            raise SaslAuthenticationFailed("the final message is about another beginning")
        # CVE-2024-56128: else a final message of another exchange would do.
        if not hmac.compare_digest(nonce, self._nonce):
            twice = hmac.compare_digest(nonce, self._client_nonce + self._nonce)
            raise SaslAuthenticationFailed(
                "the nonce is another than the one that was sent"
                + (": librdkafka before 2.6.1 sends its own twice, use a later one or PLAIN" if twice else "")
            )
        messages = f"{self._messages},{unproven}".encode()
        if not is_proof(self.mechanism, kept, _decoded(proof), messages) or not self._is_known:
            raise SaslAuthenticationFailed("there is no such user, or it has another password")
        signature = base64.b64encode(server_signature(self.mechanism, kept, messages))
        return Turn(b"v=" + signature, Shown(Principal(self._user)))


def _plain_name(text: str) -> str:
    return text.replace("=2C", ",").replace("=3D", "=")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise SaslAuthenticationFailed("the proof is not base64") from None
