"""The administration of a broker that runs in this process."""

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

from attrs import define

from coordinators.release.inspection import Inspection
from coordinators.release.listing import Order, Window
from coordinators.share.sharing import SharedPart, Sharing
from engine.errors import BrokerError
from tidegate.admin_results import (
    DelayedRecord,
    DelayReport,
    DueBucket,
    Fate,
    PendingPage,
    PriorityStatistics,
    admin_error,
)

if TYPE_CHECKING:
    from tidegate.broker import Broker

T = TypeVar("T")


@define(eq=False)
class EmbeddedAdmin:
    """See `tidegate.admin`."""

    inspection: Inspection
    sharing: Sharing

    @classmethod
    def of(cls, broker: "Broker") -> "EmbeddedAdmin":
        """Of a broker that runs."""
        node = getattr(broker, "node", None)
        if node is None:
            raise RuntimeError("the broker does not run yet: use it inside its `async with`")
        return cls(Inspection(node.releases, node.workers), node.services[Sharing])

    # -- seeing

    async def list_pending(
        self,
        topic: str,
        *,
        limit: int = 100,
        skip: int = 0,
        order: str = "due",
        partition: int | None = None,
        due_from_ms: int | None = None,
        due_until_ms: int | None = None,
    ) -> PendingPage:
        """Records that wait for their time, in order of due time, or as they came with `order="number"`."""
        window = Window(limit, skip, cast(Order, order), due_from_ms, due_until_ms)
        return await _told(self.inspection.list_pending(topic, window, partition))

    async def count_pending(self, topic: str, partition: int | None = None) -> int:
        """How many records wait for their time."""
        return await _told(self.inspection.count_pending(topic, partition))

    async def histogram(
        self, topic: str, edges_ms: Sequence[int] | None = None, partition: int | None = None
    ) -> tuple[DueBucket, ...]:
        """How many records are due before the first edge, from each edge to the next, and from the last one on."""
        return await _told(self.inspection.histogram(topic, edges_ms, partition))

    async def look(self, topic: str, partition: int, record_id: str) -> DelayedRecord:
        """One record, pending or gone; NoSuchRecord if nothing is known of it."""
        return await _told(self.inspection.look(topic, partition, record_id))

    async def fate(self, topic: str, partition: int, record_id: str) -> Fate:
        """What became of a record."""
        with _refusals():
            return self.inspection.fate(topic, partition, record_id)

    async def find(self, topic: str, record_id: str) -> tuple[DelayedRecord, ...]:
        """The partitions that know this id, each with what became of it."""
        return await _told(self.inspection.find(topic, record_id))

    # -- changing

    async def cancel(self, topic: str, partition: int, record_id: str) -> None:
        """Take back a record that waits."""
        await _told(self.inspection.cancel(topic, partition, record_id))

    async def reschedule(
        self,
        topic: str,
        partition: int,
        record_id: str,
        *,
        deliver_at_ms: int | None = None,
        delay_ms: int | None = None,
    ) -> int:
        """Move a record that waits to another time, which is returned; a delay counts from now."""
        moved = self.inspection.reschedule(topic, partition, record_id, deliver_at_ms=deliver_at_ms, delay_ms=delay_ms)
        return await _told(moved)

    async def release_now(self, topic: str, partition: int, record_id: str) -> None:
        """Have a record that waits be due now; it is in the log, or its lane, a moment later."""
        await _told(self.inspection.release_now(topic, partition, record_id))

    async def release_shared(
        self,
        group: str,
        member: str | None = None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        first_offset: int | None = None,
        last_offset: int | None = None,
        delay_ms: int = 0,
    ) -> int:
        """Take back what a member of a share group has, or all of them, or some of it: how many records that are. With
        a delay nobody is given them before it is over."""
        with _refusals():
            held = SharedPart.of(topic, partition, first_offset, last_offset)
            return self.sharing.release(group, member, delay_ms, held)

    # -- figures

    async def delay_statistics(self) -> DelayReport:
        """What is pending, when the next is due, what was released and how late; in all and by topic."""
        return await _told(self.inspection.delay_statistics())

    async def priority_statistics(self, topic: str | None = None) -> tuple[PriorityStatistics, ...]:
        """Every prioritised partition, by topic and number."""
        return await _told(self.inspection.priority_statistics(topic))


@contextmanager
def _refusals() -> Iterator[None]:
    """What the broker refuses, as callers of this module know it."""
    try:
        yield
    except BrokerError as error:
        raise admin_error(str(error), type(error).__name__) from None


async def _told(answer: Awaitable[T]) -> T:
    with _refusals():
        return await answer
