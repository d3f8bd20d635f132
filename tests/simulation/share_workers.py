"""Members of share groups in a simulation: they fetch, and accept, release, reject, renew or forget what they get, by
one request or another, through crashes and changes of leaders; in the end they settle all that is left."""

import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import trio
from attrs import define, field

from engine.records.layout import RecordSpan
from tests.simulation.client import GROUP, METADATA, Coordinator, Disconnected, SimulatedClient
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.history import History, Place, Sent
from tests.simulation.reader import end_of, read_all
from tests.simulation.running import sleep
from tests.simulation.share_ledger import ACCEPT, REJECT, RELEASE, RENEW, Ack, ShareLedger, ShareRules, Tenure
from tests.simulation.workloads import ALTER_CONFIGS, OK, IdempotentProducer, Workload
from wire.kafka.messages import share_acknowledge, share_fetch
from wire.kafka.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

HEARTBEAT, SHARE_FETCH, SHARE_ACKNOWLEDGE, DESCRIBE_OFFSETS = 76, 78, 79, 90
GROUP_RESOURCE = 32
JOBS: Place = ("jobs", 0)
LETTERS: Place = ("jobs.dlq", 0)
KEYS = (b"a", b"b", b"c", None)
WAIT_MS = 50
SETTINGS: Mapping[str, object] = {
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.record.lock.duration.ms": 1_000,
    "share.coordinator.snapshot.update.records.per.snapshot": 20,
    "share.coordinator.state.topic.prune.interval.ms": 500,
}
KNOWN_S = 1.0
"""After so long every node knows what a group obeys."""
SESSION_ERRORS = frozenset({122, 123, 133})
NOT_HERE = frozenset({3, 5, 6, 15, 74, 75, 78, 100})
"""The leader is another, or not ready; of acknowledgements too, which may count all the same."""
UNKNOWN_TOPIC, INVALID_RECORD_STATE = 3, 121
SETTLED_WITHIN_S = 60.0
GROUPS: Mapping[str, ShareRules] = {"work": ShareRules(), "keyed": ShareRules(is_ordered=True)}


@define(eq=False)
class JobProducer(IdempotentProducer):
    """Sends jobs of a few keys, and some without."""

    keys: dict[str, bytes | None] = field(factory=dict)

    def _record(self, mark: str) -> Sent:
        record = super()._record(mark)
        record.key = self.keys[mark] = self.chance.choice(KEYS)
        return record


