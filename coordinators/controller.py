"""Changes of topics and configs, from the plan to the partitions: one at a time, durable before it is in force.

A change is planned on the loop, committed to the catalogue in a thread, then put in force: logs are opened,
closed, reconfigured. A client that goes away in the middle does not stop it. The files of a deleted topic are
removed afterwards, and after a crash at the next start.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import trio
from attrs import define, field

from coordinators.configs import ConfigAlteration, ConfigResource
from coordinators.topic_view import Change, Plan, Topic, TopicUpdate
from coordinators.topics import PartitionsSpec, Topics, TopicSpec
from engine.catalogue_records import TopicRecord
from engine.config.log_config import log_config
from engine.errors import BrokerError
from engine.ids import TopicId
from engine.partitions import Partitions, PartitionSpec

logger = logging.getLogger("tidegate.controller")

T = TypeVar("T")
Results = tuple[T | BrokerError, ...]
InThread = Callable[..., Awaitable[Any]]

OPENING_TOGETHER = 8


@define(eq=False)
class Controller:
    """Carries changes out on this node."""

    topics: Topics
    partitions: Partitions
    in_thread: InThread
    start_soon: Callable[..., None] = field(default=lambda *_: None)
    # Others who follow: told when all logs are open, of every change that is in force, and asked to clean up
    # after a deleted topic. Cleaning up can be repeated; if it raises, the next start tries again.
    on_opened: list[Callable[[], object]] = field(factory=list)
    on_change: list[Callable[[TopicUpdate], object]] = field(factory=list)
    clean_ups: list[Callable[[TopicRecord], Awaitable[object]]] = field(factory=list)
    _lock: trio.Lock = field(factory=trio.Lock)

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
            planned = plan()
            if validate_only or planned.change.empty:
                return planned.results
            try:
                await self._carry_out(planned.change)
            except BrokerError as error:
                return tuple(r if isinstance(r, BrokerError) else error for r in planned.results)
            return planned.results

    async def _carry_out(self, change: Change) -> None:
        # Once committed a change must be put in force, whatever becomes of the client that asked for it.
        with trio.CancelScope(shield=True):
            revision = await self.in_thread(self.topics.commit, change)
            for update in self.topics.apply(change, revision):
                self._put_in_force(update)
                for follow in self.on_change:
                    follow(update)

    # -- putting changes in force

    def _put_in_force(self, update: TopicUpdate) -> None:
        before, after = update.before, update.after
        if after is None:
            assert before is not None
            self.partitions.remove(before.topic_id)
            logger.info("topic deleted", extra={"topic": before.name})
            self.start_soon(self.remove_files, before.topic_id)
            return
        have = len(self.partitions.of_topic(after.topic_id))
        self.partitions.create(self._specs(after)[have:])
        if before is None:
            logger.info("topic created", extra={"topic": after.name, "partitions": after.partition_count})
        else:
            self._configure(after)

    def _configure(self, topic: Topic) -> None:
        config = log_config(topic.config, self.topics.settings)
        self.partitions.configure(topic.topic_id, config, sync_writes=_syncs(topic))

    async def remove_files(self, topic_id: TopicId) -> None:
        """Remove what a deleted topic left on disk, then forget it; can be repeated."""
        try:
            record = self.topics.deleting.get(topic_id)
            if record is not None:
                for clean_up in self.clean_ups:
                    await clean_up(record)
            await self.in_thread(self.partitions.remove_files, topic_id)
            async with self._lock:
                change = self.topics.plan_finish_delete([topic_id])
                if not change.empty:
                    await self._carry_out(change)
        except (OSError, BrokerError) as error:
            logger.error("files of a deleted topic could not be removed, the next start tries again: %s", error)

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
        for topic_id in tuple(self.topics.deleting):
            await self.remove_files(topic_id)

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


def _syncs(topic: Topic) -> bool:
    return topic.config["flush.mode"] != "os"
