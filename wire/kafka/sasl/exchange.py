"""What every mechanism is: messages in turns, until it is shown who somebody is."""

from typing import Protocol

from attrs import frozen

from coordinators.access.callers import Principal
from engine.errors import SaslAuthenticationFailed
from wire.kafka.nodes.trust import NodeLink


@frozen
class Shown:
    """Who somebody has shown to be, and until when that holds; `node` where it is another node of the cluster."""

    principal: Principal
    expires_at_ms: int | None = None
    """Wall time at which the credential ends; None if it does not."""
    node: NodeLink | None = None
    tenant: str | None = None
    """Which it belongs to, if its token says so."""


@frozen
class Turn:
    """What is answered; and who it is, once that is shown."""

    answer: bytes
    shown: Shown | None = None


class SaslExchange(Protocol):
    """One login by one mechanism. Where it fails, `SaslAuthenticationFailed` tells the log why, not the client."""

    async def take(self, message: bytes) -> Turn:
        """The client's next message."""


def check_authorization_id(wanted: str, user: str) -> None:
    """`SaslAuthenticationFailed` for who wants to act as somebody else (CVE-2017-12610)."""
    if wanted and wanted != user:
        raise SaslAuthenticationFailed("the authorization id is another than the user")
