"""All stages of this node: their logs are opened with their partitions, and what they hold is loaded when this node is
about to lead; made with the first record that asks for one, kept small, given up with the leadership, closed."""

import logging
import os
from collections.abc import Callable

from attrs import define, field

from coordinators.cluster.controller import ClusterController
from coordinators.release.rates import LaneRates
from coordinators.release.stage_traces import StageTraces
from coordinators.release.stage_upkeep import StageUpkeep
from coordinators.topic_view import Topic, TopicUpdate
from coordinators.topics import Topics
from coordinators.tracing.tracing import Tracing
from engine.clock import Clock
from engine.config.topic_parts import extension_config
from engine.errors import BrokerError, PolicyViolation, StorageError, fresh
from engine.files.reserve import Reserve, is_full
from engine.log.log import Log, LogConfig
from engine.log.recovery import STAGE, new_state
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition, stages_of
from engine.partition.partitions import Partitions
from engine.partition.staging import Staging
from engine.stage.config import ExtensionConfig
from engine.stage.opening import load_state, stage_log_config
from engine.stage.stage import Stage
from engine.stage.state import Counters, StageState
from engine.stage.steady_clock import SteadyClock
from engine.timers import Timers

logger = logging.getLogger("tidegate.release")

CLOSED_WITHIN_S = 10.0
RESERVE_FILE = "reserve"
RESERVE_RETRY_S = 5.0
CLOCK_CHECK_S = 1.0


