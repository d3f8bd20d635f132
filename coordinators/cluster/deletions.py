"""What deleted topics leave behind: files, and what others keep of them. Removed as often as it takes, if need be by
the next start: a row under `deleting/` stays until all of it is gone."""

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
    _to_remove: deque[TopicId] = field(factory=deque, init=False)
    _removing: bool = field(default=False, init=False)
    _attempts: dict[TopicId, int] = field(factory=dict, init=False)
    """How often the files of a deleted topic could not be removed."""

    def __attrs_post_init__(self) -> None:
        self.controller.replicas.on_change.append(self._topic_changed)

    async def finish_all(self) -> None:
        """Clean up after topics whose deletion was cut short; what that writes must be synced meanwhile."""
        left = list(self.controller.topics.deleting)
        for start in range(0, len(left), REMOVED_TOGETHER):
            await self.remove_files(left[start : start + REMOVED_TOGETHER])

    async def remove_files(self, topic_ids: Sequence[TopicId]) -> None:
        """Remove what deleted topics left on disk, then forget them; can be repeated. What cannot be done now is tried
        again later, by the next start if this broker ends before."""
        controller = self.controller
        deleting = controller.topics.deleting
        try:
            records = [deleting[topic_id] for topic_id in topic_ids if topic_id in deleting]
            # First of all the files: on a full disk the rest needs their room.
            removed = await controller.replicas.in_thread(controller.partitions.remove_files, topic_ids)
            for clean_up in self.clean_ups:
                await clean_up(records)
            await controller.finish_deletion(removed)
            for topic_id in removed:
                self._attempts.pop(topic_id, None)
        except (OSError, BrokerError) as error:
            logger.error("files of deleted topics could not be removed, tried again later: %s", error)
        left = [topic_id for topic_id in topic_ids if topic_id in deleting]
        if left:
            controller.background.start_soon(self._remove_later, left)

    def _topic_changed(self, update: TopicUpdate) -> None:
        if update.before is not None and update.after is None:
            self._remove_soon(update.before.topic_id)

    def _remove_soon(self, topic_id: TopicId) -> None:
        self._to_remove.append(topic_id)
        if not self._removing:
            self._removing = True
            self.controller.background.start_soon(self._remove_queued)

    async def _remove_queued(self) -> None:
        try:
            while self._to_remove:
                count = min(len(self._to_remove), REMOVED_TOGETHER)
                await self.remove_files([self._to_remove.popleft() for _ in range(count)])
        finally:
            self._removing = False

    async def _remove_later(self, topic_ids: Sequence[TopicId]) -> None:
        attempts = max(self._attempts.get(topic_id, 0) for topic_id in topic_ids)
        await trio.sleep(min(FIRST_RETRY_S * 2**attempts, LONGEST_RETRY_S))
        for topic_id in topic_ids:
            self._attempts[topic_id] = attempts + 1
            self._remove_soon(topic_id)
