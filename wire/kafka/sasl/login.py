"""The course of a login on one connection: a handshake that names the mechanism, its messages, and again later.

    unknown ── SaslHandshake ──► exchanging ── messages ──► known ── SaslHandshake ──► exchanging again (KIP-368)
        └──────────────── anything wrong ────────────────────────► failed: answered after a while, then closed

Who fails is told that, and no more. A connection is one principal's for ever: whoever shows anew who it is must be the
same, by the same mechanism. What a login is worth ends with its credential, or after `connections.max.reauth.ms`.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from enum import Enum

import trio
from attrs import define, evolve, field, frozen

from coordinators.access.callers import ANONYMOUS, NODE
from coordinators.access.failed_logins import FailedLogins
from engine.clock import Clock
from engine.errors import BrokerError, IllegalSaslState, SaslAuthenticationFailed, UnsupportedSaslMechanism
from wire.kafka.errors import error_code
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateResponse
from wire.kafka.messages.sasl_handshake import SaslHandshakeResponse
from wire.kafka.nodes.trust import MECHANISM as NODE_MECHANISM
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Peer
from wire.kafka.sasl.exchange import SaslExchange, Shown
from wire.kafka.sasl.node import NodeExchange

logger = logging.getLogger("tidegate.access")

FIRST_WRAPPED_VERSION = 1
"""Of SaslHandshake: from here on the messages follow in SaslAuthenticate, before they follow without headers."""
REAUTHENTICATION_S = 1.0
"""A login that was begun again is not begun once more sooner, as in Kafka."""

Begin = Callable[[str], SaslExchange]
"""Begins an exchange of one mechanism with who comes from an address."""


class LoginState(Enum):
    """How far it has come."""

    UNKNOWN = 1
    EXCHANGING = 2
    KNOWN = 3
    FAILED = 4


@frozen(eq=False)
class LoginPolicy:
    """What a listener asks of who comes by it."""

    listener: str
    mechanisms: Mapping[str, Begin]
    """By their names."""
    trust: NodeTrust
    clock: Clock
    failed: FailedLogins
    failure_delay_s: float = 0.1
    timeout_s: float = 10.0
    max_receive_bytes: int = 512 * 1024
    max_session_ms: Mapping[str, int] = field(factory=dict)
    """By mechanism, how long a login counts; 0 and none are for ever."""
    outcomes: Counter[tuple[str, str]] = field(factory=Counter)
    """By mechanism, and how it ended."""


@define(eq=False)
class Login:
    """See the module."""

    policy: LoginPolicy
    peer: Peer
    state: LoginState = field(default=LoginState.UNKNOWN, init=False)
    is_raw: bool = field(default=False, init=False)
    """Whether messages come without headers."""
    expires_at: float = field(default=math.inf, init=False)
    """By the monotonic clock."""
    _mechanism: str = field(default="", init=False)
    _exchange: SaslExchange | None = field(default=None, init=False)
    _known: Shown | None = field(default=None, init=False)
    _known_since: float = field(default=-math.inf, init=False)
    _again_at: float = field(default=-math.inf, init=False)
    """When it was begun again."""

    @property
    def is_known(self) -> bool:
        """Whether it was shown who it is; also while that is being shown again."""
        return self._known is not None and self.state is not LoginState.FAILED

    def has_expired(self) -> bool:
        """Whether what was shown counts no longer."""
        return self.policy.clock.monotonic() > self.expires_at

    def revoke(self, name: str, mechanisms: Collection[str]) -> None:
        """Let what was shown count no longer, if it was this user by one of these: the next request ends it."""
        known = self._known
        if known is not None and known.principal.name == name and self._mechanism in mechanisms:
            self.expires_at = -math.inf

    def handshake(self, mechanism: str, version: int) -> SaslHandshakeResponse:
        """Begin an exchange, for the first time or again."""
        try:
            self._begin(mechanism, version)
        except UnsupportedSaslMechanism as error:
            self._fail(mechanism, error)
            return SaslHandshakeResponse(error_code(error), self._offered())
        except BrokerError as error:
            return SaslHandshakeResponse(error_code(error), self._offered())
        return SaslHandshakeResponse(mechanisms=self._offered())

    def _offered(self) -> list[str]:
        return [*self.policy.mechanisms]

    def _begin(self, mechanism: str, version: int) -> None:
        policy, now = self.policy, self.policy.clock.monotonic()
        if self._known is not None:
            is_same = mechanism == self._mechanism and self._known.node is None
            if not is_same or now - self._again_at < REAUTHENTICATION_S or version < FIRST_WRAPPED_VERSION:
                raise IllegalSaslState("this connection is known already")
            self._again_at = now
        if mechanism == NODE_MECHANISM and version >= FIRST_WRAPPED_VERSION and policy.trust.is_cluster:
            self._exchange = NodeExchange(policy.trust.answer())
        elif mechanism in policy.mechanisms:
            self._exchange = policy.mechanisms[mechanism](self.peer.address)
        else:
            raise UnsupportedSaslMechanism("nobody is let in that way")
        self._mechanism = mechanism
        self.is_raw = version < FIRST_WRAPPED_VERSION
        self.state = LoginState.EXCHANGING

    async def authenticate(self, message: bytes) -> SaslAuthenticateResponse:
        """Go on with the exchange."""
        try:
            answer = await self.take(message)
        except BrokerError as error:
            return SaslAuthenticateResponse(error_code(error), _told(error, self._mechanism))
        return SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=self._lifetime_ms())

    async def take(self, message: bytes) -> bytes:
        """The answer to a message of the exchange; a failure is raised after a while, and nothing is read meanwhile."""
        exchange = self._exchange
        if exchange is None or self.state is not LoginState.EXCHANGING:
            raise IllegalSaslState("there was no SaslHandshake")
        try:
            turn = await exchange.take(message)
            if turn.shown is not None:
                self._is_shown(turn.shown)
        except SaslAuthenticationFailed as error:
            self._fail(self._mechanism, error)
            await trio.sleep(self.policy.failure_delay_s)
            raise
        return turn.answer

    def _is_shown(self, shown: Shown) -> None:
        known = self._known
        if known is not None and (shown.principal, shown.tenant) != (known.principal, known.tenant):
            raise SaslAuthenticationFailed("it is another than before")
        if shown.principal == ANONYMOUS:
            raise SaslAuthenticationFailed(f"nobody logs in as {ANONYMOUS.name}: that is who was not asked")
        clock, peer = self.policy.clock, self.peer
        self._exchange, self._known, self.state = None, shown, LoginState.KNOWN
        self._known_since = clock.monotonic()
        self.expires_at = math.inf
        lifetimes = [self.policy.max_session_ms.get(self._mechanism, 0) or math.inf]
        if shown.expires_at_ms is not None:
            lifetimes.append(max(shown.expires_at_ms - clock.now_ms(), 0))
        if shown.node is None:
            peer.caller = evolve(peer.caller, principal=shown.principal, tenant=shown.tenant)
            self.expires_at = self._known_since + min(lifetimes) / 1000
        else:
            peer.caller, peer.node_id, peer.link = NODE, shown.node.node_id, shown.node
        self.policy.outcomes[self._mechanism, "success"] += 1
        logger.debug("logged in", extra=self._fields())

    def _lifetime_ms(self) -> int:
        left = self.expires_at - self._known_since
        return round(left * 1000) if self.state is LoginState.KNOWN and math.isfinite(left) else 0

    def _fail(self, mechanism: str, error: BrokerError) -> None:
        self._exchange, self.state = None, LoginState.FAILED
        known = mechanism if mechanism in (*self.policy.mechanisms, NODE_MECHANISM) else "other"
        self.policy.outcomes[known, "failure"] += 1
        self.policy.failed.note(self.peer.address, error, self.policy.listener, known)

    def _fields(self) -> dict[str, object]:
        return {"address": self.peer.address, "listener": self.policy.listener, "mechanism": self._mechanism}


def _told(error: BrokerError, mechanism: str) -> str:
    """What a client is told; nodes are told more."""
    if isinstance(error, SaslAuthenticationFailed) and mechanism != NODE_MECHANISM:
        return f"Authentication failed due to invalid credentials with SASL mechanism {mechanism}"
    return str(error)
