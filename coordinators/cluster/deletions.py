"""What deleted topics leave behind: files, and what others keep of them. Removed as often as it takes, if need be by
the next start: a row under `deleting/` stays until all of it is gone.

In a cluster every node removes what is its own, as soon as it sees the topic go, whether or not the row is still there.
One of them ends the row when its own part is done: the controller. It does not wait for the others. Whoever is away
removes at its next start what the catalogue does not know any more (`strays.py`).
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import trio
from attrs import define, field

from coordinators.cluster.controller import ClusterController
from coordinators.topic_view import TopicUpdate
from engine.catalogue.records import TopicRecord
from engine.errors import BrokerError
from engine.ids import TopicId

logger = logging.getLogger("tidegate.controller")

REMOVED_TOGETHER = 500
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0

CleanUp = Callable[[Sequence[TopicRecord]], Awaitable[object]]


@define(eq=False)
class Deletions:
    """See the module. Follows the topics from the start."""

    controller: ClusterController
    clean_ups: list[CleanUp] = field(factory=list)
    """Asked to forget deleted topics. That can be repeated; if it raises, it is."""
    ends_rows: Callable[[], bool] = lambda: True
    """Whether this is the node that ends rows now. It may change with any news of nodes."""
    _to_remove: deque[TopicRecord] = field(factory=deque, init=False)
    _removing: bool = field(default=False, init=False)
    _attempts: dict[TopicId, int] = field(factory=dict, init=False)
    """How often the files of a deleted topic could not be removed."""

    def __attrs_post_init__(self) -> None:
        self.controller.replicas.on_change.append(self._topic_changed)
        self.controller.replicas.on_nodes.append(self._nodes_changed)

    async def finish_all(self) -> None:
        """Clean up after topics whose deletion was cut short; what that writes must be synced meanwhile."""
        await self.remove_files(list(self.controller.topics.deleting))

    async def remove_files(self, topic_ids: Sequence[TopicId]) -> None:
        """Remove what topics that are being deleted left on disk, then forget them; can be repeated."""
        deleting = self.controller.topics.deleting
        records = [deleting[topic_id] for topic_id in topic_ids if topic_id in deleting]
        for start in range(0, len(records), REMOVED_TOGETHER):
            await self._remove(records[start : start + REMOVED_TOGETHER])

    async def _remove(self, records: Sequence[TopicRecord]) -> None:
        """What cannot be done now is tried again later, by the next start if this broker ends before."""
        controller, left = self.controller, list(records)
        try:
            # First of all the files: on a full disk the rest needs their room.
            topic_ids = [record.id for record in records]
            removed = await controller.replicas.in_thread(controller.partitions.remove_files, topic_ids)
            for clean_up in self.clean_ups:
                await clean_up(records)
            if self.ends_rows():
                await controller.finish_deletion(removed)
            left = [record for record in records if record.id not in set(removed)]
            for topic_id in removed:
                self._attempts.pop(topic_id, None)
        except (OSError, BrokerError) as error:
            logger.error("files of deleted topics could not be removed, tried again later: %s", error)
        if left:
            controller.background.start_soon(self._remove_later, left)

    def _topic_changed(self, update: TopicUpdate) -> None:
        if update.before is not None and update.after is None:
            self._remove_soon(update.before.record)

    def _nodes_changed(self) -> None:
        """Whoever ended rows may have gone before it had ended all."""
        deleting = self.controller.topics.deleting
        if deleting and self.ends_rows():
            known = {record.id for record in self._to_remove}.union(self._attempts)
            for record in [record for topic_id, record in deleting.items() if topic_id not in known]:
                self._remove_soon(record)

    def _remove_soon(self, record: TopicRecord) -> None:
        self._to_remove.append(record)
        if not self._removing:
            self._removing = True
            self.controller.background.start_soon(self._remove_queued)

    async def _remove_queued(self) -> None:
        try:
            while self._to_remove:
                count = min(len(self._to_remove), REMOVED_TOGETHER)
                await self._remove([self._to_remove.popleft() for _ in range(count)])
        finally:
            self._removing = False

    async def _remove_later(self, records: Sequence[TopicRecord]) -> None:
        attempts = max(self._attempts.get(record.id, 0) for record in records)
        for record in records:
            self._attempts[record.id] = attempts + 1
        await trio.sleep(min(FIRST_RETRY_S * 2**attempts, LONGEST_RETRY_S))
        for record in records:
            self._remove_soon(record)
