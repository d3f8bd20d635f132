"""The tenants that there are, as the catalogue tells: whose a name is, and who belongs to whom. Only the event loop
touches it; changes are planned against it while nothing is put in force."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import define, evolve, field

from coordinators.access.callers import Caller, Principal
from coordinators.tenants.rows import SEPARATOR, TenantLimits, TenantRecord, default_principals
from engine.catalogue.catalogue import Commit, Compare, Delete, Put
from engine.errors import InvalidRequest, PolicyViolation

TENANT_COUNT_MAX = 10_000


class UnknownTenant(InvalidRequest):
    """No tenant has this name."""


class TenantExists(InvalidRequest):
    """A tenant of this name exists."""


class TenantHasTopics(InvalidRequest):
    """It cannot go while it has some."""


@define(eq=False)
class Tenants:
    """Rows by name."""

    on_change: list[Callable[[], object]] = field(factory=list, init=False)
    """Told when a tenant came, went or was altered."""
    _rows: dict[str, TenantRecord] = field(factory=dict, init=False)
    _gone: dict[str, TenantRecord] = field(factory=dict, init=False)
    """Those that were deleted, until one of the name is made again or its principals are let go."""
    _revisions: dict[str, int] = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TenantRecord]:
        return iter(self._rows.values())

    def get(self, name: str) -> TenantRecord | None:
        """The tenant of this name."""
        return self._rows.get(name)

    def named(self, name: str) -> TenantRecord:
        """The same; `UnknownTenant` if there is none."""
        found = self._rows.get(name)
        if found is None:
            raise UnknownTenant(f"there is no tenant {name!r}; 'tidegate tenant list' tells which there are")
        return found

    # -- whose it is

    def owner(self, name: str) -> TenantRecord | None:
        """The tenant in whose namespace a topic, a group or a transactional id of this name is."""
        if not self._rows:
            return None
        first, dot, _rest = name.partition(SEPARATOR)
        return self._rows.get(first) if dot else None

    def of(self, caller: Caller) -> str | None:
        """The name of the tenant that a caller belongs to: that which its token names, whether or not there is such
        a one, or the one whose row lists it; None if it is nobody's. Of several that list it, the first by name. Who is
        listed only by one that was deleted still belongs to it, and so to none that there is."""
        if caller.tenant is not None:
            return caller.tenant
        if not self.is_any_known:
            return None
        principal = caller.principal
        found = min((row.name for row in self._rows.values() if row.includes(principal)), default=None)
        if found is not None:
            return found
        return min((row.name for row in self._gone.values() if row.includes(principal)), default=None)

    def listing(self, principal: Principal) -> set[str]:
        """The names of all tenants whose rows list somebody."""
        return {row.name for row in self._rows.values() if row.includes(principal)}

    @property
    def is_any_known(self) -> bool:
        """Whether there is a tenant, or was."""
        return bool(self._rows or self._gone)

    # -- changes: planned in a thread, nothing is written

    def plan_create(
        self, name: str, principals: Iterable[str] | None = None, *, rewrite: bool = False, limits: TenantLimits
    ) -> tuple[TenantRecord, Commit]:
        """A new tenant; without principals, those that are named after it."""
        chosen = default_principals(name) if principals is None else tuple(dict.fromkeys(principals))
        row = TenantRecord(name, chosen, rewrite, limits)
        row.check()
        if name in self._rows:
            raise TenantExists(f"there is a tenant {name!r} already")
        if name not in self._gone and len(self._rows) + len(self._gone) >= TENANT_COUNT_MAX:
            raise PolicyViolation(
                f"there are {TENANT_COUNT_MAX} tenants with those that were deleted, which is the most"
            )
        return row, Commit((Compare(row.key, self._revisions.get(name, 0)),), (Put(row.key, row.encode()),))

    def plan_alter(
        self,
        name: str,
        *,
        limits: Mapping[str, int | None],
        principals: Iterable[str] | None = None,
        rewrite: bool | None = None,
    ) -> tuple[TenantRecord, Commit]:
        """Other limits, principals or manner; what is not named stays."""
        before = self.named(name)
        after = evolve(before, limits=before.limits.changed(limits))
        if principals is not None:
            after = evolve(after, principals=tuple(dict.fromkeys(principals)))
        if rewrite is not None:
            after = evolve(after, rewrite=rewrite)
        after.check()
        if after == before:
            return before, Commit()
        return after, Commit((Compare(before.key, self._revisions[name]),), (Put(after.key, after.encode()),))

    def known(self, name: str, *, gone: bool) -> TenantRecord:
        """The tenant of this name or, if `gone` ones count, the one that was called so."""
        found = self._gone.get(name) if gone else None
        return self.named(name) if found is None else found

    def plan_delete(
        self, name: str, topics: Iterable[str], *, force: bool, release: bool = False, gone: bool = False
    ) -> Commit:
        """The tenant is no more; of the `topics` that exist none may be its own, unless it is forced: then they stay
        as anybody's. Whom it listed is refused from then on, unless they are to `release`: then they are nobody's. With
        `gone`, as with `release`, the tenant may be deleted already."""
        before = self.known(name, gone=release or gone)
        held = sorted(each for each in topics if each.startswith(before.prefix))
        if held and not force and not before.deleted:
            shown = ", ".join(held[:3]) + (", ..." if len(held) > 3 else "")
            raise TenantHasTopics(
                f"tenant {name!r} has {len(held)} topics ({shown}): delete them first, or say --everything to "
                "delete it with all that it has, or --force to leave them to whoever may have topics without a tenant"
            )
        after = TenantRecord(name, before.principals, deleted=True)
        change = Delete(before.key) if release else Put(before.key, after.encode())
        return Commit((Compare(before.key, self._revisions[name]),), (change,))

    # -- following the catalogue

    def take(self, news: Mapping[str, tuple[TenantRecord | None, int]]) -> None:
        """What the catalogue says now of some tenants, with the revisions of their rows."""
        for name, (row, revision) in news.items():
            self._rows.pop(name, None)
            self._gone.pop(name, None)
            self._revisions.pop(name, None)
            if row is not None:
                kept = self._gone if row.deleted else self._rows
                kept[name], self._revisions[name] = row, revision
        if news:
            for follow in self.on_change:
                follow()

    def keys(self) -> Iterable[str]:
        """The rows of the catalogue that are known."""
        return [row.key for row in (*self._rows.values(), *self._gone.values())]