@define(eq=False)
class ShareWorker(Workload):
    """One member. It does so many rounds with all its moods, and settles what is left when it `finishes`."""

    cluster: SimulatedCluster
    ledger: ShareLedger
    topic_id: bytes
    rounds: int
    _session: int = field(default=0, init=False)
    _tenure: Tenure | None = field(default=None, init=False)
    _wishes: list[Ack] = field(factory=list, init=False)
    """What it wants to say, with the next request or one of its own."""

    async def run(self) -> None:
        """All rounds; what it holds then is given back."""
        for _ in range(self.rounds):
            await self._round(patient=False)
            await self._rest()
        await self._leave()

    async def finish(self, is_done: trio.Event) -> None:
        """Settle everything, until all is."""
        while not is_done.is_set():
            await self._round(patient=True)
            await sleep(self.chance.random() * 0.05)

    async def _round(self, *, patient: bool) -> None:
        mood = 1.0 if patient else self.chance.random()
        try:
            if mood < 0.05:
                await self._leave()
            elif mood < 0.1:
                await self._hang_up()
            elif self._wishes and self._session and mood < 0.6:
                await self._acknowledge()
            else:
                await self._fetch(patient=patient)
        except Disconnected:
            self._forget()

    # -- requests

    async def _fetch(self, *, patient: bool) -> None:
        acks = self._take_acks() if self._session else []
        partition = share_fetch.FetchPartition(JOBS[1], _batches(share_fetch, acks))
        is_renewal = any(kind == RENEW for _, kind in acks)
        request = share_fetch.ShareFetchRequest(
            group_id=self.ledger.group,
            member_id=self.name,
            share_session_epoch=self._session,
            max_wait_ms=0 if is_renewal else WAIT_MS,
            min_bytes=0 if is_renewal else 1,
            max_bytes=0 if is_renewal else 1 << 16,
            max_records=0 if is_renewal else self.chance.randrange(1, 6),
            batch_size=self.chance.randrange(1, 6),
            share_acquire_mode=self.chance.randrange(2),
            is_renew_ack=is_renewal,
            topics=[share_fetch.FetchTopic(self.topic_id, [partition])],
        )
        answer, asked_s = await self._ask(SHARE_FETCH, request, acks)
        data = _partition(answer)
        if acks and data is not None:
            self._told(acks, asked_s, data.acknowledge_error_code)
        if data is None or not data.acquired_records:
            return
        found = {
            offset: each.delivery_count
            for each in data.acquired_records
            for offset in range(each.first_offset, each.last_offset + 1)
        }
        self.ledger.handed(self.name, asked_s, self._tenure, found)
        for offset in found:
            self._decide(offset, patient=patient)

    async def _acknowledge(self, epoch: int | None = None) -> None:
        acks = self._take_acks()
        named = share_acknowledge.AcknowledgePartition(JOBS[1], _batches(share_acknowledge, acks))
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self.ledger.group,
            member_id=self.name,
            share_session_epoch=self._session if epoch is None else epoch,
            is_renew_ack=any(kind == RENEW for _, kind in acks),
            topics=[share_acknowledge.AcknowledgeTopic(self.topic_id, [named])] if acks else [],
        )
        answer, asked_s = await self._ask(SHARE_ACKNOWLEDGE, request, acks)
        data = _partition(answer)
        if data is not None and acks:
            self._told(acks, asked_s, data.error_code)

    async def _ask(self, api_key: int, request: Any, acks: Sequence[Ack]) -> tuple[Any, float]:
        """The answer, of a session that went on, and when it was asked for."""
        host = await self._leader()
        before = self._who_leads(host)
        asked_s = trio.current_time()
        if request.share_session_epoch < 0:
            self.ledger.closes(self.name)
        if acks:
            self.ledger.tries(self.name, acks)
        try:
            answer = await self.client.ask(api_key, 2, request, JOBS)
        except Disconnected:
            if api_key == SHARE_FETCH:
                self.ledger.lost.append(asked_s)
            raise
        after = self._who_leads(host)
        tenure = after if before == after else None
        data = _partition(answer)
        code = answer.error_code or (0 if data is None else data.error_code)
        if answer.error_code in SESSION_ERRORS or tenure is None or (self._session and tenure != self._tenure):
            self.ledger.gone(self.name)
        if answer.error_code == OK:
            self.ledger.whole(self.name, tenure)
            self._session, self._tenure = request.share_session_epoch + 1, tenure
        if code in SESSION_ERRORS or code in NOT_HERE:
            await self.client.again(JOBS)
            raise Disconnected
        if code not in (OK, INVALID_RECORD_STATE):
            self.history.wrong("an honest share request refused", f"{self.name}: {code}")
        return answer, asked_s

    def _told(self, acks: Sequence[Ack], asked_s: float, code: int) -> None:
        self.ledger.answered(self.name, acks, asked_s, self._tenure, code)
        if code not in (OK, INVALID_RECORD_STATE) and code not in NOT_HERE | self._passes:
            self.history.wrong("an honest acknowledgement refused", f"{self.name}: {code}")

    def _decide(self, offset: int, *, patient: bool) -> None:
        mood = self.chance.random()
        if patient:
            kind = ACCEPT if mood < 0.8 else RELEASE if mood < 0.9 else REJECT
        elif mood < 0.1:
            return  # forgotten, until its lock runs out
        else:
            kind = self.chance.choice((ACCEPT, ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, RENEW))
        self._wishes.append((offset, kind))

    def _take_acks(self) -> list[Ack]:
        """All that it wants to say; what it renews it accepts the next time."""
        acks = sorted(self._wishes)
        self._wishes = [(offset, ACCEPT) for offset, kind in acks if kind == RENEW]
        return acks

    # -- sessions

    async def _leave(self) -> None:
        """Close the session; what is still held goes to others."""
        if self._session:
            with suppress(Disconnected):
                await self._acknowledge(epoch=-1)
        self._forget()

    async def _hang_up(self) -> None:
        """Without a word."""
        await self.client.close()
        self._forget()

    def _forget(self) -> None:
        self.history.note(self.ledger.group, self.name, "begins anew")
        self.ledger.gone(self.name)
        self._session, self._tenure, self._wishes = 0, None, []

    # -- who leads

    async def _leader(self) -> str:
        """Whom the client is going to ask."""
        if not self.client.others:
            return self.client.host
        await self.client.epoch_of(JOBS)
        return (await self.client.find(JOBS)).host

    def _who_leads(self, host: str) -> Tenure | None:
        """As the node itself has it."""
        node = next(node for node in self.cluster.nodes if node.host == host)
        if node.runtime is None or not node.is_serving:
            return None
        partition = node.runtime.parts.node.partitions.get(self.topic_id, JOBS[1])
        epoch = -1 if partition is None else partition.leader_epoch
        return Tenure(epoch, host, node.lives)


