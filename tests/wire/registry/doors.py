"""The registry's door over a catalogue in memory, asked as clients ask it."""

import json
from base64 import b64encode
from typing import Any

from attrs import define, field

from coordinators.access.access import AccessControl
from coordinators.access.acls import Operation, PatternType, Permission, ResourceKind
from coordinators.access.audit import Audit
from coordinators.access.authorizer import Authorizer, Rules
from coordinators.access.callers import Principal, Proof
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.nodes import NodeIdentity
from coordinators.schemas.registry import Registry
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from coordinators.topic_view import TopicView
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import AclRecord
from engine.clock import ManualClock
from engine.timers import Timers
from engine.workers import InlineWorkers, Workers
from tests.coordinators.schemas.registries import RegistryNode
from wire.http.callers import LOCAL, Reception, Visitor
from wire.http.config import Access
from wire.http.life import Life, Phase
from wire.http.messages import Request, Response
from wire.inner.namespaces import Namespaces
from wire.registry.application import RegistryApplication, load_registry
from wire.services import Services

V1 = "application/vnd.schemaregistry.v1+json"
Answer = tuple[int, Any]


@define(eq=False)
class Door:
    """A node and its door."""

    authorizer: Authorizer | None = None
    reception: Reception = field(factory=lambda: Reception(Access(), delay_s=0))
    mounted: bool = False
    node: RegistryNode = field(factory=lambda: RegistryNode(MemoryCatalogue()))
    tenants: Tenants = field(factory=Tenants)
    visitor: Visitor = LOCAL
    life: Life = field(init=False)
    application: RegistryApplication = field(init=False)

    def __attrs_post_init__(self) -> None:
        clock = ManualClock()
        self.life = Life(clock, lambda: "1.2.3", (), lambda: 0)
        self.life.phase = Phase.READY
        access = AccessControl(self.authorizer, Audit(clock, Timers(), 1000, []), TopicView())
        services: dict[type[Any], object] = {
            Registry: self.node.registry,
            ClusterController: self.node,
            Workers: InlineWorkers(),
            Life: self.life,
            Reception: self.reception,
            AccessControl: access,
            Namespaces: Namespaces(self.tenants, TopicView(), Usages(), clock),
            NodeIdentity: NodeIdentity(1, "cluster-of-tests", None),
        }
        self.application = load_registry(Services(services), mounted=self.mounted)

    async def respond(
        self, method: str, target: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Response:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": V1} if body is not None else {}
        return await self.application.respond(Request(method, target, {**given, **(headers or {})}, data), self.visitor)

    async def ask(self, method: str, target: str, body: object = None, **headers: str) -> Answer:
        """The status and the JSON of the answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.respond(method, target, body, named)
        return response.status, json.loads(response.body)

    async def get(self, target: str) -> Any:
        """What is there."""
        status, found = await self.ask("GET", target)
        assert status == 200, found
        return found

    async def register(self, subject: str, text: str, query: str = "", **members: Any) -> Any:
        status, found = await self.ask("POST", f"/subjects/{subject}/versions{query}", {"schema": text, **members})
        assert status == 200, found
        return found

    async def code(self, method: str, target: str, body: object = None) -> int:
        """The error code of a refusal, whose status it must begin with."""
        status, found = await self.ask(method, target, body)
        assert str(found["error_code"]).startswith(str(status)), found
        assert found["message"]
        assert found.keys() == {"error_code", "message"}
        return int(found["error_code"])


async def has_password(name: str, password: str) -> Proof | None:
    return Proof(Principal(name)) if password == f"{name}-secret" else None


def basic(name: str, password: str = "") -> str:
    return "Basic " + b64encode(f"{name}:{password or name + '-secret'}".encode()).decode()


def rule(user: str, operation: Operation, name: str, pattern: int = PatternType.LITERAL) -> AclRecord:
    return AclRecord(ResourceKind.SUBJECT, name, pattern, f"User:{user}", "*", operation, Permission.ALLOW)


def guarded(*rules: AclRecord) -> Door:
    known = Rules()
    known.put({each.key: each.encode() for each in rules})
    reception = Reception(Access(), check_password=has_password, certificates=True, delay_s=0)
    return Door(Authorizer(known, frozenset({"User:admin"}), False), reception)
