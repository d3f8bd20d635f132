"""SaslAuthenticate (36), versions 0-2: the messages of the exchange that SaslHandshake has begun.

Without one, ILLEGAL_SASL_STATE. Who fails is told no more than that. Where the listener asks who somebody is the
connection ends then (`wire/kafka/sasl/login.py`); where only nodes show that, one begins again with a handshake.
"""

from collections.abc import Coroutine
from typing import Any

from coordinators.access.callers import NODE
from engine.errors import BrokerError, IllegalSaslState
from wire.kafka.errors import error_code
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from wire.kafka.nodes.trust import Answering
from wire.kafka.request import Context
from wire.kafka.rights import free

KEY = 36
VERSIONS = (0, 2)
RIGHTS = free("by it clients show who they are")


def handle(
    request: SaslAuthenticateRequest, context: Context
) -> SaslAuthenticateResponse | Coroutine[Any, Any, SaslAuthenticateResponse]:
    """Go on with the exchange; when it is complete, the connection is somebody's, or a node's."""
    peer = context.peer
    if peer.login is not None:
        return peer.login.authenticate(bytes(request.auth_bytes))
    try:
        if not isinstance(peer.exchange, Answering):
            raise IllegalSaslState("there was no SaslHandshake")
        answer, shown = peer.exchange.take(bytes(request.auth_bytes))
    except BrokerError as error:
        peer.exchange = None
        return SaslAuthenticateResponse(error_code(error), str(error))
    if shown is not None:
        peer.exchange, peer.node_id, peer.link = None, shown.node_id, shown
        peer.caller = NODE
    return SaslAuthenticateResponse(auth_bytes=answer)