def _batches(module: Any, acks: Sequence[Ack]) -> list[Any]:
    return [module.AcknowledgementBatch(offset, offset, [kind]) for offset, kind in acks]


def _partition(answer: Any) -> Any:
    """What is said of the one partition, if anything."""
    return next((data for topic in answer.responses for data in topic.partitions), None)


@define(eq=False)
class ShareSide:
    """All of share groups in one run: a topic of jobs, who sends and who works on them, and the verdict."""

    cluster: SimulatedCluster
    history: History
    chance: random.Random
    ledgers: list[ShareLedger] = field(factory=list, init=False)
    workers: list[ShareWorker] = field(factory=list, init=False)
    producer: JobProducer | None = field(default=None, init=False)

    async def begin(self) -> None:
        """The topic is there: have the groups know what they obey, and begin."""
        client = self.cluster.client()
        topic_id = await _topic_id(client)
        for group, rules in GROUPS.items():
            await _set_group(client, group, rules)
        await sleep(KNOWN_S)
        for group, rules in GROUPS.items():
            await _join(client, group)
            self.ledgers.append(ShareLedger(group, rules, self.history))
        await client.close()
        self.producer = JobProducer(*self._common("j"), JOBS, windows=8)
        numbers = itertools.count(1)
        self.workers = [
            ShareWorker(*self._common(f"w{next(numbers)}"), self.cluster, ledger, topic_id, rounds=25)
            for ledger in self.ledgers
            for _ in range(2)
        ]

    def _common(self, name: str) -> tuple[SimulatedClient, History, random.Random, str]:
        own = random.Random(self.chance.random())
        return self.cluster.client(chance=own), self.history, own, name

    @property
    def workloads(self) -> list[Workload]:
        """Whatever goes on beside the others."""
        assert self.producer is not None
        return [self.producer, *self.workers]

    async def judge(self) -> None:
        """Have all settled that is left, and compare."""
        client = self.cluster.client()
        is_done = trio.Event()
        async with trio.open_nursery() as nursery:
            for worker in self.workers:
                nursery.start_soon(worker.finish, is_done)
            with trio.move_on_after(SETTLED_WITHIN_S) as given:
                await self._settled(client)
                letters = await self._letters(client)
            if given.cancelled_caught:
                lags = {ledger.group: await _lag(client, ledger.group) for ledger in self.ledgers}
                self.history.wrong("share groups do not come to an end", lags)
            is_done.set()
        marks = await read_all(client, JOBS, self.history)
        assert self.producer is not None
        keys = {offset: self.producer.keys[mark] for offset, mark in marks.items() if mark in self.producer.keys}
        if not given.cancelled_caught:
            for ledger in self.ledgers:
                ledger.judge(marks, keys, letters[ledger.group])
        await client.close()

    async def _settled(self, client: SimulatedClient) -> None:
        end = await end_of(client, JOBS, self.history)
        for ledger in self.ledgers:
            while (await _lag(client, ledger.group)) != (end, 0):
                await sleep(0.2)

    async def _letters(self, client: SimulatedClient) -> dict[str, Counter[int]]:
        """Which offsets have letters, and how many, once all that were promised are there."""
        while True:
            letters = {ledger.group: Counter[int]() for ledger in self.ledgers}
            for mark in (await _all_letters(client, self.history)).values():
                group, offset = mark.split()
                letters[group][int(offset)] += 1
            await sleep(0.5)
            if not any(self._missing(ledger, letters[ledger.group]) for ledger in self.ledgers):
                return letters

    def _missing(self, ledger: ShareLedger, letters: Counter[int]) -> bool:
        return any(REJECT in known.settled and not letters[offset] for offset, known in ledger.offsets.items())


