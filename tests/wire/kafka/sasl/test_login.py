"""The course of a login, without a wire: nodes among clients, and tokens that end."""

import math

import pytest
from trio.testing import trio_test

from coordinators.access.callers import NODE, Principal
from coordinators.access.failed_logins import FailedLogins
from engine.clock import ManualClock
from engine.timers import Timers
from tests.wire.kafka.nodes.pair import CLIENT, SECRET, SERVER, counting
from wire.kafka.nodes.trust import MECHANISM, NodeTrust
from wire.kafka.request import Endpoint, Peer
from wire.kafka.sasl.exchange import SaslExchange, Shown, Turn
from wire.kafka.sasl.login import Login, LoginPolicy, LoginState

ILLEGAL_SASL_STATE, UNSUPPORTED_SASL_MECHANISM, SASL_AUTHENTICATION_FAILED = 34, 33, 58


class Believing:
    """A mechanism that takes everybody at their word; what they have ends in a second."""

    def __init__(self, expires_at_ms: int | None = None) -> None:
        self.expires_at_ms = expires_at_ms

    async def take(self, message: bytes) -> Turn:
        return Turn(b"welcome", Shown(Principal(message.decode()), self.expires_at_ms))


def login(clock: ManualClock, secret: bytes | None = SECRET, session_ms: int = 0, expires: int | None = None) -> Login:
    def begin(_: str) -> SaslExchange:
        return Believing(expires)

    policy = LoginPolicy(
        "IN",
        {"BELIEF": begin},
        NodeTrust(SERVER, counting(), secret),
        clock,
        FailedLogins(clock, Timers()),
        max_session_ms={"BELIEF": session_ms},
    )
    return Login(policy, Peer("::ffff:10.0.0.7", 1, Endpoint("h", 1), 1))


@trio_test
async def test_a_node_is_known_on_a_listener_that_asks_clients_for_something_else() -> None:
    clock = ManualClock()
    shown = login(clock)
    assert shown.handshake(MECHANISM, 1).error_code == 0
    asking = NodeTrust(CLIENT, counting(100), SECRET).ask(7, SERVER)
    challenge = await shown.authenticate(asking.hello)
    assert (await shown.authenticate(asking.take(bytes(challenge.auth_bytes)))).error_code == 0
    assert (shown.peer.caller, shown.peer.node_id, shown.expires_at) == (NODE, CLIENT, math.inf)
    clock.advance_ms(5_000)
    assert shown.handshake(MECHANISM, 1).error_code == ILLEGAL_SASL_STATE, "it is known"


@trio_test
async def test_where_there_is_no_cluster_nobody_is_a_node() -> None:
    assert login(ManualClock(), None).handshake(MECHANISM, 1).error_code == UNSUPPORTED_SASL_MECHANISM


@trio_test
async def test_the_address_stays_with_the_principal() -> None:
    shown = login(ManualClock())
    shown.handshake("BELIEF", 1)
    await shown.authenticate(b"alice")
    assert (str(shown.peer.caller.principal), shown.peer.caller.host) == ("User:alice", "10.0.0.7")
    assert shown.state is LoginState.KNOWN


@trio_test
async def test_nobody_logs_in_as_who_was_not_asked() -> None:
    shown = login(ManualClock())
    shown.handshake("BELIEF", 1)
    assert (await shown.authenticate(b"ANONYMOUS")).error_code == SASL_AUTHENTICATION_FAILED
    assert shown.state is LoginState.FAILED


@pytest.mark.parametrize(
    ("session_ms", "token_ms", "told"), [(0, None, 0), (5000, None, 5000), (5000, 2000, 2000), (0, 2000, 2000)]
)
@trio_test
async def test_a_login_counts_until_the_first_of_its_ends(session_ms: int, token_ms: int | None, told: int) -> None:
    clock = ManualClock()
    expires = None if token_ms is None else clock.now_ms() + token_ms
    shown = login(clock, session_ms=session_ms, expires=expires)
    shown.handshake("BELIEF", 1)
    assert (await shown.authenticate(b"alice")).session_lifetime_ms == told
    assert not shown.has_expired()
    clock.advance_ms(6_000)
    assert shown.has_expired() == (told > 0)


@trio_test
async def test_messages_without_a_handshake_come_to_nothing() -> None:
    shown = login(ManualClock())
    assert (await shown.authenticate(b"alice")).error_code == ILLEGAL_SASL_STATE
    assert not shown.is_known
