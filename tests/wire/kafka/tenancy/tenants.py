"""A broker with tenants in this process: a listener of each, and one of nobody's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from attrs import define

from coordinators.tenants.administration import TenantAdministration
from tests.wire.kafka.door import Client, Door, open_door

NAMES = ("PLAINTEXT", "ACME", "ZULU", "PREFIXED")
SETTINGS: dict[str, object] = {
    "listeners": ",".join(f"{name}://127.0.0.1:0" for name in NAMES),
    "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in NAMES),
    "listener.name.acme.tenant": "acme",
    "listener.name.acme.tenant.rewrite": True,
    "listener.name.zulu.tenant": "zulu",
    "listener.name.zulu.tenant.rewrite": True,
    "listener.name.prefixed.tenant": "acme",
}
OPERATOR, ACME, ZULU, ACME_PREFIXED = range(4)


@define(eq=False)
class TenantDoor:
    """The door, and by whom it is entered."""

    door: Door

    @property
    def administration(self) -> TenantAdministration:
        return self.door.broker.node.services[TenantAdministration]

    async def connect(self, listener: int) -> Client:
        """A client that comes by a listener."""
        sock = trio.socket.socket()
        host, port = self.door.broker.listeners[listener].address.rsplit(":", 1)
        await sock.connect((host, int(port)))
        client = Client(trio.SocketStream(sock))
        self.door._clients.append(client)
        return client


@asynccontextmanager
async def open_tenants(
    data_dir: Path, settings: dict[str, object] | None = None, *, bare: bool = False, is_new: bool = True
) -> AsyncIterator[TenantDoor]:
    """Tenants `acme`, whose names are rewritten by one listener and not by another, and `zulu`, whose are. `bare`: the
    settings bring listeners of their own; not `is_new`: the tenants are those of before."""
    async with open_door(data_dir, {**({} if bare else SETTINGS), **(settings or {})}) as door:
        opened = TenantDoor(door)
        for name in ("acme", "zulu") if is_new else ():
            await opened.administration.create(name)
        yield opened
