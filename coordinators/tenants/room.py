"""How many topics and partitions tenants may still have, while new ones are planned."""

from attrs import define, field

from coordinators.tenants.rows import TenantRecord
from coordinators.topic_view import TopicView
from engine.errors import PolicyViolation


@define
class _Count:
    topics: int
    partitions: int


@define
class TenantRoom:
    """Of the tenants whose topics a request makes or enlarges."""

    view: TopicView
    _counts: dict[str, _Count] = field(factory=dict, init=False)

    def take(self, topic: str, partitions: int, *, is_new: bool) -> None:
        """So many partitions more for a topic; `PolicyViolation` if its tenant has no room for them."""
        tenant = self.view.tenants.owner(topic)
        if tenant is None:
            return
        count, limits = self._count(tenant), tenant.limits
        topics = count.topics + is_new
        if is_new and limits.topics is not None and topics > limits.topics:
            raise PolicyViolation(f"tenant {tenant.name} has {count.topics} topics, and its limit is {limits.topics}")
        held = count.partitions + partitions
        if limits.partitions is not None and held > limits.partitions:
            raise PolicyViolation(
                f"tenant {tenant.name} has {count.partitions} partitions, and with {partitions} more it would exceed "
                f"its limit of {limits.partitions}"
            )
        count.topics, count.partitions = topics, held

    def _count(self, tenant: TenantRecord) -> _Count:
        count = self._counts.get(tenant.name)
        if count is None:
            mine = [topic for name, topic in self.view.by_name.items() if name.startswith(tenant.prefix)]
            count = _Count(len(mine), sum(topic.partition_count for topic in mine))
            self._counts[tenant.name] = count
        return count
