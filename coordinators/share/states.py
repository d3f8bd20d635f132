"""The state of share partitions as the rest of the program sees it: requests in, Deferreds out (`ShareStates`).

Each goes to the shard of its share partition, on this node or not at all, and is carried out there by the runtime. The
topic is made when it is first needed.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import trio
from attrs import define, field

from coordinators.internal_topics import InternalTopic, InternalTopics
from coordinators.runtime import Runtime
from coordinators.share.machine import ShareStateMachine, ShareStateSettings
from coordinators.share.ports import ShareChange, SharePlace, ShareState
from coordinators.state_machine import ShardTimers, Verdict
from coordinators.waiting import result_of
from engine.catalogue.records import TopicRecord
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
)
from engine.ids import TopicId
from engine.timers import Timers
from engine.workers import Workers

logger = logging.getLogger("tidegate.share")

SHARE_STATE_TOPIC = "__share_group_state"
LOADING_POLL_S = 0.05

P = ParamSpec("P")
R = TypeVar("R")


@define(eq=False)
class LocalShareStates:
    """Of the share partitions whose state this node keeps. Made by `compose`."""

    internal_topics: InternalTopics
    settings: ShareStateSettings
    clock: Clock
    timers: Timers
    workers: Workers
    runtime: Runtime[ShareStateMachine] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.runtime = Runtime(SHARE_STATE_TOPIC, self._new_machine, self.clock, self.timers, self.workers)

    @classmethod
    def compose(
        cls,
        internal_topics: InternalTopics,
        settings: BrokerSettings,
        clock: Clock,
        timers: Timers,
        workers: Workers,
    ) -> "LocalShareStates":
        """The coordinator, and its topic among those that are looked after."""
        states = cls(internal_topics, ShareStateSettings.of(settings), clock, timers, workers)
        # Never compacted: updates of one share partition have one key, and each of them counts.
        configs = {
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "compression.type": "producer",
            "min.insync.replicas": str(settings.integer("share.coordinator.state.topic.min.isr")),
            "segment.bytes": str(settings.integer("share.coordinator.state.topic.segment.bytes")),
        }
        count = settings.integer("share.coordinator.state.topic.num.partitions")
        factor_key = "share.coordinator.state.topic.replication.factor"
        internal_topics.add(InternalTopic(SHARE_STATE_TOPIC, count, configs, states.runtime, factor_key))
        return states

    def _new_machine(self, index: int, _leader_epoch: int, timers: ShardTimers[Any]) -> ShareStateMachine:
        def prune(offset: int) -> None:
            self.runtime.forget_before(index, offset).when_settled(_nothing, _log_unpruned)

        is_topic = self.internal_topics.controller.topics.by_id.__contains__
        return ShareStateMachine(timers, self.clock, self.settings, prune, is_topic, self._count)

    def _count(self) -> int:
        return sum(len(machine.places) for machine in self.runtime.machines())

    # -- see `ShareStates`

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int) -> Deferred[None]:
        return self._run(place, ShareStateMachine.initialize, state_epoch, start_offset)

    def read(self, place: SharePlace, leader_epoch: int) -> Deferred[ShareState]:
        return self._run(place, ShareStateMachine.read, leader_epoch)

    def write(self, place: SharePlace, state_epoch: int, leader_epoch: int, change: ShareChange) -> Deferred[None]:
        return self._run(place, ShareStateMachine.write, state_epoch, leader_epoch, change)

    def delete(self, place: SharePlace) -> Deferred[None]:
        return self._run(place, ShareStateMachine.delete)

    def summary(self, place: SharePlace) -> Deferred[ShareState]:
        return self._run(place, ShareStateMachine.summary)

    # -- administration

    async def forget_topics(self, deleted: Sequence[TopicRecord]) -> None:
        """Topics were deleted: nothing of them is kept any more. Raises if that cannot be written down."""
        ids = [record.id for record in deleted]
        for index in self.runtime.indexes():
            while await self._forget_some(index, ids):
                pass

    async def _forget_some(self, index: int, ids: Sequence[TopicId]) -> bool:
        await trio.lowlevel.checkpoint()
        try:
            return await result_of(self.runtime.run(index, ShareStateMachine.forget_topics, ids))
        except CoordinatorLoadInProgress:
            await trio.sleep(LOADING_POLL_S)
            return True
        except NotCoordinator:
            return False

    def statistics(self) -> dict[str, int]:
        """Share partitions whose state is kept here."""
        return {"places": self._count()}

    # -- internals

    def _run(
        self,
        place: SharePlace,
        operation: Callable[Concatenate[ShareStateMachine, SharePlace, P], Verdict[R]],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Deferred[R]:
        topics = self.internal_topics

        def run() -> Deferred[R]:
            try:
                index = topics.shard_of(SHARE_STATE_TOPIC, place.key)
            except BrokerError as error:
                return Deferred.refused(error)
            return self.runtime.run(index, operation, place, *arguments, **options)

        if not topics.is_missing(SHARE_STATE_TOPIC):
            return run()
        answer: Deferred[R] = Deferred()
        background = topics.controller.background
        if background.is_open:
            background.start_soon(self._run_when_made, run, answer)
        else:
            answer.refuse(CoordinatorNotAvailable(f"{SHARE_STATE_TOPIC} cannot be made yet"))
        return answer

    async def _run_when_made(self, run: Callable[[], Deferred[R]], answer: Deferred[R]) -> None:
        try:
            await self.internal_topics.ensure(SHARE_STATE_TOPIC)
        except BrokerError as error:
            answer.refuse(error)
            return
        run().forward(answer)


def _nothing(_: object) -> None:
    """It is done."""


def _log_unpruned(error: BrokerError) -> None:
    logger.warning("%s could not be cut off, tried again later: %s", SHARE_STATE_TOPIC, error)
