"""Changes of topics and configs, from the plan to the partitions: one at a time, durable before it is in force.

A change is planned and committed to the catalogue in a thread, then put in force on the loop, topic after topic: logs
are made, closed, reconfigured. However many topics a request names, it is one change, and others go on meanwhile; what
is planned against holds, for nobody else changes it. A client that goes away in the middle does not stop it. The files
of deleted topics are removed afterwards, as often as it takes, and after a crash at the next start.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import trio
from attrs import define, field

from coordinators.configs import ConfigAlteration, ConfigResource
from coordinators.topic_view import Change, Plan, Topic, TopicUpdate
from coordinators.topics import PartitionsSpec, Topics, TopicSpec
from coordinators.waiting import Breathing
from engine.catalogue.records import TopicRecord
from engine.config.topic_parts import log_config
from engine.errors import BrokerError
from engine.files.reserve import is_full
from engine.ids import TopicId
from engine.partition.partitions import Partitions, PartitionSpec

logger = logging.getLogger("tidegate.controller")

T = TypeVar("T")
Results = tuple[T | BrokerError, ...]
InThread = Callable[..., Awaitable[Any]]

OPENING_TOGETHER = 8
MADE_AT_ONCE = 50
"""So many partitions are made or removed in one go: some milliseconds."""
REMOVED_TOGETHER = 500
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0


@define(eq=False)
class Controller:
    """Carries changes out on this node."""

    topics: Topics
    partitions: Partitions
    in_thread: InThread
    start_soon: Callable[..., None] = field(default=lambda *_: None)
    # Others who follow: told when all logs are open, of every change that is in force, and asked to clean up
    # after deleted topics. Cleaning up can be repeated; if it raises, it is.
    on_opened: list[Callable[[], object]] = field(factory=list)
    on_change: list[Callable[[TopicUpdate], object]] = field(factory=list)
    clean_ups: list[Callable[[Sequence[TopicRecord]], Awaitable[object]]] = field(factory=list)
    _lock: trio.Lock = field(factory=trio.Lock)
    _to_remove: deque[TopicId] = field(factory=deque)
    _removing: bool = False
    _attempts: dict[TopicId, int] = field(factory=dict)
    """How often the files of a deleted topic could not be removed."""

    # -- requests

    async def create_topics(self, specs: Sequence[TopicSpec], *, validate_only: bool = False) -> Results[Topic]:
        """Make topics; per topic the topic, or why not."""
        return await self._change(lambda: self.topics.plan_create(specs), validate_only=validate_only)

    async def create_partitions(
        self, specs: Sequence[PartitionsSpec], *, validate_only: bool = False
    ) -> Results[Topic]:
        """Add partitions to topics."""
        return await self._change(lambda: self.topics.plan_partitions(specs), validate_only=validate_only)

    async def delete_topics(self, wanted: Sequence[str | TopicId]) -> Results[Topic]:
        """Delete topics by name or by id."""
        return await self._change(lambda: self.topics.plan_delete(wanted))

    async def alter_configs(
        self,
        wanted: Sequence[tuple[ConfigResource, Sequence[ConfigAlteration]]],
        *,
        validate_only: bool = False,
    ) -> Results[ConfigResource]:
        """Set, delete, append to or subtract from single keys."""
        return await self._change(lambda: self.topics.plan_alter_configs(wanted), validate_only=validate_only)

    async def replace_configs(
        self,
        wanted: Sequence[tuple[ConfigResource, Mapping[str, str | None]]],
        *,
        validate_only: bool = False,
    ) -> Results[ConfigResource]:
        """Replace all settings of each resource."""
        return await self._change(lambda: self.topics.plan_replace_configs(wanted), validate_only=validate_only)

    async def _change(self, plan: Callable[[], Plan[T]], *, validate_only: bool = False) -> Results[T]:
        async with self._lock:
            planned: Plan[T] = await self.in_thread(plan)
            if validate_only or planned.change.empty:
                return planned.results
            try:
                await self._carry_out(planned.change)
            except BrokerError as error:
                if is_full(error):
                    self.partitions.storage.note_full("changes of topics and configs")
                return tuple(r if isinstance(r, BrokerError) else error for r in planned.results)
            return planned.results

    async def _carry_out(self, change: Change) -> None:
        # Once committed a change must be put in force, whatever becomes of the client that asked for it.
        with trio.CancelScope(shield=True):
            revision = await self.in_thread(self._commit, change)
            breathing = Breathing(MADE_AT_ONCE)
            for update in change.topics:
                if update.after is not None:
                    await self._make(update.after, breathing)
            for update in self.topics.apply(change, revision):
                await self._put_in_force(update, breathing)
                for follow in self.on_change:
                    follow(update)

    def _commit(self, change: Change) -> int:
        """[thread] On a full disk room is kept for deletions, and for configs: a shorter retention frees some too."""
        try:
            return self.topics.commit(change)
        except BrokerError as error:
            if _makes_partitions(change) or not is_full(error) or not self.partitions.files.make_room():
                raise
        return self.topics.commit(change)

    # -- putting changes in force

    async def _make(self, topic: Topic, breathing: Breathing) -> None:
        """The partitions that are new; nobody knows of them yet."""
        have = len(self.partitions.of_topic(topic.topic_id))
        if have == topic.partition_count:
            return
        for spec in self._specs(topic)[have:]:
            self.partitions.create([spec])
            await breathing.did()

    async def _put_in_force(self, update: TopicUpdate, breathing: Breathing) -> None:
        before, after = update.before, update.after
        await breathing.did()
        if after is None:
            assert before is not None
            logger.info("topic deleted", extra={"topic": before.name})
            for partition in self.partitions.take_out(before.topic_id):
                self.partitions.retire(partition)
                await breathing.did()
            self._remove_soon(before.topic_id)
        elif before is None:
            logger.info("topic created", extra={"topic": after.name, "partitions": after.partition_count})
        else:
            self._configure(after)

    def _configure(self, topic: Topic) -> None:
        config = log_config(topic.config, self.topics.settings)
        self.partitions.configure(topic.topic_id, config, sync_writes=_syncs(topic))

    def _remove_soon(self, topic_id: TopicId) -> None:
        self._to_remove.append(topic_id)
        if not self._removing:
            self._removing = True
            self.start_soon(self._remove_queued)

    async def _remove_queued(self) -> None:
        try:
            while self._to_remove:
                count = min(len(self._to_remove), REMOVED_TOGETHER)
                await self.remove_files([self._to_remove.popleft() for _ in range(count)])
        finally:
            self._removing = False

    async def remove_files(self, topic_ids: Sequence[TopicId]) -> None:
        """Remove what deleted topics left on disk, then forget them; can be repeated. What cannot be done now is tried
        again later, by the next start if this broker ends before."""
        try:
            records = [self.topics.deleting[topic_id] for topic_id in topic_ids if topic_id in self.topics.deleting]
            # First of all the files: on a full disk the rest needs their room.
            removed = await self.in_thread(self.partitions.remove_files, topic_ids)
            for clean_up in self.clean_ups:
                await clean_up(records)
            async with self._lock:
                change = self.topics.plan_finish_delete(removed)
                if not change.empty:
                    await self._carry_out(change)
            for topic_id in removed:
                self._attempts.pop(topic_id, None)
        except (OSError, BrokerError) as error:
            logger.error("files of deleted topics could not be removed, tried again later: %s", error)
        left = [topic_id for topic_id in topic_ids if topic_id in self.topics.deleting]
        if left:
            self.start_soon(self._remove_later, left)

    async def _remove_later(self, topic_ids: Sequence[TopicId]) -> None:
        attempts = max(self._attempts.get(topic_id, 0) for topic_id in topic_ids)
        await trio.sleep(min(FIRST_RETRY_S * 2**attempts, LONGEST_RETRY_S))
        for topic_id in topic_ids:
            self._attempts[topic_id] = attempts + 1
            self._remove_soon(topic_id)

    # -- starting

    async def open_all(self, *, clean: bool, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """Open the logs of every topic, several at a time; `then` is awaited before anybody hears of it."""
        specs = [spec for topic in self.topics.view for spec in self._specs(topic)]
        await self._open(specs, clean=clean)
        if then is not None:
            await then()
        for follow in self.on_opened:
            follow()

    async def finish_deletions(self) -> None:
        """Clean up after topics whose deletion was cut short; what that writes must be synced meanwhile."""
        left = list(self.topics.deleting)
        for start in range(0, len(left), REMOVED_TOGETHER):
            await self.remove_files(left[start : start + REMOVED_TOGETHER])

    async def _open(self, specs: list[PartitionSpec], *, clean: bool) -> None:
        logs: dict[int, Any] = {}
        numbers = iter(range(len(specs)))

        def open_log(number: int) -> None:
            logs[number] = self.partitions.open_log(specs[number], clean=clean)

        async def open_some() -> None:
            for number in numbers:
                await self.in_thread(open_log, number)

        async with trio.open_nursery() as nursery:
            for _ in range(OPENING_TOGETHER):
                nursery.start_soon(open_some)
        for number, spec in enumerate(specs):
            self.partitions.add(spec, logs[number])

    def _specs(self, topic: Topic) -> list[PartitionSpec]:
        config = log_config(topic.config, self.topics.settings)
        return [
            PartitionSpec(topic.topic_id, index, config, partition.leader_epoch, _syncs(topic), topic.name)
            for index, partition in enumerate(topic.partitions)
        ]


def _makes_partitions(change: Change) -> bool:
    return any(
        update.after is not None
        and update.after.partition_count > (update.before.partition_count if update.before is not None else 0)
        for update in change.topics
    )


def _syncs(topic: Topic) -> bool:
    return topic.config["flush.mode"] != "os"
