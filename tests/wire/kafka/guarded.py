"""A broker that asks for rights, and clients of it that are whoever a test says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import frozen

from coordinators.access.access import AccessControl
from coordinators.access.callers import Caller, Principal
from engine.catalogue.records import AclRecord
from tests.wire.kafka.door import Client, Door, open_door, until
from wire.kafka.request import Peer

HOST = "127.0.0.1"
ROOT = "root"


def allow(user: str, operation: int, kind: int, name: str, *, pattern: int = 3, permission: int = 3) -> AclRecord:
    return AclRecord(kind, name, pattern, f"User:{user}", "*", operation, permission)


@frozen(eq=False)
class Guarded:
    """See the module. Rules are put in force at once, past the catalogue."""

    door: Door

    @property
    def access(self) -> AccessControl:
        return self.door.broker.node.services[AccessControl]

    async def client(self, user: str) -> Client:
        """One that has shown to be this user."""
        client = await self.door.connect()
        self.become(await self.peer(client), user)
        return client

    async def peer(self, client: Client) -> Peer:
        """What the broker knows the connection by."""
        port = client.stream.socket.getsockname()[1]
        connections = self.door.broker.server.connections

        def found() -> list[Peer]:
            return [each.peer for each in connections.values() if each.peer.port == port]

        await until(found)
        return found()[0]

    def become(self, peer: Peer, user: str) -> None:
        peer.caller = Caller(Principal(user), HOST)

    def rule(self, *acls: AclRecord) -> None:
        rules = self.access.rules
        assert rules is not None
        rules.put({acl.key: acl.encode() for acl in acls})

    def unrule(self, *acls: AclRecord) -> None:
        rules = self.access.rules
        assert rules is not None
        rules.put({acl.key: None for acl in acls})


@asynccontextmanager
async def open_guarded(data_dir: Path, settings: dict[str, object] | None = None) -> AsyncIterator[Guarded]:
    """Run one; `root` may do everything."""
    wanted = {"authorizer.enable": "true", "super.users": f"User:{ROOT}", **(settings or {})}
    async with open_door(data_dir, wanted) as door:
        yield Guarded(door)
