"""Who a client of the text door is: whose certificate it has shown, or whom it names with AUTH.

Whoever says something wrong waits for the answer, and is not told what was wrong.
"""

import hmac
from collections.abc import Awaitable, Callable

import trio
from attrs import define, field

from coordinators.access.callers import ANONYMOUS, Caller, Principal, plain_address
from wire.http.config import Access
from wire.text.commands import AuthCommand, BadCommand

CheckPassword = Callable[[str, str], Awaitable[bool]]
"""Whether a user has a password."""
CheckToken = Callable[[str], Awaitable[Principal | None]]
"""Whose token it is; None if it is nobody's, or not any longer."""

MOST_CHECKED = 16
"""Logins that are checked or wait for that; the next client is asked to come again."""
MOST_SECRET_BYTES = 8 * 1024


@define(eq=False)
class TextLogins:
    """See the module. Where there is no way to show who one is, nobody is asked."""

    access: Access = field(factory=Access)
    """The door's own token, and whose it is."""
    check_password: CheckPassword | None = None
    check_token: CheckToken | None = None
    certificates: bool = False
    """Whether a certificate can be shown."""
    delay_s: float = 0.1
    refused: int = field(default=0, init=False)
    """Logins that were wrong."""
    _checking: int = field(default=0, init=False)

    @property
    def asks(self) -> bool:
        """Whether clients are asked at all who they are."""
        ways = (self.access.token, self.check_password, self.check_token)
        return self.certificates or any(way is not None for way in ways)

    def at_the_door(self, address: str, shown: Principal | None) -> Caller | None:
        """Who it is before it has said anything; None if it has to say."""
        if shown is not None:
            return Caller(shown, plain_address(address))
        return None if self.asks else Caller(ANONYMOUS, plain_address(address))

    async def named(self, command: AuthCommand, address: str) -> Caller:
        """Who AUTH names; `BadCommand` if that is nobody, or not shown."""
        if self._checking >= MOST_CHECKED:
            raise BadCommand("BUSY", "too many clients show who they are: try again in a second")
        self._checking += 1
        try:
            principal = await self._principal(command)
        finally:
            self._checking -= 1
        if principal is None:
            self.refused += 1
            await trio.sleep(self.delay_s)
            raise BadCommand("AUTHENTICATION_FAILED", f"this needs {self._ways()}, and it must be right", ends=True)
        return Caller(principal, plain_address(address))

    async def _principal(self, command: AuthCommand) -> Principal | None:
        user, secret = command.user, command.secret
        if not secret or len(secret) > MOST_SECRET_BYTES:
            return None
        if user is None:
            return await self._of_token(secret)
        if self.check_password is None or not user or user == ANONYMOUS.name:
            return None
        return Principal(user) if await self.check_password(user, secret) else None

    async def _of_token(self, given: str) -> Principal | None:
        token = self.access.token
        if token is not None and hmac.compare_digest(given.encode(), token.encode()):
            return self.access.token_principal
        return None if self.check_token is None else await self.check_token(given)

    def _ways(self) -> str:
        ways = []
        if self.check_password is not None:
            ways.append("AUTH <user> <password>")
        if self.access.token is not None or self.check_token is not None:
            ways.append("AUTH <token>")
        if self.certificates:
            ways.append("a client certificate")
        return " or ".join(ways)

    def needed(self) -> BadCommand:
        """What whoever must say first who it is is told."""
        return BadCommand("AUTHENTICATION_REQUIRED", f"this needs {self._ways()} first", ends=True)
