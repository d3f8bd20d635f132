"""SaslHandshake (17), versions 0-1: how somebody is going to show who it is.

Where the listener asks for it, this begins a login (`wire/kafka/sasl/login.py`), or begins it again (KIP-368). Other
listeners let clients in without that, and answer as Kafka's do: ILLEGAL_SASL_STATE. Nodes of a cluster know each other
by a mechanism of their own on any listener (`wire/kafka/nodes/trust.py`), from version 1, which says that the exchange
follows in SaslAuthenticate.
"""

from coordinators.access.callers import ANONYMOUS, Caller, plain_address
from engine.errors import BrokerError, IllegalSaslState
from wire.kafka.errors import error_code
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from wire.kafka.nodes.trust import MECHANISM, NodeTrust
from wire.kafka.request import Context
from wire.kafka.rights import free

KEY = 17
VERSIONS = (0, 1)
RIGHTS = free("by it clients show who they are")

FIRST_EXCHANGE_VERSION = 1


def handle(request: SaslHandshakeRequest, context: Context, trust: NodeTrust) -> SaslHandshakeResponse:
    """Begin an exchange with what may be a node; whoever the connection was known as before, it is not any more."""
    peer = context.peer
    if peer.login is not None:
        return peer.login.handshake(request.mechanism, context.version)
    if peer.node_id is not None:
        peer.caller = Caller(ANONYMOUS, plain_address(peer.address))
    peer.exchange = peer.node_id = peer.link = None
    try:
        if request.mechanism != MECHANISM or context.version < FIRST_EXCHANGE_VERSION:
            raise IllegalSaslState("this listener asks nobody who it is")
        peer.exchange = trust.answer()
    except BrokerError as error:
        return SaslHandshakeResponse(error_code=error_code(error))
    return SaslHandshakeResponse(mechanisms=[MECHANISM])
