"""PLAIN (RFC 4616): a name and a password in clear. Only under TLS, or where nobody else listens."""

from collections.abc import Awaitable, Callable

from attrs import define

from coordinators.access.callers import Principal
from engine.errors import SaslAuthenticationFailed
from wire.kafka.sasl.exchange import Shown, Turn, check_authorization_id

CheckPassword = Callable[[str, str, str], Awaitable[bool]]
"""Whether a user has a password, for who comes from an address."""


@define(eq=False)
class PlainExchange:
    """One message: authorization id, user, password, a NUL between."""

    check: CheckPassword
    address: str

    async def take(self, message: bytes) -> Turn:
        try:
            parts = message.decode().split("\0")
        except UnicodeDecodeError:
            raise SaslAuthenticationFailed("the message is not UTF-8") from None
        if len(parts) != 3:
            raise SaslAuthenticationFailed(f"the message has {len(parts)} parts, not 3")
        authorization_id, user, password = parts
        if not user or not password:
            raise SaslAuthenticationFailed("the user or the password is empty")
        check_authorization_id(authorization_id, user)
        if not await self.check(user, password, self.address):
            raise SaslAuthenticationFailed("there is no such user, or it has another password")
        return Turn(b"", Shown(Principal(user)))
