"""Who calls: shown by the door's token, a token of the issuer that the broker trusts, a user's password, a certificate.

What a caller says counts before its certificate, and what is wrong is refused even if the certificate is right. Who
says nothing is nobody in particular where nobody is asked, else it is refused. Whoever says something wrong waits for
the answer, and is not told what was wrong.
"""

import hmac
from base64 import b64decode
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import trio
from attrs import define, field, frozen

from coordinators.access.callers import ANONYMOUS, Caller, Principal, Proof, plain_address
from coordinators.access.checking import Checking, Place, TooManyChecked
from coordinators.access.failed_logins import FailedLogins
from wire.http.config import Access

if TYPE_CHECKING:
    from wire.http.messages import Request
    from wire.http.problems import Problem

CheckPassword = Callable[[str, str], Awaitable[Proof | None]]
"""Who has this name and this password; None if nobody has."""
Recall = Callable[[str, str], Proof | None]
"""The same of who has shown it lately: it is not checked again, and waits for nobody who guesses."""
CheckToken = Callable[[str, Place], Awaitable[Proof | None]]
"""Whose token it is; None if it is nobody's, or not any longer. It takes a place for as long as it waits."""

MOST_CREDENTIAL_BYTES = 8 * 1024
SCHEMES = ("basic", "bearer")
WRONG = "there is no such user or token, or the user has another password"
"""What the log is told."""


@frozen
class Visitor:
    """Where a connection comes from, and whose certificate it has shown, if it has."""

    host: str
    principal: Principal | None = None


LOCAL = Visitor("127.0.0.1")


@define(eq=False)
class Reception:
    """See the module."""

    access: Access
    check_password: CheckPassword | None = None
    check_token: CheckToken | None = None
    certificates: bool = False
    """Whether a certificate can be shown."""
    recall: Recall | None = None
    delay_s: float = 0.1
    failed: FailedLogins | None = None
    """Tells the log of those that were wrong, by the door's name."""
    door: str = "http"
    refused: int = field(default=0, init=False)
    """Logins that were wrong."""
    _passwords: Checking = field(factory=Checking, init=False)
    _tokens: Checking = field(factory=Checking, init=False)

    @property
    def asks(self) -> bool:
        """Whether callers are asked at all who they are."""
        ways = (self.access.token, self.check_password, self.check_token)
        return self.certificates or any(way is not None for way in ways)

    async def caller(self, request: "Request", visitor: Visitor) -> Caller:
        """Who sends the request; a `Problem` if that must be known and is not."""
        host = plain_address(visitor.host)
        if not self.asks:
            return Caller(ANONYMOUS, host)
        said = request.headers.get("authorization")
        if said is None and visitor.principal is not None:
            return Caller(visitor.principal, host)
        if said is None:
            raise self._unknown(request)
        try:
            proof = await self._proof(said, host)
        except TooManyChecked:
            raise _problem(503, "too many callers show who they are", {"Retry-After": "1"}) from None
        if proof is None:
            self._has_failed(said, host)
            await trio.sleep(self.delay_s)
            raise self._unknown(request)
        return proof.coming_from(host)

    def _has_failed(self, said: str, host: str) -> None:
        self.refused += 1
        if self.failed is not None:
            scheme = said.partition(" ")[0].lower()
            self.failed.note(host, WRONG, self.door, scheme if scheme in SCHEMES else "other")

    async def _proof(self, said: str, host: str) -> Proof | None:
        scheme, _, given = said.partition(" ")
        given = given.strip()
        if not given or len(given) > MOST_CREDENTIAL_BYTES:
            return None
        if scheme.lower() == "bearer":
            return await self._of_token(given, host)
        if scheme.lower() == "basic" and self.check_password is not None:
            return await self._of_password(self.check_password, given, host)
        return None

    async def _of_token(self, given: str, host: str) -> Proof | None:
        token = self.access.token
        if token is not None and hmac.compare_digest(given.encode("latin-1"), token.encode()):
            return Proof(self.access.token_principal)
        if self.check_token is None:
            return None
        return await self.check_token(given, partial(self._tokens.place, host))

    async def _of_password(self, check: CheckPassword, given: str, host: str) -> Proof | None:
        try:
            name, colon, password = b64decode(given, validate=True).decode().partition(":")
        except ValueError:  # no base64, not even ASCII, or no UTF-8 in it
            return None
        if not colon or not name or not password or name == ANONYMOUS.name:
            return None
        if self.recall is not None and (known := self.recall(name, password)) is not None:
            return known
        with self._passwords.place(host):
            return await check(name, password)

    def _unknown(self, request: "Request") -> "Problem":
        return _problem(
            401,
            f"this needs {' or '.join(self._ways())}, and what is given must be right",
            {"WWW-Authenticate": ", ".join(self._challenges(request))},
        )

    def _ways(self) -> list[str]:
        ways = []
        if self.access.token is not None or self.check_token is not None:
            what = f"the token of {self.door}.token" if self.check_token is None else "a token"
            ways.append(f"the header 'Authorization: Bearer ...' with {what}")
        if self.check_password is not None:
            ways.append("'Authorization: Basic ...' with a user's name and password")
        if self.certificates:
            ways.append("a client certificate")
        return ways

    def _challenges(self, request: "Request") -> list[str]:
        """By which callers may show who they are. A browser that is told of passwords asks whoever sits there for one,
        and sends it with what any page asks later: so what pages ask for is not told of them."""
        found = []
        if self.check_password is not None and not _is_asked_by_a_page(request):
            found.append('Basic realm="tidegate", charset="UTF-8"')
        if self.access.token is not None or self.check_token is not None or not found:
            found.append('Bearer realm="tidegate"')
        return found


def _is_asked_by_a_page(request: "Request") -> bool:
    """As browsers say it; what somebody types into the line of addresses is asked by nobody's page."""
    return "origin" in request.headers or request.headers.get("sec-fetch-site", "none") != "none"


def _problem(status: int, detail: str, headers: dict[str, str]) -> "Problem":
    # What answers over HTTP is loaded with the first caller, not with the broker.
    from http import HTTPStatus

    from wire.http.problems import Problem

    return Problem(HTTPStatus(status), detail, headers=headers)
