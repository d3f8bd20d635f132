"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): a token of who issues them shows who somebody is.

    client -> server   n,[a=who],^Aauth=Bearer TOKEN^A[name=value^A]^A
    server -> client   nothing; or, for a token that does not count, {"status":"invalid_token"}
    client -> server   ^A, and only then the login fails

A login counts no longer than its token.
"""

import json
import re
from contextlib import nullcontext

from attrs import define, field

from coordinators.access.checking import Place
from coordinators.access.key_sets import KeySet
from coordinators.access.tokens import TokenRules, ValidToken, header_of, validate
from engine.clock import Clock
from engine.errors import SaslAuthenticationFailed
from wire.kafka.sasl.exchange import Shown, Turn, check_authorization_id

_FIRST = re.compile(r"[ny],(?:a=([^,\x01]*))?,\x01(?:[A-Za-z]+=[^\x01]*\x01)*\x01")
_TOKEN = re.compile(r"\x01auth=[Bb]earer +([A-Za-z0-9._~+/=-]+)\x01")
REFUSED = json.dumps({"status": "invalid_token"}).encode()


@define(eq=False)
class OAuthExchange:
    """One login."""

    keys: KeySet
    rules: TokenRules
    clock: Clock
    _failure: SaslAuthenticationFailed | None = field(default=None, init=False)

    async def take(self, message: bytes) -> Turn:
        if self._failure is not None:
            raise self._failure
        try:
            text = message.decode()
        except UnicodeDecodeError:
            raise SaslAuthenticationFailed("the message is not UTF-8") from None
        first, tokens = _FIRST.fullmatch(text), _TOKEN.findall(text)
        if first is None or len(tokens) != 1:
            raise SaslAuthenticationFailed("the first message is none")
        try:
            valid = await self.validated(tokens[0])
            check_authorization_id(first.group(1) or "", valid.principal.name)
        except SaslAuthenticationFailed as error:
            self._failure = error
            return Turn(REFUSED)
        return Turn(b"", Shown(valid.principal, valid.expires_at_ms, tenant=valid.tenant))

    async def validated(self, token: str, place: Place = nullcontext) -> ValidToken:
        """Whose token it is; `SaslAuthenticationFailed` if it does not count. Who waits for a key needs a place."""
        header = header_of(token)
        key = self.keys.known(header.key_id)
        if key is None:
            with place():
                key = await self.keys.find(header.key_id)
        if key is None:
            raise SaslAuthenticationFailed("the token names a key that its issuer does not have")
        return validate(token, header, key, self.rules, self.clock.now_ms() / 1000)