def _described(span: RecordSpan) -> str:
    """A letter, by its group and the offset of its record."""
    headers = {bytes(name): bytes(value or b"") for name, value in span.headers}
    return f"{headers[b'__dlq.errors.group'].decode()} {headers[b'__dlq.errors.offset'].decode()}"


async def _all_letters(client: SimulatedClient, history: History) -> dict[int, str]:
    """None, where nobody made the topic."""
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=LETTERS[0])], allow_auto_topic_creation=False)
    while True:
        try:
            code = (await client.ask(METADATA, 9, wanted)).topics[0].error_code
        except Disconnected:
            continue
        return {} if code == UNKNOWN_TOPIC else await read_all(client, LETTERS, history, _described)


async def _topic_id(client: SimulatedClient) -> bytes:
    while True:
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=JOBS[0])], allow_auto_topic_creation=False)
        try:
            topic = (await client.ask(METADATA, 12, wanted)).topics[0]
        except Disconnected:
            continue
        if topic.error_code == OK:
            return bytes(topic.topic_id)
        await client.again(None)


async def _set_group(client: SimulatedClient, group: str, rules: ShareRules) -> None:
    wanted = {
        "share.auto.offset.reset": "earliest",
        "share.delivery.count.limit": str(rules.limit),
        "share.retry.backoff.ms": str(int(rules.backoff_s * 1000)),
        "share.order": "key" if rules.is_ordered else "none",
    }
    configs = [AlterableConfig(name=name, value=value) for name, value in wanted.items()]
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=configs)
    while True:
        try:
            answer = await client.ask(ALTER_CONFIGS, 1, IncrementalAlterConfigsRequest(resources=[resource]))
        except Disconnected:
            continue
        if answer.responses[0].error_code == OK:
            return
        await client.again(None)


async def _join(client: SimulatedClient, group: str) -> None:
    """One heartbeat: the group is there from then on. Whoever fetches need not be a member."""
    target = Coordinator(GROUP, group)
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id="first", member_epoch=0, subscribed_topic_names=[JOBS[0]]
    )
    while True:
        try:
            if (await client.ask(HEARTBEAT, 1, request, target)).error_code == OK:
                return
        except Disconnected:
            continue
        await client.again(target)


async def _lag(client: SimulatedClient, group: str) -> tuple[int, int] | None:
    """Where the group begins, and how much is left to it."""
    target = Coordinator(GROUP, group)
    wanted = DescribeShareGroupOffsetsRequestGroup(group, [DescribeShareGroupOffsetsRequestTopic(JOBS[0], [JOBS[1]])])
    try:
        answer = await client.ask(DESCRIBE_OFFSETS, 1, DescribeShareGroupOffsetsRequest(groups=[wanted]), target)
    except Disconnected:
        return None
    found = answer.groups[0]
    if found.error_code or found.topics[0].partitions[0].error_code:
        await client.again(target)
        return None
    place = found.topics[0].partitions[0]
    return place.start_offset, place.lag
