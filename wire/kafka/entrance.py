"""A listener as its connections find it: what is asked of them before their first request is served."""

from collections.abc import Sequence

import trio
from attrs import evolve, frozen

from engine.errors import SaslAuthenticationFailed
from wire.kafka.request import Peer
from wire.kafka.sasl.gate import Gate, NotLetIn
from wire.kafka.sasl.login import Login, LoginPolicy
from wire.kafka.served_apis import ServedApis
from wire.tls.identity import TlsIdentity
from wire.tls.names import principal_of
from wire.tls.transport import NoTls, TlsTransport
from wire.transport import Transport


@frozen(eq=False)
class Entrance:
    """What a listener asks for. Without TLS and a login everybody is let in as they are."""

    name: str
    tls: TlsIdentity | None = None
    login: LoginPolicy | None = None

    @property
    def asks(self) -> bool:
        """Whether a connection has anything to do before its first request."""
        return self.tls is not None or self.login is not None


@frozen(eq=False)
class Arrival:
    """One connection on its way in."""

    entrance: Entrance
    transport: Transport
    peer: Peer
    served: ServedApis

    async def run(self) -> bool:
        """Whether it is let in. Raises `NotLetIn` with a reason that nobody has logged, OSError if the client goes."""
        await self._encrypt()
        return await self._login()

    async def _encrypt(self) -> None:
        transport, tls = self.transport, self.entrance.tls
        if tls is None or not isinstance(transport, TlsTransport):
            return
        with trio.move_on_after(tls.handshake_timeout_s) as patience:
            try:
                await transport.handshake(tls.turn)
            except NoTls as error:
                raise NotLetIn(str(error)) from None
        if patience.cancelled_caught:
            raise NotLetIn(f"no TLS within ssl.handshake.timeout.ms={round(tls.handshake_timeout_s * 1000)}")
        if self.entrance.login is None:
            try:
                principal = principal_of(transport.certificate, tls.rules)
            except SaslAuthenticationFailed as error:
                raise NotLetIn(str(error)) from None
            self.peer.caller = evolve(self.peer.caller, principal=principal)

    async def _login(self) -> bool:
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
    if entrance.login is not None:
        peer.login = Login(entrance.login, peer)
    if entrance.tls is not None:
        transport = TlsTransport(transport, entrance.tls.context)
    return Arrival(entrance, transport, peer, served) if entrance.asks else None
