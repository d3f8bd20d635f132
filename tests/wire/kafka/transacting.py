"""A transactional producer in requests, for the tests of the Kafka door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from attrs import define, field

from tests.wire.kafka.door import Client, Door, open_door
from tests.wire.kafka.requests import batch, create_topic, fetch, produce
from wire.kafka.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from wire.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from wire.kafka.messages.end_txn import EndTxnRequest
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

CLASSIC_PRODUCE = 11
SMALL: dict[str, object] = {"transaction.state.log.num.partitions": 2, "offsets.topic.num.partitions": 2}
TRANSACTIONAL = 0x10
CONTROL = 0x20
READ_COMMITTED = 1
CONCURRENT_TRANSACTIONS = 51


@define
class Producer:
    """One transactional producer; every request can be sent in any version."""

    client: Client
    name: str = "a"
    producer_id: int = -1
    epoch: int = -1
    sequences: dict[int, int] = field(factory=dict)

    async def init(self, version: int | None = None, *, timeout_ms: int = 60_000, resume: bool = False) -> Any:
        await self.client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[self.name]))
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=timeout_ms)
        if resume:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        answer = await self.client.ask(request, version)
        if answer.error_code == 0:
            self.producer_id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        return answer

    async def take_over(self) -> None:
        """Begin as a newer instance, when what the older had open is aborted."""
        with trio.fail_after(5):
            while (await self.init()).error_code == CONCURRENT_TRANSACTIONS:
                await trio.lowlevel.checkpoint()

    async def add(self, topics: dict[str, list[int]] | None = None, version: int | None = None) -> Any:
        """Codes by (topic, partition)."""
        wanted = [AddPartitionsToTxnTopic(name, indexes) for name, indexes in (topics or {"t": [0]}).items()]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=wanted,
        )
        answer = await self.client.ask(request, version)
        return {
            (topic.name, each.partition_index): each.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        }

    async def add_offsets(self, group: str = "g", version: int | None = None) -> Any:
        request = AddOffsetsToTxnRequest(self.name, self.producer_id, self.epoch, group)
        return (await self.client.ask(request, version)).error_code

    async def write(self, value: bytes = b"v", partition: int = 0, version: int = CLASSIC_PRODUCE) -> Any:
        """The answer for the partition."""
        sequence = self.sequences.get(partition, 0)
        records = batch(
            [value],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL,
        )
        request = produce("t", records, partition=partition)
        request.transactional_id = self.name
        entry = (await self.client.ask(request, version)).responses[0].partition_responses[0]
        if entry.error_code == 0:
            self.sequences[partition] = sequence + 1
        return entry

    async def commit_offset(self, offset: int, version: int | None = None, *, group: str = "g") -> Any:
        """The code for the partition."""
        partitions = [TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic("t", partitions)],
        )
        return (await self.client.ask(request, version)).topics[0].partitions[0].error_code

    async def end(self, *, commit: bool = True, version: int = 4) -> Any:
        request = EndTxnRequest(self.name, self.producer_id, self.epoch, commit)
        answer = await self.client.ask(request, version)
        if answer.error_code == 0 and version >= 5:
            self.producer_id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        return answer


async def read(client: Client, *, committed: bool = True, max_wait_ms: int = 0, offset: int = 0) -> Any:
    """What a Fetch answers for partition 0 of `t`."""
    request = fetch("t", offset, max_wait_ms=max_wait_ms)
    request.isolation_level = READ_COMMITTED if committed else 0
    return (await client.ask(request, 12)).responses[0].partitions[0]


@asynccontextmanager
async def transacting(
    data_dir: Path, settings: dict[str, object] | None = None
) -> AsyncIterator[tuple[Door, Producer]]:
    """A broker with a topic `t` of two partitions, and a producer with an identity."""
    async with open_door(data_dir, {**SMALL, **(settings or {})}) as door:
        client = await door.connect()
        await create_topic(client, "t", 2)
        producer = Producer(client)
        await producer.init()
        yield door, producer
