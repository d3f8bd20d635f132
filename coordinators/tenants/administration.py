"""Making, altering and deleting tenants: planned against what this node knows, and committed to the catalogue."""

from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from coordinators.access.callers import Principal
from coordinators.cluster.controller import ClusterController
from coordinators.tenants.belongings import Belongings, BelongingsReader
from coordinators.tenants.rows import TenantLimits, TenantRecord
from coordinators.tenants.tenants import Tenants
from coordinators.topic_view import Plan
from engine.catalogue.catalogue import Commit
from engine.errors import BrokerError


@frozen(eq=False)
class TenantAdministration:
    """Each call returns when the change is in force on this node, and raises why it cannot be."""

    controller: ClusterController
    super_users: frozenset[str] = frozenset()

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

    async def delete(
        self, name: str, *, force: bool = False, release: bool = False, everything: bool = False
    ) -> TenantRecord:
        """The tenant goes; `TenantHasTopics` while it has some, unless it is forced. Its principals are refused from
        then on; to `release` them, then or later, makes them nobody's. With `everything` all that it has goes, too,
        or what remains of it where it is deleted already."""
        if not everything:
            return await self._close(name, force=force, release=release)
        row = self.tenants.known(name, gone=True)
        await self._check_deletable(await self.belongings(name))
        # First whoever could make more of it is shut out; whom the row lists stays known until the rest is gone.
        await self._close(name, force=True, gone=True)
        await self._delete_belongings(row)
        if release:
            await self._close(name, release=True)
        return row

    async def belongings(self, name: str) -> Belongings:
        """What a tenant has besides its row, or one that is deleted has left."""
        row, replicas = self.tenants.known(name, gone=True), self.controller.replicas
        async with replicas.steady():
            found: Belongings = await replicas.in_catalogue(self._read, row)
        return found

    def _read(self, row: TenantRecord) -> Belongings:
        """[thread] While nothing is put in force."""
        catalogue, tenants = self.controller.replicas.catalogue, self.tenants

        def is_sole(principal: Principal) -> bool:
            return str(principal) not in self.super_users and tenants.listing(principal) <= {row.name}

        reader = BelongingsReader(lambda prefix: catalogue.entries(prefix)[1], is_sole)
        return reader.read(row, self.controller.topics.by_name)

    async def _check_deletable(self, has: Belongings) -> None:
        """Before anything is done."""
        topics = self.controller.topics
        planned = await self.controller.change(lambda: topics.plan_delete(has.topics), validate_only=True)
        _raise_first(planned)

    async def _delete_belongings(self, row: TenantRecord) -> None:
        topics = [each for each in self.controller.topics.by_name if each.startswith(row.prefix)]
        _raise_first(await self.controller.delete_topics(topics))

        def plan() -> Plan[None]:
            return Plan(self._read(row).without_them(), (None,))

        gone = await self.controller.change(plan)
        _raise_first(gone)

    async def _close(
        self, name: str, *, force: bool = False, release: bool = False, gone: bool = False
    ) -> TenantRecord:
        """Nobody is served as the tenant's from now on."""
        before = self.tenants.known(name, gone=release or gone)
        topics = self.controller.topics.by_name
        return await self._change(
            lambda: (before, self.tenants.plan_delete(name, topics, force=force, release=release, gone=gone))
        )

    async def _change(self, plan: Callable[[], tuple[TenantRecord, Commit]]) -> TenantRecord:
        def planned() -> Plan[TenantRecord]:
            row, commit = plan()
            return Plan(commit, (row,))

        (result,) = await self.controller.change(planned)
        if isinstance(result, BrokerError):
            raise result
        return result


def _raise_first(results: Iterable[object]) -> None:
    for each in results:
        if isinstance(each, BrokerError):
            raise each
