"""Who a client of the text door is: whose certificate it has shown, or whom it names with AUTH.

Whoever says something wrong waits for the answer, and is not told what was wrong.
"""

import hmac
from functools import partial

import trio
from attrs import define, field

from coordinators.access.callers import ANONYMOUS, Caller, Principal, Proof, plain_address
from coordinators.access.checking import Checking, TooManyChecked
from coordinators.access.failed_logins import FailedLogins
from wire.http.callers import WRONG, CheckPassword, CheckToken, Recall
from wire.http.config import Access
from wire.text.commands import AuthCommand, BadCommand

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
    recall: Recall | None = None
    delay_s: float = 0.1
    failed: FailedLogins | None = None
    """Tells the log of those that were wrong."""
    refused: int = field(default=0, init=False)
    """Logins that were wrong."""
    _passwords: Checking = field(factory=Checking, init=False)
    _tokens: Checking = field(factory=Checking, init=False)

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
        proof = self._recalled(command)
        if proof is None:
            try:
                proof = await self._proof(command, plain_address(address))
            except TooManyChecked:
                busy = "too many clients show who they are: try again in a second"
                raise BadCommand("BUSY", busy, ends=True) from None
        if proof is None:
            self._has_failed(command, address)
            await trio.sleep(self.delay_s)
            raise BadCommand("AUTHENTICATION_FAILED", f"this needs {self._ways()}, and it must be right", ends=True)
        return proof.coming_from(plain_address(address))

    def _has_failed(self, command: AuthCommand, address: str) -> None:
        self.refused += 1
        if self.failed is not None:
            self.failed.note(address, WRONG, "text", "token" if command.user is None else "password")

    def _recalled(self, command: AuthCommand) -> Proof | None:
        """Who waits for nobody that guesses: the door's own token, and passwords that were found right lately."""
        token = self.access.token
        if command.user is not None:
            return None if self.recall is None else self.recall(command.user, command.secret)
        is_ours = token is not None and hmac.compare_digest(command.secret.encode(), token.encode())
        return Proof(self.access.token_principal) if is_ours else None

    async def _proof(self, command: AuthCommand, host: str) -> Proof | None:
        user, secret = command.user, command.secret
        if not secret or len(secret) > MOST_SECRET_BYTES:
            return None
        if user is None:
            place = partial(self._tokens.place, host)
            return None if self.check_token is None else await self.check_token(secret, place)
        if self.check_password is None or not user or user == ANONYMOUS.name:
            return None
        with self._passwords.place(host):
            return await self.check_password(user, secret)

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
