"""Two tenants at the operations door: `acme`, whose names are rewritten, and `zulu`, whose names are as they are."""

import json
import os
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define

from coordinators.access.password_file import PasswordHash
from coordinators.tenants.administration import TenantAdministration
from tests.wire.http.door import Answer, HttpDoor
from tests.wire.kafka.door import open_door

HASH = str(PasswordHash.of("sesame", os.urandom))
USERS = ("acme.ann", "zulu.zoe", "root")
SETTINGS: dict[str, object] = {
    "http.port": -1,
    "http.enabled.mechanisms": "BASIC",
    "connection.failed.authentication.delay.ms": 20,
    "group.initial.rebalance.delay.ms": 0,
    "log.trace.sample.per.second": 1000,
}


@define(eq=False)
class Tenant:
    """A tenant's user, who calls its things as `called` says."""

    http: HttpDoor
    name: str
    user: str
    prefix: str = ""

    def called(self, name: str) -> str:
        """How this tenant's clients say it."""
        return self.prefix + name

    async def ask(self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        shown = b64encode(f"{self.user}:sesame".encode()).decode()
        sent = {"authorization": f"Basic {shown}", "x-tidegate": "1", **(headers or {})}
        return await self.http.ask(method, target, sent, body)

    async def done(self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """What it is answered, which is no refusal."""
        answer = await self.ask(method, target, body, headers)
        assert answer.status < 300, answer
        return json.loads(answer.body) if answer.body else None

    async def get(self, target: str) -> Any:
        return await self.done("GET", target)

    async def publish(self, topic: str, *values: str) -> None:
        """Records, each with its key."""
        records = [{"key": each, "value": each} for each in values]
        told = await self.done("POST", f"/topics/{self.called(topic)}/messages", records)
        assert told["failed"] == 0, told


@define(eq=False)
class TwoTenants:
    """See the module."""

    http: HttpDoor
    acme: Tenant
    zulu: Tenant
    root: Tenant

    @property
    def both(self) -> tuple[Tenant, Tenant]:
        return self.acme, self.zulu

    @property
    def topics(self) -> set[str]:
        """As the broker calls them."""
        return set(self.http.broker.node.topics.by_name)


@asynccontextmanager
async def open_two(data_dir: Path, settings: dict[str, object] | None = None) -> AsyncIterator[TwoTenants]:
    """Run a broker with both for the length of the block."""
    users = data_dir / "users"
    users.write_text("".join(f"{name}:{HASH}\n" for name in USERS))
    values = {**SETTINGS, "sasl.plain.users.location": str(users), **(settings or {})}
    async with open_door(data_dir / "data", values) as door:
        administration = door.broker.node.services[TenantAdministration]
        await administration.create("acme", rewrite=True)
        await administration.create("zulu")
        http = HttpDoor(door)
        acme, zulu = Tenant(http, "acme", "acme.ann"), Tenant(http, "zulu", "zulu.zoe", "zulu.")
        yield TwoTenants(http, acme, zulu, Tenant(http, "", "root"))
