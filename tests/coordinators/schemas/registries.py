"""Nodes with a registry each, on a catalogue that they share."""

import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from attrs import define, field

from coordinators.cluster.news import News
from coordinators.schemas.changes import Changes
from coordinators.schemas.deleting import SchemaDeleting
from coordinators.schemas.names import Subject, checked
from coordinators.schemas.parsing import Parsing
from coordinators.schemas.registering import Registered, Registering, WantedSchema
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import Reference, SchemaContent
from coordinators.schemas.settings import RegistrySettings
from engine.catalogue.catalogue import Catalogue, Watch
from engine.workers import InlineWorkers
from tests.coordinators.following import FollowingNode


def avro(*fields: str, name: str = "Order", **members: Any) -> str:
    """A record of integers; a field that ends with = has a default."""
    found: list[dict[str, Any]] = [{"name": each.rstrip("="), "type": "int"} for each in fields]
    for described, given in zip(found, fields, strict=True):
        if given.endswith("="):
            described["default"] = 0
    return json.dumps({"type": "record", "name": name, "fields": found, **members})


@define(eq=False)
class RegistryNode(FollowingNode):
    """One node: what it knows, and who changes it. It stands in for the controller, too."""

    catalogue: Catalogue
    most_bytes: int = 1 << 20
    registry: Registry = field(factory=Registry, init=False)
    commits: int = field(default=0, init=False)
    before_commit: list[Callable[[], Awaitable[object]]] = field(factory=list, init=False)
    """What happens elsewhere between a plan and its commit, once each."""
    watch: Watch = field(init=False)
    registering: Registering = field(init=False)
    deleting: SchemaDeleting = field(init=False)
    settings: RegistrySettings = field(init=False)

    def __attrs_post_init__(self) -> None:
        revision = self.catalogue.revision()
        self.registry.load(self.catalogue)
        self.watch = self.catalogue.watch(revision)
        changes = Changes(self.registry, self)  # type: ignore[arg-type]
        parsing = Parsing(self.registry, InlineWorkers(), self.most_bytes)
        self.registering = Registering(self.registry, parsing, changes)
        self.deleting = SchemaDeleting(self.registry, changes)
        self.settings = RegistrySettings(self.registry, changes)

    @property
    def topics(self) -> Any:
        """What the door asks the controller for its settings by."""
        return SimpleNamespace(settings=SimpleNamespace(integer=lambda _: self.most_bytes))

    def take(self, news: News) -> None:
        """What a revision changed."""
        self.registry.take(news)

    # -- in short

    async def register(self, subject: str, text: str, *references: Reference, **options: Any) -> Registered:
        content = SchemaContent(options.pop("type", "AVRO"), text, references, options.pop("metadata", None))
        return await self.registering.register(WantedSchema(checked(subject), content, **options))

    async def look_up(self, subject: str, text: str, **options: Any) -> Registered:
        return await self.registering.look_up(checked(subject), SchemaContent("AVRO", text), **options)

    def versions(self, subject: str) -> list[tuple[int, int, bool]]:
        """Number, id and whether it is deleted."""
        row = self.registry.subject(checked(subject))
        return [] if row is None else [(each.number, each.id, each.deleted) for each in row.versions]

    async def put_level(self, scope: Subject, level: str) -> None:
        await self.settings.put_config(scope, {"compatibility": level})
