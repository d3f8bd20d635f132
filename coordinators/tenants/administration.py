"""Making, altering and deleting tenants: planned against what this node knows, and committed to the catalogue."""

from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from coordinators.cluster.controller import ClusterController
from coordinators.tenants.rows import TenantLimits, TenantRecord
from coordinators.tenants.tenants import Tenants
from coordinators.topic_view import Plan
from engine.catalogue.catalogue import Commit
from engine.errors import BrokerError


@frozen(eq=False)
class TenantAdministration:
    """Each call returns when the change is in force on this node, and raises why it cannot be."""

    controller: ClusterController

    @property
    def tenants(self) -> Tenants:
        """Those that there are."""
        return self.controller.topics.tenants

    async def create(
        self,
        name: str,
        principals: Iterable[str] | None = None,
        *,
        rewrite: bool = False,
        limits: Mapping[str, int | None] | None = None,
    ) -> TenantRecord:
        """A new tenant."""
        bounds = TenantLimits().changed(limits or {})
        return await self._change(lambda: self.tenants.plan_create(name, principals, rewrite=rewrite, limits=bounds))

    async def alter(
        self,
        name: str,
        limits: Mapping[str, int | None] | None = None,
        *,
        principals: Iterable[str] | None = None,
        rewrite: bool | None = None,
    ) -> TenantRecord:
        """Other limits, principals or manner."""
        return await self._change(
            lambda: self.tenants.plan_alter(name, limits=limits or {}, principals=principals, rewrite=rewrite)
        )

    async def delete(self, name: str, *, force: bool = False, release: bool = False) -> TenantRecord:
        """The tenant goes; `TenantHasTopics` while it has some, unless it is forced. Its principals are refused from
        then on; to `release` them, then or later, makes them nobody's."""
        before = self.tenants.known(name, gone=release)
        topics = self.controller.topics.by_name
        return await self._change(
            lambda: (before, self.tenants.plan_delete(name, topics, force=force, release=release))
        )

    async def _change(self, plan: Callable[[], tuple[TenantRecord, Commit]]) -> TenantRecord:
        def planned() -> Plan[TenantRecord]:
            row, commit = plan()
            return Plan(commit, (row,))

        (result,) = await self.controller.change(planned)
        if isinstance(result, BrokerError):
            raise result
        return result