@define(eq=False)
class Releases:
    """See the module."""

    controller: ClusterController
    clock: Clock
    timers: Timers
    reserve: Reserve
    upkeep: StageUpkeep
    tracing: Tracing | None = None
    partitions: Partitions = field(init=False)
    """Of this node."""
    topics: Topics = field(init=False)
    rates: LaneRates = field(init=False)
    on_dead_letters: list[Callable[[Staging], object]] = field(factory=list, init=False)
    """Told of a stage whose expired records are to be sent on."""
    on_hold: list[Callable[[Staging, int], object]] = field(factory=list, init=False)
    """Asked before so many records more are held; raises if they may not be."""
    on_stage: list[Callable[[Partition], object]] = field(factory=list, init=False)
    """Told of a partition that this node leads and that has a stage from now on."""
    _configs: dict[bytes, ExtensionConfig] = field(factory=dict)
    _clock_is_watched: bool = False
    _entries: int = 0
    """At most so many are pending in all stages: counted now and then, and what came since is added."""
    _most_entries: int = field(default=0, init=False)
    """As many as there may be (`stage.max.entries`), as it was when they were counted."""

    def __attrs_post_init__(self) -> None:
        self.partitions, self.topics = self.controller.partitions, self.controller.topics
        self.rates = LaneRates(self.stages, self.clock, self.timers)

    @classmethod
    def compose(
        cls,
        controller: ClusterController,
        clock: Clock,
        timers: Timers,
        tracing: Tracing | None = None,
    ) -> "Releases":
        """Follows the topics from the start."""
        partitions = controller.partitions
        size = controller.topics.settings.integer("stage.reserve.bytes")
        reserve = Reserve(partitions.files, os.path.join(partitions.data_dir, RESERVE_FILE), size)
        cleanable = controller.topics.settings.integer("stage.min.cleanable.bytes")
        upkeep = StageUpkeep(partitions, clock, timers, cleanable)
        releases = cls(controller, clock, timers, reserve, upkeep, tracing)
        controller.replicas.on_change.append(releases._topic_changed)
        controller.replicas.before_leading.append(releases._load_stage)
        controller.replicas.on_opened.append(releases.open_stage_log)
        return releases

    def stages(self) -> list[Staging]:
        """All there are."""
        return stages_of(self.partitions)

    # -- what topics ask for

    def config(self, topic: Topic) -> ExtensionConfig:
        """The topic's keys of the extensions."""
        found = self._configs.get(topic.topic_id)
        if found is None:
            found = self._configs[topic.topic_id] = extension_config(topic.config)
        return found

    def _topic_changed(self, update: TopicUpdate) -> None:
        topic = update.after or update.before
        assert topic is not None
        self._configs.pop(topic.topic_id, None)
        if update.after is None:
            return
        for staging in stages_of(self.partitions.of_topic(topic.topic_id)):
            staging.configure(self.config(topic))

    def pending_bytes(self, topic_id: bytes) -> int:
        """What all stages of a topic hold."""
        return sum(staging.stage.state.table.bytes for staging in stages_of(self.partitions.of_topic(topic_id)))

    # -- opening

    async def open_all(self, *, clean: bool) -> None:
        """Open the stages that there are, before anything is served."""
        for topic in self.topics.view:
            for partition in self.partitions.of_topic(topic.topic_id):
                try:
                    await self._open_stage_log(partition, clean=clean)
                except (BrokerError, OSError) as error:
                    if not is_full(error):
                        raise
                    self.controller.replicas.leave_for_later(partition, error)
                    continue
                if partition.replicas.leads:
                    await self._load_stage(topic, partition)
        self.rates.start()

    async def open_stage_log(self, partition: Partition) -> None:
        """Of a partition that has come to this node, and may have been here before."""
        await self._open_stage_log(partition, clean=False)

    async def _open_stage_log(self, partition: Partition, *, clean: bool, is_loading: bool = False) -> None:
        """What lies on the disk of a stage; a follower keeps it too. One that is damaged is copied anew from others, if
        there are any and this node is not just about to lead."""
        in_thread = self.controller.replicas.in_thread
        if partition.stage_log is None and await in_thread(self.partitions.files.list, self._directory(partition)):
            try:
                log = await in_thread(self._open_log, partition, clean)
            except StorageError as error:
                if is_loading or is_full(error):
                    raise
                await self.controller.replicas.repair_stage(partition, error)
                return
            partition.keep_stage_log(self.partitions.add_stage_log(partition, log))

    async def _load_stage(self, topic: Topic, partition: Partition) -> None:
        """Read what a partition's stage holds. If this node is only about to lead it, nothing is released yet."""
        await self._open_stage_log(partition, clean=False, is_loading=True)
        store = partition.stage_log
        if store is not None and partition.staging is None:
            try:
                state = await self.controller.replicas.in_thread(self._load, store.log, self.config(topic))
            except StorageError:
                partition.stage_is_damaged = True
                raise
            self._serve(partition, topic, store, state).resume()

    def follow_stage(self, partition: Partition) -> DurableLog:
        """The log of a stage that the partition's leader has; there is nothing of it here yet."""
        assert partition.replicas.not_leader is not None, "a leader's stage is made by whoever needs it"
        store = self.partitions.add_stage_log(partition, self._new_log(partition))
        partition.keep_stage_log(store)
        return store

    def stage_of(self, partition: Partition, topic: Topic) -> Staging:
        """The partition's stage, made if there is none. One that lies on the disk was opened before this node led: of a
        new one there is nothing to look for."""
        if partition.staging is not None:
            return partition.staging
        if partition.replicas.not_leader is not None:
            raise fresh(partition.replicas.not_leader)
        assert partition.stage_log is None, "what lies on the disk of a stage is loaded before its node leads"
        store = self.partitions.add_stage_log(partition, self._new_log(partition))
        store.log.begin_epoch(partition.leader_epoch)
        now_ms = self.clock.now_ms()
        state = StageState.empty(now_ms, now_ms, self.config(topic).lane_rules)
        staging = self._serve(partition, topic, store, state)
        for listener in self.on_stage:
            listener(partition)
        staging.resume()
        return staging

    def _new_log(self, partition: Partition) -> Log:
        log_config = self._log_config(partition)
        directory, name = self._directory(partition), self._name(partition)
        files, journal = self.partitions.files, self.partitions.journal
        return Log(directory, files, self.clock, log_config, name, new_state(log_config), journal)

    def _directory(self, partition: Partition) -> str:
        return os.path.join(self.partitions.directory(partition.topic_id, partition.index), STAGE)

    def _log_config(self, partition: Partition) -> LogConfig:
        return stage_log_config(partition.log.config.producer_id_expiration_ms)

    def _name(self, partition: Partition) -> str:
        return f"{partition.log.name}/{STAGE}"

    def _open_log(self, partition: Partition, clean: bool) -> Log:
        """[thread]"""
        return Log.open(
            self._directory(partition),
            files=self.partitions.files,
            clock=self.clock,
            config=self._log_config(partition),
            clean=clean,
            name=self._name(partition),
            journal=self.partitions.journal,
            left=self.partitions.left_in(self._directory(partition)),
        )

    def _load(self, log: Log, config: ExtensionConfig) -> StageState:
        """[thread]"""
        now_ms = self.clock.now_ms()
        return load_state(log, self.partitions.files, config.lane_rules, now_ms, now_ms)

    def _serve(self, partition: Partition, topic: Topic, store: DurableLog, state: StageState) -> Staging:
        # What was replayed has been counted by the process that did it.
        state.counters = Counters()
        steady = SteadyClock(self.clock, state.ahead_ms, state.anchor)
        stage = Stage(store, state, steady, self.config(topic))
        workers, observer = self.partitions.workers, self._observer(partition, stage)
        staging = partition.open_stage(stage, self.timers, workers, self.clock, self, observer)
        self.upkeep.opened(staging)
        if not self._clock_is_watched:
            self._watch_clock()
        if not self.reserve.held and self.partitions.refusal is None:
            self._lay_by()
        return staging

    def _observer(self, partition: Partition, stage: Stage) -> StageTraces | None:
        if self.tracing is None:
            return None
        return StageTraces(self.tracing, self.topics.view, partition, stage)

    # -- what stages ask for and tell (StageKeeper)

    def load(self, staging: Staging) -> StageState:
        """The stage's state once more; its log may have lost its end."""
        state = self._load(staging.store.log, staging.stage.config)
        state.counters = staging.stage.state.counters
        self.upkeep.opened(staging, state)
        return state

    def changed(self, staging: Staging) -> None:
        """A checkpoint may be due."""
        self.upkeep.look_after(staging)

    def has_dead_letters(self, staging: Staging) -> None:
        """Send them."""
        for listener in self.on_dead_letters:
            listener(staging)

    def check_room(self, staging: Staging, size: int, record_count: int) -> None:
        """PolicyViolation if the topic's bytes or the node's records would be too many."""
        limit = staging.stage.config.stage_max_bytes
        if 0 <= limit < self.pending_bytes(staging.partition.topic_id) + size:
            raise PolicyViolation(f"{size} bytes more would exceed stage.max.bytes={limit} pending in this topic")
        if self._entries + record_count > self._most_entries:
            self._count_entries()
        most = self._most_entries
        if self._entries + record_count > most:
            raise PolicyViolation(f"{self._entries} records are pending in all topics, stage.max.entries={most} may be")
        for check in self.on_hold:
            check(staging, record_count)
        self._entries += record_count

    def _count_entries(self) -> None:
        self._most_entries = self.topics.settings.integer("stage.max.entries")
        self._entries = sum(staging.stage.state.table.row_count for staging in self.stages())

    def _watch_clock(self) -> None:
        """Every second, as long as there are stages."""
        stages = self.stages()
        self._count_entries()
        for staging in stages:
            staging.watch_clock()
            self.upkeep.look_after(staging)
        self.upkeep.forget_removed()
        self._clock_is_watched = bool(stages)
        if stages:
            self.timers.call_at(self.clock.monotonic() + CLOCK_CHECK_S, self._watch_clock)

    # -- a full disk (rule 11)

    def make_room(self) -> bool:
        """Give the reserve up for what was staged; clients are refused until there is one again."""
        if not self.reserve.give_up():
            return False
        logger.error("the disk is full: clients are refused until there is room again; what was staged goes on")
        self.partitions.refusal = StorageError("the disk is full; what is left is for records that were staged before")
        self.timers.call_at(self.clock.monotonic() + RESERVE_RETRY_S, self._lay_by)
        return True

    def _lay_by(self) -> None:
        def done(_: object, error: BaseException | None) -> None:
            if error is None:
                self.partitions.refusal = None
            else:
                self.partitions.storage.tell_no_reserve("staged records", error)
                self.timers.call_at(self.clock.monotonic() + RESERVE_RETRY_S, self._lay_by)

        self.partitions.workers.submit(self.reserve.lay_by, done)

    # -- closing

    async def close(self) -> None:
        """Leave a checkpoint of every stage, so that the next start replays nothing."""
        for staging in self.stages():
            if staging.store.offline is None:
                staging.watch_clock()
                await self.upkeep.finish(staging, CLOSED_WITHIN_S)

    def statistics(self) -> dict[str, int]:
        """Sums over all stages."""
        total: dict[str, int] = {}
        for staging in self.stages():
            for key, value in staging.statistics().items():
                total[key] = total.get(key, 0) + value
        return total
