"""Carries out on this node what the catalogue says: which partitions lie here, what this node is for each, how they
are configured.

It follows a watch of the catalogue, revision after revision, whoever has committed it: on one node too a change is not
put in force by the one who decided it. Logs are opened in threads; what follows on the loop is done topic after topic,
and others go on meanwhile. A revision is in force (`in_force`) when everybody who follows has been told of it.
Nothing is put in force while somebody plans against what is known (`steady`).
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import trio
from attrs import define, evolve, field

from coordinators.background import Background
from coordinators.cluster.news import News, RowFollower, read_news, read_whole
from coordinators.cluster.nodes import Nodes
from coordinators.cluster.opening import (
    FIRST_RETRY_S,
    OPENING_TOGETHER,
    LeftForLater,
    PartitionKey,
    min_insync,
    new_logs,
    open_logs,
    retried,
    specs_of,
    syncs,
    unled,
    waiting,
)
from coordinators.cluster.strays import Strays
from coordinators.topic_view import Topic, TopicUpdate
from coordinators.topics import Topics
from coordinators.waiting import Breathing, in_worker
from engine.catalogue.catalogue import Catalogue, CatalogueCompacted, Lasting, Watch
from engine.catalogue.records import CONTROLLER, NODES, PartitionRecord
from engine.config.topic_parts import log_config
from engine.errors import BrokerError, StorageError, fresh
from engine.files.reserve import is_full
from engine.ids import TopicId
from engine.log.log import Log
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec
from engine.workers import Workers

logger = logging.getLogger("tidegate.replicas")

MADE_AT_ONCE = 50
"""So many partitions are made or removed in one go: some milliseconds."""
LOGS_MADE_TOGETHER = 250
"""So many new logs are made in one turn of a thread."""
WATERMARKS_S = 5.0
LOOK_AGAIN_S = 0.5
"""So long is news waited for before the catalogue is looked at all the same."""
IN_FORCE_S = 10.0
"""So long may it take until a revision that was committed is in force here, where the catalogue is elsewhere."""
LATER_RETRY_S = 5.0
"""At most so long after the last time is it tried again to open what there was no room for."""


@define(eq=False)
class ReplicaManager:
    """See the module. Made with what was loaded from the catalogue as of `topics.revision`."""

    catalogue: Catalogue
    topics: Topics
    partitions: Partitions
    workers: Workers
    background: Background = field(factory=Background)
    nodes: Nodes = field(factory=Nodes)
    catalogue_workers: Workers | None = None
    """For what asks the catalogue, which may not answer for a while; logs must not wait for that."""
    on_change: list[Callable[[TopicUpdate], object]] = field(factory=list, init=False)
    """Told of every change of a topic that is in force."""
    on_following_ends: list[Callable[[Partition], Awaitable[object]]] = field(factory=list, init=False)
    """Awaited before this node begins to lead: whoever wrote to the partition for its last leader writes no more."""
    before_leading: list[Callable[[Topic, Partition], Awaitable[object]]] = field(factory=list, init=False)
    """Awaited before this node leads a partition that it did not lead before; if one raises, it does not lead yet."""
    on_leading: list[Callable[[Topic, Partition], object]] = field(factory=list, init=False)
    """Told when this node leads a partition, in a new epoch, and clients may be served."""
    on_resigned: list[Callable[[Topic, int, int | None], object]] = field(factory=list, init=False)
    """Told when it no longer does, and in which epoch others do; None if the partition lies here no longer."""
    on_role: list[Callable[[Partition], object]] = field(factory=list, init=False)
    """Told of every row of a partition that lies here, once it is in force, the first one too."""
    on_opened: list[Callable[[Partition], Awaitable[object]]] = field(factory=list, init=False)
    """Awaited when a partition of an older topic has come to this node, before it has any part in it."""
    on_dropped: list[Callable[[Partition], object]] = field(factory=list, init=False)
    """Told of a partition that lies here no longer."""
    on_damaged: list[Callable[[PartitionSpec, StorageError], Awaitable[Log]]] = field(factory=list, init=False)
    """Asked for another log in the place of one that failed its checks; the first that is here is."""
    on_damaged_stage: list[Callable[[Partition, StorageError], Awaitable[object]]] = field(factory=list, init=False)
    """Asked to put a stage out of the way that failed its checks, so that it is copied anew."""
    row_followers: list[RowFollower] = field(factory=list, init=False)
    """Told of rows that are about neither topics nor nodes, before the revision is in force."""
    on_nodes: list[Callable[[], object]] = field(factory=list, init=False)
    """Told when a node came, went or changed, or another is the controller: `nodes` says how it is now."""
    _watch: Watch | None = field(default=None, init=False)
    _revision: int = field(init=False)
    _lock: trio.Lock = field(factory=trio.Lock, init=False)
    _news: trio.Event = field(factory=trio.Event, init=False)
    _led: dict[PartitionKey, int] = field(factory=dict, init=False)
    """In which epoch this node leads which partitions, as others were told."""
    _prepared: dict[PartitionKey, int] = field(factory=dict, init=False)
    """In which epoch this node can lead which partitions, as soon as their rows are in force."""
    _opening: set[PartitionKey] = field(factory=set, init=False)
    later: LeftForLater = field(factory=LeftForLater, init=False)
    """What could not be opened when the node started."""
    unable: dict[PartitionKey, float] = field(factory=dict, init=False)
    """What this node is to lead and cannot, and since when."""

    def __attrs_post_init__(self) -> None:
        self._revision = self.topics.revision

    @property
    def has_own_catalogue(self) -> bool:
        """Whether the catalogue is this node's alone: there is no cluster then."""
        return isinstance(self.catalogue.session, Lasting)

    def newcomers(self) -> Collection[int]:
        """The nodes that clients may not have found again yet."""
        return self.nodes.came_lately(self.partitions.clock.monotonic())

    async def in_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Run what blocks away from the loop."""
        return await in_worker(self.workers, function, *arguments)

    async def in_catalogue(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Run what asks the catalogue away from the loop."""
        return await in_worker(self.catalogue_workers or self.workers, function, *arguments)

    # -- following the catalogue

    async def follow(self) -> None:
        """Put in force what anybody commits, as long as the node serves."""
        while True:
            news = self._news
            try:
                await self.catch_up()
            except BrokerError as error:
                logger.error("the catalogue's changes cannot be read, tried again: %s", error)
                await trio.sleep(FIRST_RETRY_S)
            else:
                await news.wait()

    async def in_force(self, revision: int) -> None:
        """Wait until everything up to that revision is; raises if the catalogue does not tell in time."""
        deadline = trio.current_time() + IN_FORCE_S
        while self._revision < revision:
            news, trouble = self._news, None
            try:
                await self.catch_up()
            except StorageError as error:
                trouble = error
            if self._revision < revision:
                if trio.current_time() >= deadline:
                    raise trouble or StorageError("the catalogue has taken the change, and does not tell of it")
                with trio.move_on_after(LOOK_AGAIN_S):
                    await news.wait()

    def steady(self) -> AbstractAsyncContextManager[object]:
        """While it is held nothing changes of what is known."""
        return self._lock

    async def catch_up(self) -> None:
        """Put in force what was committed since the last time."""
        # Whatever becomes of the client that waits for it: half a revision must not be.
        with trio.CancelScope(shield=True):
            async with self._lock:
                for news in await self.in_catalogue(self._read):
                    await self._put_in_force(news)

    def _read(self) -> Sequence[News]:
        """[thread]"""
        try:
            if self._watch is None:
                self._watch = self.catalogue.watch(self._revision, on_news=self._tell)
            news = read_news(self._watch.next(0))
            reached = self._watch.reached
        except CatalogueCompacted:
            # Too far behind for single changes: all that is there now.
            if self._watch is not None:
                self._watch.close()
            self._watch = None
            revision, entries = self.catalogue.entries("")
            # Without a watch nobody would tell of what comes after it.
            self._watch = self.catalogue.watch(revision, on_news=self._tell)
            return [read_whole(revision, entries, known=self._keys())]
        if reached > (news[-1].revision if news else self._revision):
            # The last revision may have changed nothing: it deleted what was not there.
            news.append(News(reached))
        return news

    def _tell(self) -> None:
        """[thread] Have the loop look."""
        self.workers.submit(_nothing, lambda _result, _error: self._look())

    def _look(self) -> None:
        self._news.set()
        self._news = trio.Event()

    def _keys(self) -> list[str]:
        nodes = [f"{NODES}{node_id}" for node_id in self.nodes.by_id]
        followed = [key for follower in self.row_followers for key in follower.row_keys()]
        return [*self.topics.keys(), *nodes, *([] if self.nodes.controller is None else [CONTROLLER]), *followed]

    async def _put_in_force(self, news: News) -> None:
        self.nodes.take(news, self.partitions.clock.monotonic())
        if news.others:
            for follower in self.row_followers:
                follower.take(news)
        await self._prepare_all(news)
        breathing = Breathing(MADE_AT_ONCE)
        created: list[TopicUpdate] = []
        for update in self.topics.updates(news):
            # New topics know nothing of each other: their logs are made together.
            is_new = update.before is None
            if is_new:
                created.append(update)
            if created and (not is_new or len(created) == LOGS_MADE_TOGETHER):
                await self._put_together(created, breathing)
                created = []
            if not is_new:
                await self._put_together([update], breathing)
        await self._put_together(created, breathing)
        self._revision = max(self._revision, news.revision)
        if news.is_of_nodes:
            for follow in self.on_nodes:
                follow()

    async def _put_together(self, updates: Sequence[TopicUpdate], breathing: Breathing) -> None:
        await self._make([update.after for update in updates if update.after is not None], breathing)
        for update in updates:
            self.topics.view.apply(update)
            try:
                await self._apply(update, breathing)
                for follow in self.on_change:
                    follow(update)
            except Exception:
                # A bug of one who follows; the other topics, and whoever waits for the revision, go on.
                logger.exception("a change of a topic could not be put in force")

    # -- what lies here

    def specs(self, topic: Topic) -> list[PartitionSpec]:
        """The partitions of a topic that lie on this node, as its rows say."""
        return specs_of(topic, self.topics.node_id, self.topics.settings)

    def _spec(self, topic: Topic, index: int) -> PartitionSpec | None:
        return next((spec for spec in self.specs(topic) if spec.index == index), None)

    async def _make(self, topics: Sequence[Topic], breathing: Breathing) -> None:
        """The partitions that are new here; nobody knows of them yet."""
        new: list[PartitionSpec] = []
        for topic in topics:
            known = self.topics.view.by_id.get(topic.topic_id)
            if known is not None and known.partitions is topic.partitions:
                continue
            count = 0 if known is None else known.partition_count
            for spec in self.specs(topic):
                if spec.index >= count:
                    new.append(spec)
                elif self.partitions.get(spec.topic_id, spec.index) is None:
                    self._open_soon(topic.topic_id, spec.index)
        for start in range(0, len(new), LOGS_MADE_TOGETHER):
            some = new[start : start + LOGS_MADE_TOGETHER]
            for spec, log in zip(some, await self.in_thread(new_logs, self.partitions, some), strict=True):
                if log is None:
                    self._open_soon(spec.topic_id, spec.index)
                else:
                    self._tell_role(self.partitions.add(spec, log))
                await breathing.did()

    async def _apply(self, update: TopicUpdate, breathing: Breathing) -> None:
        before, after = update.before, update.after
        await breathing.did()
        if after is None:
            assert before is not None
            logger.info("topic deleted", extra={"topic": before.name})
            await self._drop(before, self.partitions.take_out(before.topic_id), breathing)
            return
        if before is None:
            logger.info("topic created", extra={"topic": after.name, "partitions": after.partition_count})
        elif before.config is not after.config:
            config = log_config(after.config, self.topics.settings)
            self.partitions.configure(after.topic_id, config, sync_writes=syncs(after), min_insync=min_insync(after))
        if before is None or before.partitions is not after.partitions:
            await self._assume_roles(after, breathing)

    async def _assume_roles(self, topic: Topic, breathing: Breathing) -> None:
        self._note_unopened(topic)
        for partition in self.partitions.of_topic(topic.topic_id):
            row = topic.partitions[partition.index]
            if self.topics.node_id not in row.replicas:
                moved = self.partitions.take_out(topic.topic_id, partition.index)
                await self._drop(topic, moved, breathing)
                self.background.start_soon(self._remove_files, topic.topic_id, partition.index)
            else:
                await self._assume(topic, partition)
            await breathing.did()

    def _note_unopened(self, topic: Topic) -> None:
        """This node may be elected to lead what it could not open yet: others may, if there are any."""
        for index, row in enumerate(topic.partitions):
            key = topic.topic_id, index
            if key in self._opening and row.leader == self.topics.node_id:
                self.unable.setdefault(key, trio.current_time())
            elif key in self._opening:
                self.unable.pop(key, None)

    async def _assume(self, topic: Topic, partition: Partition) -> None:
        row = topic.partitions[partition.index]
        if partition.replicas.is_news(row):
            leads, is_new_epoch = row.leader == self.topics.node_id, row.leader_epoch != partition.leader_epoch
            if leads and not is_new_epoch and not partition.replicas.leads:
                # It was given up, or is of an earlier life: only a new epoch makes this node lead again.
                row, leads = evolve(row, leader=-1), False
            if not leads:
                self._resign(topic, partition.index, row.leader_epoch)
            elif is_new_epoch and not await self._prepare(topic, partition, row.leader_epoch):
                return
            self.unable.pop((partition.topic_id, partition.index), None)
            partition.assume(row)
            self._tell_role(partition)
        self._lead(topic, partition)

    def _tell_role(self, partition: Partition) -> None:
        for follow in self.on_role:
            follow(partition)

    @property
    def revision(self) -> int:
        """Up to where what the catalogue says is in force here."""
        return self._revision

    async def step_down(self) -> None:
        """Lead nothing any more until rows come that say so: this node may no longer be who they were meant for."""
        async with self._lock:
            for topic in list(self.topics.view):
                for index, row in enumerate(topic.partitions):
                    if row.leader == self.topics.node_id and self.partitions.get(topic.topic_id, index) is None:
                        self.later.earlier[topic.topic_id, index] = row.leader_epoch
                for partition in self.partitions.of_topic(topic.topic_id):
                    if partition.replicas.leads:
                        row = partition.replicas.row
                        self._resign(topic, partition.index, row.leader_epoch)
                        partition.assume(evolve(row, leader=-1, partition_epoch=row.partition_epoch + 1))
                        self._tell_role(partition)

    async def _prepare_all(self, news: News) -> None:
        """A node that goes leaves many partitions to be led at once: what that takes of the disk is done for several
        at a time."""
        led = [
            (topic, partition, row.leader_epoch)
            for topic_id, rows in news.partitions.items()
            if (topic := self.topics.by_id.get(topic_id)) is not None
            for index, row in rows.items()
            if (partition := self.partitions.get(topic_id, index)) is not None and self._is_to_lead(partition, row)
        ]
        places = iter(led)

        async def prepare_some() -> None:
            for topic, partition, epoch in places:
                if await self._can_lead(topic, partition, epoch):
                    self._prepared[partition.topic_id, partition.index] = epoch

        self._prepared.clear()
        if len(led) > 1:
            async with trio.open_nursery() as nursery:
                for _ in range(OPENING_TOGETHER):
                    nursery.start_soon(prepare_some)

    def _is_to_lead(self, partition: Partition, row: PartitionRecord) -> bool:
        is_new_epoch = row.leader_epoch != partition.leader_epoch
        return row.leader == self.topics.node_id and is_new_epoch and partition.replicas.is_news(row)

    async def _prepare(self, topic: Topic, partition: Partition, epoch: int) -> bool:
        """Whether the partition can be led. Where that fails it is tried again; meanwhile nobody leads it."""
        is_prepared = self._prepared.pop((partition.topic_id, partition.index), None) == epoch
        if is_prepared or await self._can_lead(topic, partition, epoch):
            return True
        self.unable.setdefault((partition.topic_id, partition.index), trio.current_time())
        self.background.start_soon(self._assume_later, topic.topic_id, partition.index)
        return False

    async def _can_lead(self, topic: Topic, partition: Partition, epoch: int) -> bool:
        try:
            for end_following in self.on_following_ends:
                await end_following(partition)
            for log in partition.logs:
                if log.offline is not None:
                    raise fresh(log.offline)
            await self.in_thread(partition.begin_epoch, epoch)
            for prepare in self.before_leading:
                await prepare(topic, partition)
        except (BrokerError, OSError) as error:
            logger.error("%s cannot be led yet, tried again: %s", partition.log.name, error)
            return False
        except Exception:
            # A bug of one partition; those of the same topic go on.
            logger.exception("%s cannot be led, tried again", partition.log.name)
            return False
        return True

    async def _assume_later(self, topic_id: TopicId, index: int) -> None:
        await trio.sleep(FIRST_RETRY_S)
        async with self._lock:
            topic, partition = self.topics.by_id.get(topic_id), self.partitions.get(topic_id, index)
            if topic is not None and partition is not None:
                await self._assume(topic, partition)

    def _lead(self, topic: Topic, partition: Partition) -> None:
        """Others are told once for every epoch."""
        key = partition.topic_id, partition.index
        if partition.replicas.leads and self._led.get(key) != partition.leader_epoch:
            self._led[key] = partition.leader_epoch
            for follow in self.on_leading:
                follow(topic, partition)

    def _resign(self, topic: Topic, index: int, epoch: int | None) -> None:
        if self._led.pop((topic.topic_id, index), None) is not None:
            for follow in self.on_resigned:
                follow(topic, index, epoch)

    async def _drop(self, topic: Topic, partitions: Sequence[Partition], breathing: Breathing) -> None:
        """Partitions that lie here no longer."""
        for partition in partitions:
            self._resign(topic, partition.index, None)
            self.unable.pop((partition.topic_id, partition.index), None)
            for end_following in self.on_following_ends:
                # A truncation that is under way in a thread must not write into what is about to be removed.
                await end_following(partition)
            for follow in self.on_dropped:
                follow(partition)
            self.partitions.retire(partition)
            await breathing.did()

    # -- replicas that come and go while their topic stays

    def _open_soon(self, topic_id: TopicId, index: int) -> None:
        if (topic_id, index) not in self._opening:
            self._opening.add((topic_id, index))
            self.background.start_soon(self._open_one, topic_id, index)

    async def _open_one(self, topic_id: TopicId, index: int) -> None:
        """A replica of an older topic comes here: what may lie on the disk of it is looked at."""

        key = topic_id, index

        async def attempt() -> None:
            async with self._lock:
                topic = self.topics.by_id.get(topic_id)
                spec = None if topic is None else self._spec(topic, index)
                if topic is not None and spec is not None:
                    await self._arrive(topic, spec)
                else:
                    # It has gone again before it was here, and may have left files when it was here before.
                    self.background.start_soon(self._remove_files, topic_id, index)
                self._opening.discard(key)
                self.later.done(key)

        trouble = f"partition {index} of the topic {topic_id.hex()} cannot be opened"
        try:
            if key in self.later.keys:
                await retried(attempt, trouble, longest_s=LATER_RETRY_S)
            else:
                await retried(attempt, trouble)
        finally:
            self._opening.discard(key)

    async def _arrive(self, topic: Topic, spec: PartitionSpec) -> None:
        partition = self.partitions.get(spec.topic_id, spec.index)
        if partition is None:
            is_earlier = self.later.is_of_earlier_life(spec)
            log = await self._open_arriving(spec)
            partition = self.partitions.add(waiting(spec) if is_earlier else unled(spec), log)
            try:
                for opened in self.on_opened:
                    await opened(partition)
            except BaseException:
                # Nobody may take it for whole without its stage.
                self._close(partition)
                raise
            if is_earlier:
                self._tell_role(partition)
        await self._assume(topic, partition)

    async def _open_arriving(self, spec: PartitionSpec) -> Log:
        """What was here when the node started, or was not and may have been before."""
        log: Log
        if (spec.topic_id, spec.index) not in self.later.keys:
            log = await self.in_thread(self.partitions.open_arrived, spec)
            return log
        try:
            log = await self.in_thread(partial(self.partitions.open_log, spec, clean=False))
        except StorageError as error:
            if is_full(error):
                self.partitions.disk_is_full("partitions that are to be opened")
                raise
            log = await self._repaired(spec, error)
        return log

    def _close(self, partition: Partition) -> None:
        for taken in self.partitions.take_out(partition.topic_id, partition.index):
            self.partitions.retire(taken)

    def leave_for_later(self, partition: Partition, error: BaseException) -> None:
        """Close a partition again, as the node starts: there is no room to open all of it."""
        self._close(partition)
        self._leave(partition.topic_id, partition.index, partition.log.name, error)

    def _leave(self, topic_id: TopicId, index: int, name: str, error: BaseException) -> None:
        logger.error("%s cannot be opened, tried again: %s", name, error)
        self.later.keys.add((topic_id, index))
        self.partitions.disk_is_full("partitions that are to be opened")

    def open_later(self) -> None:
        """The node serves: try again to open what could not be."""
        for topic_id, index in sorted(self.later.keys):
            self._open_soon(topic_id, index)

    async def _remove_files(self, topic_id: TopicId, index: int) -> None:
        """Of a partition that lies here no longer; unless it has come back."""

        async def attempt() -> None:
            async with self._lock:
                topic = self.topics.by_id.get(topic_id)
                if topic is not None and self.topics.node_id not in topic.partitions[index].replicas:
                    directory = self.partitions.directory(topic_id, index)
                    await self.in_thread(self.partitions.files.remove_tree, directory)

        await retried(attempt, "the files of a partition that has moved cannot be removed")

    # -- starting

    async def open_all(
        self, *, clean: bool, then: Callable[[], Awaitable[None]] | None = None, leads: bool = True
    ) -> None:
        """Open the logs of every partition that lies here; `then` is awaited before anybody hears of it. Unless this
        node `leads` by the rows that it found, they are of an earlier life: it waits for newer ones."""
        specs = [spec for topic in self.topics.view for spec in self.specs(topic)]
        if not leads:
            self.later.note_earlier(specs)
            specs = [waiting(spec) if spec.replicas.leads else spec for spec in specs]
        strays = Strays(self.topics, self.partitions, self.has_own_catalogue)
        await self.in_thread(strays.look, bool(specs))
        await self.in_thread(self.partitions.recall_watermarks)
        await self._open(specs, clean=clean)
        if then is not None:
            await then()
        for topic in list(self.topics.view):
            for partition in self.partitions.of_topic(topic.topic_id):
                self._tell_role(partition)
                self._lead(topic, partition)

    async def keep_watermarks(self) -> None:
        """Note the high watermarks now and then, as long as the node serves."""
        while True:
            await trio.sleep(WATERMARKS_S)
            await self.note_watermarks()

    async def note_watermarks(self) -> None:
        """Note the high watermarks of what other nodes hold too."""
        try:
            await self.in_thread(self.partitions.note_watermarks, self.partitions.watermarks())
        except OSError as error:
            logger.error("high watermarks cannot be noted, tried again: %s", error)

    async def _open(self, specs: list[PartitionSpec], *, clean: bool) -> None:
        """Where the disk has no room for it, a log is left for later; the others go on."""
        open_log = partial(self.partitions.open_log, clean=clean)
        for spec, log in await open_logs(specs, partial(self.in_thread, open_log), self._repaired):
            if isinstance(log, Log):
                self.partitions.add(spec, log)
            else:
                self._leave(spec.topic_id, spec.index, f"{spec.topic}-{spec.index}", log)

    async def repair_stage(self, partition: Partition, error: StorageError) -> None:
        """Put a stage that cannot be opened out of the way; raises the error where nobody can."""
        for repair in self.on_damaged_stage:
            await repair(partition, error)
            return
        raise error

    async def _repaired(self, spec: PartitionSpec, error: StorageError) -> Log:
        """A log in the place of one that cannot be opened, made by whoever can."""
        for repair in self.on_damaged:
            return await repair(spec, error)
        raise error


def _nothing() -> None:
    """What is handed to a thread so that its answer comes on the loop."""
