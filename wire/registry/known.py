"""The schemas that records name, for doors that show records by them.

The registry is asked in the caller's name: what the caller may not read is to it as what there is not. A tenant's
caller has its own context and no other. What is needed to read schemas is loaded with the first one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import trio
from attrs import define, field

from coordinators.access.access import AccessControl
from coordinators.access.callers import Caller
from coordinators.schemas.errors import SchemaNotFound, UnacceptableSchema
from coordinators.schemas.names import DEFAULT_CONTEXT
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaRow
from coordinators.schemas.validation.framing import schema_named
from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.inner.namespaces import Namespaces
from wire.registry.calls import home_of
from wire.registry.rights import require_schema
from wire.services import Services

if TYPE_CHECKING:
    from coordinators.schemas.formats.format import ParsedSchema
    from coordinators.schemas.validation.validators import Compiled, Validators

T = TypeVar("T")
MOST_COMPILED = 256


@define(eq=False)
class KnownSchemas:
    """See the module."""

    services: Services
    _validators: "Validators | None" = field(default=None, init=False)
    _loading: trio.Lock = field(factory=trio.Lock, init=False)

    def home(self, caller: Caller) -> str:
        """The context of which the caller's names say nothing."""
        return home_of(self.services[Namespaces].of(caller))

    def row(self, caller: Caller, framing: bytes, asked: str) -> SchemaRow:
        """The schema that is named in front of a payload; `SchemaNotFound` if there is none for this caller."""
        registry, home = self.services[Registry], self.home(caller)
        named = schema_named(framing)
        if isinstance(named, int):
            found = registry.by_id(named, home)
        else:
            rows = registry.all_by_guid(named)
            found = next((row for row in rows if home in (DEFAULT_CONTEXT, row.context)), None)
        if found is None:
            raise SchemaNotFound(f"Schema {named} not found")
        require_schema(self.services[AccessControl], caller, registry, found, asked)
        return found

    async def compiled(self, row: SchemaRow) -> "Compiled":
        """The schema, read, and what checks payloads by it; `UnacceptableSchema` if it cannot be understood."""
        async with self._loading:
            if self._validators is None:
                self._validators = await self.in_worker(_validators, self.services)
        found = await self.in_worker(self._validators.compiled, self._validators.named(row))
        if isinstance(found, str):
            raise UnacceptableSchema(found)
        return found

    async def read(self, row: SchemaRow) -> "ParsedSchema":
        """The schema, read; `UnacceptableSchema` if it cannot be understood."""
        return (await self.compiled(row)).parsed

    async def in_worker(self, function: Callable[..., T], *given: Any) -> T:
        """Run what takes long in a thread."""
        workers: Workers = self.services[Workers]  # type: ignore[type-abstract]
        return await in_worker(workers, function, *given)


def _validators(services: Services) -> "Validators":
    """[thread]"""
    from coordinators.schemas.validation.validators import Validators

    return Validators(services[Registry], MOST_COMPILED)
