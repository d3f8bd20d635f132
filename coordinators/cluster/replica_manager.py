"""Carries out on this node what the catalogue says: which partitions lie here, what this node is for each, how they
are configured.

It follows a watch of the catalogue, revision after revision, whoever has committed it: on one node too a change is not
put in force by the one who decided it. Logs are opened in threads; what follows on the loop is done topic after topic,
and others go on meanwhile. A revision is in force (`in_force`) when everybody who follows has been told of it.
Nothing is put in force while somebody plans against what is known (`steady`).
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import trio
from attrs import define, evolve, field

from coordinators.background import Background
from coordinators.cluster.news import News, read_news, read_whole
from coordinators.cluster.nodes import Nodes
from coordinators.topic_view import Topic, TopicUpdate
from coordinators.topics import Topics
from coordinators.waiting import Breathing, in_worker
from engine.catalogue.catalogue import Catalogue, CatalogueCompacted, Watch
from engine.catalogue.records import NODES
from engine.config.topic_parts import log_config
from engine.errors import BrokerError, StorageError
from engine.ids import TopicId
from engine.log.log import Log
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec
from engine.partition.replicas import Replicas
from engine.workers import Workers

logger = logging.getLogger("tidegate.replicas")

OPENING_TOGETHER = 8
MADE_AT_ONCE = 50
"""So many partitions are made or removed in one go: some milliseconds."""
LOGS_MADE_TOGETHER = 250
"""So many new logs are made in one turn of a thread."""
WATERMARKS_S = 5.0
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0

PartitionKey = tuple[TopicId, int]


@define(eq=False)
class ReplicaManager:
    """See the module. Made with what was loaded from the catalogue as of `topics.revision`."""

    catalogue: Catalogue
    topics: Topics
    partitions: Partitions
    workers: Workers
    background: Background = field(factory=Background)
    nodes: Nodes = field(factory=Nodes)
    on_change: list[Callable[[TopicUpdate], object]] = field(factory=list)
    """Told of every change of a topic that is in force."""
    before_leading: list[Callable[[Topic, Partition], Awaitable[object]]] = field(factory=list)
    """Awaited before this node leads a partition that it did not lead before; if one raises, it does not lead yet."""
    on_leading: list[Callable[[Topic, Partition], object]] = field(factory=list)
    """Told when this node leads a partition, in a new epoch, and clients may be served."""
    on_resigned: list[Callable[[Topic, int, int | None], object]] = field(factory=list)
    """Told when it no longer does, and in which epoch others do; None if the partition lies here no longer."""
    _watch: Watch | None = field(default=None, init=False)
    _revision: int = field(init=False)
    _lock: trio.Lock = field(factory=trio.Lock, init=False)
    _news: trio.Event = field(factory=trio.Event, init=False)
    _led: dict[PartitionKey, int] = field(factory=dict, init=False)
    """In which epoch this node leads which partitions, as others were told."""
    _opening: set[PartitionKey] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self._revision = self.topics.revision

    async def in_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Run what blocks away from the loop."""
        return await in_worker(self.workers, function, *arguments)

    # -- following the catalogue

    async def follow(self) -> None:
        """Put in force what anybody commits, as long as the node serves."""
        while True:
            self._news = trio.Event()
            try:
                await self.catch_up()
            except BrokerError as error:
                logger.error("the catalogue's changes cannot be read, tried again: %s", error)
                await trio.sleep(FIRST_RETRY_S)
            else:
                await self._news.wait()

    async def in_force(self, revision: int) -> None:
        """Wait until everything up to that revision is."""
        while self._revision < revision:
            await self.catch_up()

    def steady(self) -> AbstractAsyncContextManager[object]:
        """While it is held nothing changes of what is known."""
        return self._lock

    async def catch_up(self) -> None:
        """Put in force what was committed since the last time."""
        # Whatever becomes of the client that waits for it: half a revision must not be.
        with trio.CancelScope(shield=True):
            async with self._lock:
                for news in await self.in_thread(self._read):
                    await self._put_in_force(news)

    def _read(self) -> Sequence[News]:
        """[thread]"""
        try:
            if self._watch is None:
                self._watch = self.catalogue.watch(self._revision, on_news=self._tell)
            reached = self.catalogue.revision()
            news = read_news(self._watch.next(0))
        except CatalogueCompacted:
            # Too far behind for single changes: all that is there now.
            self._watch = None
            return [read_whole(*self.catalogue.entries(""), known=self._keys())]
        if reached > (news[-1].revision if news else self._revision):
            # The last revision may have changed nothing: it deleted what was not there.
            news.append(News(reached))
        return news

    def _tell(self) -> None:
        """[thread] Have the loop look."""
        self.workers.submit(_nothing, lambda _result, _error: self._news.set())

    def _keys(self) -> list[str]:
        return [*self.topics.keys(), *(f"{NODES}{node_id}" for node_id in self.nodes.by_id)]

    async def _put_in_force(self, news: News) -> None:
        self.nodes.take(news)
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
        node_id = self.topics.node_id
        held = [(index, row) for index, row in enumerate(topic.partitions) if node_id in row.replicas]
        if not held:
            return []
        config = log_config(topic.config, self.topics.settings)
        return [
            PartitionSpec(
                topic.topic_id, index, config, _syncs(topic), topic.name, Replicas(node_id, row, _min_insync(topic))
            )
            for index, row in held
        ]

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
            for spec, log in zip(some, await self.in_thread(self._new_logs, some), strict=True):
                self.partitions.add(spec, log)
                await breathing.did()

    def _new_logs(self, specs: Sequence[PartitionSpec]) -> list[Log]:
        """[thread]"""
        return [self.partitions.new_log(spec) for spec in specs]

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
            self.partitions.configure(after.topic_id, config, sync_writes=_syncs(after), min_insync=_min_insync(after))
        if before is None or before.partitions is not after.partitions:
            await self._assume_roles(after, breathing)

    async def _assume_roles(self, topic: Topic, breathing: Breathing) -> None:
        for partition in self.partitions.of_topic(topic.topic_id):
            row = topic.partitions[partition.index]
            if self.topics.node_id not in row.replicas:
                moved = self.partitions.take_out(topic.topic_id, partition.index)
                await self._drop(topic, moved, breathing)
                self.background.start_soon(self._remove_files, topic.topic_id, partition.index)
            else:
                await self._assume(topic, partition)
            await breathing.did()

    async def _assume(self, topic: Topic, partition: Partition) -> None:
        row = topic.partitions[partition.index]
        if partition.replicas.is_news(row):
            leads, is_new_epoch = row.leader == self.topics.node_id, row.leader_epoch != partition.leader_epoch
            if not leads:
                self._resign(topic, partition.index, row.leader_epoch)
            elif is_new_epoch and not await self._prepare(topic, partition, row.leader_epoch):
                return
            partition.assume(row)
        self._lead(topic, partition)

    async def _prepare(self, topic: Topic, partition: Partition, epoch: int) -> bool:
        """Whether the partition can be led. Where that fails it is tried again; meanwhile nobody leads it."""
        try:
            await self.in_thread(partition.begin_epoch, epoch)
            for prepare in self.before_leading:
                await prepare(topic, partition)
        except (BrokerError, OSError) as error:
            logger.error("%s cannot be led yet, tried again: %s", partition.log.name, error)
            self.background.start_soon(self._assume_later, topic.topic_id, partition.index)
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
            self.partitions.retire(partition)
            await breathing.did()

    # -- replicas that come and go while their topic stays

    def _open_soon(self, topic_id: TopicId, index: int) -> None:
        if (topic_id, index) not in self._opening:
            self._opening.add((topic_id, index))
            self.background.start_soon(self._open_one, topic_id, index)

    async def _open_one(self, topic_id: TopicId, index: int) -> None:
        """A replica of an older topic comes here: what may lie on the disk of it is looked at."""

        async def attempt() -> None:
            async with self._lock:
                topic = self.topics.by_id.get(topic_id)
                wanted = () if topic is None else self.specs(topic)
                for spec in wanted:
                    if topic is not None and spec.index == index:
                        log = await self.in_thread(partial(self.partitions.open_log, spec, clean=False))
                        await self._assume(topic, self.partitions.add(_unled(spec), log))
                        return

        try:
            await _until_done(attempt, f"partition {index} of the topic {topic_id.hex()} cannot be opened")
        finally:
            self._opening.discard((topic_id, index))

    async def _remove_files(self, topic_id: TopicId, index: int) -> None:
        """Of a partition that lies here no longer; unless it has come back."""

        async def attempt() -> None:
            async with self._lock:
                topic = self.topics.by_id.get(topic_id)
                if topic is not None and self.topics.node_id not in topic.partitions[index].replicas:
                    directory = self.partitions.directory(topic_id, index)
                    await self.in_thread(self.partitions.files.remove_tree, directory)

        await _until_done(attempt, "the files of a partition that has moved cannot be removed")

    def _strays(self) -> list[PartitionKey]:
        """[thread] What lies on the disk of partitions that lie elsewhere, by their rows."""
        found = []
        for topic in list(self.topics.view):
            elsewhere = [i for i, row in enumerate(topic.partitions) if self.topics.node_id not in row.replicas]
            if elsewhere:
                names = set(self.partitions.files.list_directories(self.partitions.directory(topic.topic_id)))
                found += [(topic.topic_id, index) for index in elsewhere if str(index) in names]
        return found

    def _tell_strays(self, strays: Sequence[PartitionKey], *, is_all: bool) -> None:
        """They are left as they are: a node that was given another's number must not remove what it finds."""
        if not strays:
            return
        topic_id, index = strays[0]
        place = f"partition {index} of {self.topics.by_id[topic_id].name!r}"
        node_id = self.topics.node_id
        if is_all:
            raise StorageError(
                f"{self.partitions.data_dir} holds records, such as those of {place}, and by the catalogue all of them "
                f"lie on other nodes than {node_id}; is node.id what it was?"
            )
        logger.warning("%d partitions on the disk, such as %s, lie on other nodes now", len(strays), place)

    # -- starting

    async def open_all(self, *, clean: bool, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """Open the logs of every partition that lies here; `then` is awaited before anybody hears of it."""
        specs = [spec for topic in self.topics.view for spec in self.specs(topic)]
        self._tell_strays(await self.in_thread(self._strays), is_all=not specs)
        await self.in_thread(self.partitions.recall_watermarks)
        await self._open(specs, clean=clean)
        if then is not None:
            await then()
        for topic in list(self.topics.view):
            for partition in self.partitions.of_topic(topic.topic_id):
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
        logs: dict[int, Log] = {}
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


async def _until_done(attempt: Callable[[], Awaitable[None]], trouble: str) -> None:
    delay_s = FIRST_RETRY_S
    while True:
        try:
            return await attempt()
        except (BrokerError, OSError) as error:
            logger.error("%s, tried again: %s", trouble, error)
        await trio.sleep(delay_s)
        delay_s = min(2 * delay_s, LONGEST_RETRY_S)


def _unled(spec: PartitionSpec) -> PartitionSpec:
    """The same as if nobody led it: whoever is to lead it prepares for that first."""
    known = spec.replicas
    row = evolve(known.row, leader=-1, leader_epoch=known.row.leader_epoch - 1)
    return evolve(spec, replicas=Replicas(known.node_id, row, known.min_insync))


def _syncs(topic: Topic) -> bool:
    return topic.config["flush.mode"] != "os"


def _min_insync(topic: Topic) -> int:
    return topic.config.integer("min.insync.replicas")


def _nothing() -> None:
    """What is handed to a thread so that its answer comes on the loop."""
