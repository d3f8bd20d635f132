"""A listener as its connections find it: what is asked of them before their first request is served."""

from collections.abc import Sequence

import trio
from attrs import frozen

from wire.kafka.request import Peer
from wire.kafka.sasl.gate import Gate, NotLetIn
from wire.kafka.sasl.login import Login, LoginPolicy
from wire.kafka.served_apis import ServedApis
from wire.transport import Transport


@frozen(eq=False)
class Entrance:
    """What a listener asks for. Without a login everybody is let in."""

    name: str
    login: LoginPolicy | None = None


@frozen(eq=False)
class Arrival:
    """One connection on its way in."""

    entrance: Entrance
    transport: Transport
    peer: Peer
    served: ServedApis

    async def run(self) -> bool:
        """Whether it is let in. Raises `NotLetIn` with a reason that nobody has logged, OSError if the client goes."""
        policy, login = self.entrance.login, self.peer.login
        if policy is None or login is None:
            return True
        with trio.move_on_after(policy.timeout_s):
            return await Gate(self.transport, self.peer, login, self.served).run()
        raise NotLetIn(f"it has not logged in within sasl.authentication.timeout.ms={round(policy.timeout_s * 1000)}")


def arrive(entrances: Sequence[Entrance], transport: Transport, peer: Peer, served: ServedApis) -> Arrival | None:
    """What a connection has before it, by the number of its listener; None where nothing is asked."""
    if peer.listener >= len(entrances):
        return None
    entrance = entrances[peer.listener]
    peer.listener_name = entrance.name
    if entrance.login is None:
        return None
    peer.login = Login(entrance.login, peer)
    return Arrival(entrance, transport, peer, served)
