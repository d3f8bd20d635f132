"""What tenants hold on this node: bytes on its disks, delayed records that wait; and what they may no longer add.

What a tenant holds is added up at most once a second, and what it has published since is added to that: nobody walks
over partitions for a batch.
"""

from attrs import define, field

from coordinators.release.releases import Releases
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.usage import Usages
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.clock import Clock
from engine.errors import PolicyViolation
from engine.partition.partition import Partition, stages_of
from engine.partition.partitions import Partitions
from engine.partition.staging import Staging
from engine.records.batch import Publisher

FRESH_S = 1.0


@define
class _Held:
    """What was added up."""

    at: float
    stored_bytes: int
    pending_records: int
    produced_bytes: int
    """In all, when it was added up."""
    staged_since: int = 0


@define(eq=False)
class Holdings:
    """See the module. As an `Admission` it refuses what is beyond the limits."""

    topics: Topics
    partitions: Partitions
    releases: Releases
    usages: Usages
    clock: Clock
    _held: dict[str, _Held] = field(factory=dict, init=False)

    def stored_bytes(self, tenant: TenantRecord) -> int:
        """On the disks of this node, in partitions that it leads."""
        held = self._of(tenant)
        return held.stored_bytes + self.usages.of(tenant.name).produced_bytes - held.produced_bytes

    def pending_records(self, tenant: TenantRecord) -> int:
        """Delayed records that wait here for their time."""
        held = self._of(tenant)
        return held.pending_records + held.staged_since

    def topic_counts(self, tenant: TenantRecord) -> tuple[int, int]:
        """How many topics it has in the cluster, and how many partitions they have."""
        mine = [topic for name, topic in self.topics.by_name.items() if name.startswith(tenant.prefix)]
        return len(mine), sum(topic.partition_count for topic in mine)

    # -- what is refused

    def check_write(self, _: Publisher, topic: Topic) -> None:
        """`PolicyViolation` for a tenant that holds as much as it may. Who publishes does not matter."""
        tenant = self.topics.tenants.owner(topic.name)
        most = None if tenant is None else tenant.limits.storage_bytes
        if tenant is not None and most is not None and (stored := self.stored_bytes(tenant)) >= most:
            raise PolicyViolation(
                f"tenant {tenant.name} stores {stored} bytes here, and its limit is storage_bytes={most}: delete "
                "records or topics, shorten their retention, or have the limit raised; reading goes on"
            )

    def throttle_ms(self, _: Publisher, __: int) -> int:
        """Rates are seen to at the door."""
        return 0

    def check_hold(self, staging: Staging, record_count: int) -> None:
        """`PolicyViolation` for a tenant of which as many delayed records wait as may."""
        topic = self.topics.by_id.get(staging.partition.topic_id)
        tenant = None if topic is None else self.topics.tenants.owner(topic.name)
        most = None if tenant is None else tenant.limits.pending_records
        if tenant is None or most is None:
            return
        pending = self.pending_records(tenant)
        if pending + record_count > most:
            raise PolicyViolation(
                f"{pending} delayed records of tenant {tenant.name} wait here, and its limit is pending_records={most}"
            )
        self._of(tenant).staged_since += record_count

    # -- adding up

    def _of(self, tenant: TenantRecord) -> _Held:
        now = self.clock.monotonic()
        held = self._held.get(tenant.name)
        if held is None or now - held.at >= FRESH_S:
            held = self._held[tenant.name] = self._added_up(tenant, now)
        return held

    def _added_up(self, tenant: TenantRecord, now: float) -> _Held:
        stored = pending = 0
        for name, topic in self.topics.by_name.items():
            if name.startswith(tenant.prefix):
                led = [each for each in self.partitions.of_topic(topic.topic_id) if each.replicas.leads]
                stored += sum(map(_size, led))
                pending += sum(staging.stage.state.table.row_count for staging in stages_of(led))
        return _Held(now, stored, pending, self.usages.of(tenant.name).produced_bytes)


def _size(partition: Partition) -> int:
    return sum(log.log.size_bytes for log in partition.logs)
