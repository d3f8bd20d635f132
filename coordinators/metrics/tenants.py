"""Figures of tenants: what each uses, holds and was refused on this node."""

from collections.abc import Iterator

from attrs import define, field

from coordinators.metrics.labels import BoundedLabels
from coordinators.tenants.holdings import Holdings
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from engine.metrics import Family, Labels


@define(eq=False)
class TenantMetrics:
    """A collector over all tenants, of which at most `tenant_limit` have series. Tenants do not become `other`: the sum
    of those would tell of nobody."""

    tenants: Tenants
    usages: Usages
    holdings: Holdings
    tenant_limit: int
    _labels: BoundedLabels[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._labels = BoundedLabels(self.tenant_limit)

    def collect(self) -> Iterator[Family | None]:
        """Everything about tenants."""
        self._labels.update(sorted(row.name for row in self.tenants))
        yield Family.gauge("tidegate_tenants", "Tenants.", [({}, len(self.tenants))])
        yield Family.gauge(
            "tidegate_metrics_tenants_left_out",
            "Tenants without metrics of their own (metrics.tenant.limit).",
            [({}, self._labels.left_out())],
        )
        rows = [row for row in self.tenants if self._labels.is_named(row.name)]
        yield from self._used(rows)
        held: list[tuple[Labels, int, int]] = []
        for row in rows:
            held.append(({"tenant": row.name}, self.holdings.stored_bytes(row), self.holdings.pending_records(row)))
            yield None
        yield Family.gauge(
            "tidegate_tenant_storage_bytes",
            "Bytes that a tenant stores on this node, in partitions that it leads.",
            ((labels, stored) for labels, stored, _ in held),
        )
        yield Family.gauge(
            "tidegate_tenant_pending_records",
            "Delayed records of a tenant that wait on this node.",
            ((labels, pending) for labels, _, pending in held),
        )

    def _used(self, rows: list[TenantRecord]) -> Iterator[Family]:
        used = [({"tenant": row.name}, self.usages.of(row.name)) for row in rows]
        yield Family.gauge(
            "tidegate_tenant_connections",
            "Connections of a tenant's clients.",
            ((labels, each.connections) for labels, each in used),
        )
        yield Family.counter(
            "tidegate_tenant_connections_refused_total",
            "Connections of a tenant's clients that were refused by its limit.",
            ((labels, each.refused_connections) for labels, each in used),
        )
        yield Family.counter(
            "tidegate_tenant_requests_total",
            "Requests of a tenant's clients.",
            ((labels, each.requests) for labels, each in used),
        )
        yield Family.counter(
            "tidegate_tenant_produced_bytes_total",
            "Bytes of records that a tenant's clients have sent.",
            ((labels, each.produced_bytes) for labels, each in used),
        )
        yield Family.counter(
            "tidegate_tenant_consumed_bytes_total",
            "Bytes of records that a tenant's clients have fetched.",
            ((labels, each.consumed_bytes) for labels, each in used),
        )
        yield Family.counter(
            "tidegate_tenant_throttled_seconds_total",
            "How long a tenant's clients were told to wait for being beyond its rates.",
            ((labels, each.throttled_ms / 1000) for labels, each in used),
        )
