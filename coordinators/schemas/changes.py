"""Changes of the registry: planned against what this node knows and committed to the catalogue.

Every change of a context compares the context's row and writes it again. So there is one change of a context after the
other in the whole cluster, whichever node it comes by: ids are unique, one schema gets one id, and nobody deletes what
somebody else has just begun to refer to.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from attrs import define

from coordinators.cluster.controller import ClusterController
from coordinators.schemas.errors import RegistryError
from coordinators.schemas.names import Subject
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import ContextRow, SettingsRow
from coordinators.topic_view import Plan
from engine.catalogue.catalogue import CatalogueConflict, Commit, Compare, Delete, Put
from engine.errors import BrokerError

T = TypeVar("T")
ATTEMPTS = 100
"""So often a change is begun anew because somebody else was quicker."""


class Overtaken(BrokerError):
    """What the change was prepared against is no longer so; prepare it again."""


@define(eq=False)
class Changes:
    """See the module."""

    registry: Registry
    controller: ClusterController

    async def make(self, plan: Callable[[], tuple[T, Commit]]) -> T:
        """Commit what the plan says; it is in force on this node when this returns. Raises what the plan raises."""

        def planned() -> Plan[T]:
            result, commit = plan()
            return Plan(commit, (result,))

        (result,) = await self.controller.change(planned)
        if isinstance(result, BrokerError):
            raise result
        return result

    def commit(self, contexts: Iterable[str], changes: Iterable[Put | Delete], next_id: int | None = None) -> Commit:
        """Changes of contexts, the first of which may get a next id."""
        compares, puts = [], []
        for number, context in enumerate(dict.fromkeys(contexts)):
            kept = self.registry.next_id(context)
            row = ContextRow(context, kept if number or next_id is None else next_id)
            compares.append(Compare(row.key, self.registry.revision_of(row.key)))
            puts.append(Put(row.key, row.encode()))
        return Commit(tuple(compares), (*puts, *changes))

    def settings(self, before: SettingsRow, after: SettingsRow) -> Commit:
        """Other settings of a scope."""
        change = Delete(after.key) if after.is_empty else Put(after.key, after.encode())
        if before == after:
            return Commit()
        return Commit((Compare(after.key, self.registry.revision_of(after.key)),), (change,))

    def settings_of(self, scope: Subject) -> SettingsRow:
        """What is set for a scope itself."""
        return self.registry.settings.get(scope) or SettingsRow(scope)


async def repeated(attempt: Callable[[], Awaitable[T]]) -> T:
    """Make the attempt until nobody else is quicker."""
    for _ in range(ATTEMPTS):
        try:
            return await attempt()
        except (Overtaken, CatalogueConflict):
            continue
    raise RegistryError("others change the same all the time; try again", 50002)
