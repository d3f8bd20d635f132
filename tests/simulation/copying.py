"""A consume-transform-produce loop: records of one partition are copied to another, with the offset up to which they
were read, in transactions. In the end each was copied once, in order, whatever happened and whoever was asked."""

import random
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field

from tests.simulation.client import GROUP, TRANSACTION, Coordinator, Disconnected, SimulatedClient
from tests.simulation.history import Place, Sent
from tests.simulation.reader import fetch
from tests.simulation.workloads import (
    ADD_PARTITIONS,
    END_TXN,
    OFFSET_FETCH,
    OK,
    PRODUCE,
    TRANSACTIONAL,
    EndedTransaction,
    Workload,
    as_it_is,
    made_batch,
    produce_request,
)
from wire.kafka.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from wire.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from wire.kafka.messages.end_txn import EndTxnRequest
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from wire.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

ADD_OFFSETS, TXN_OFFSET_COMMIT = 25, 28
UNSTABLE = 88
"""A transaction that commits the offset is still open."""


@define(eq=False)
class CopyingLoop(Workload):
    """Goes on where the group has committed: after it was given up, and whenever it gave a transaction up itself."""

    source: Place
    target: Place
    count: int
    """So many transactions are tried."""
    committed: list[str] = field(factory=list, init=False)
    """What was copied in transactions of which it was told that they are committed."""

    async def run(self) -> None:
        """All transactions."""
        left = self.count
        while left > 0:
            producer_id, epoch = await self._init(self.name)
            position, sequence = await self._place(), 0
            try:
                while left > 0:
                    await self._rest()
                    left -= 1
                    following, found = await fetch(self.client, self.source, position)
                    if not found:
                        continue
                    is_committed = await self._copy((producer_id, epoch, sequence), [*found.values()], following)
                    sequence += len(found)
                    position = following if is_committed else await self._place()
            except (Disconnected, EndedTransaction):
                self.history.note(self.name, "begins anew")

    async def _copy(self, producer: tuple[int, int, int], marks: Sequence[str], following: int) -> bool:
        producer_id, epoch, sequence = producer
        transaction, group = Coordinator(TRANSACTION, self.name), Coordinator(GROUP, self.name)
        topics = [AddPartitionsToTxnTopic(self.target[0], [self.target[1]])]
        partitions = AddPartitionsToTxnRequest([], self.name, producer_id, epoch, topics)
        added = await self.client.ask(ADD_PARTITIONS, 3, partitions, transaction)
        results = added.results_by_topic_v3_and_below[0].results_by_partition
        await self.ended_if([each.partition_error_code for each in results], transaction)
        records = [(Sent(self.target, mark), (), as_it_is) for mark in marks]
        batch = made_batch(records, producer_id, epoch, sequence, TRANSACTIONAL)
        produced = await self.client.ask(PRODUCE, 9, produce_request(self.target, batch, self.name), self.target)
        await self.ended_if([produced.responses[0].partition_responses[0].error_code], self.target)
        offsets = AddOffsetsToTxnRequest(self.name, producer_id, epoch, self.name)
        answer = await self.client.ask(ADD_OFFSETS, 3, offsets, transaction)
        await self.ended_if([answer.error_code], transaction)
        place = TxnOffsetCommitRequestPartition(self.source[1], following)
        commit = TxnOffsetCommitRequest(
            self.name, self.name, producer_id, epoch, topics=[TxnOffsetCommitRequestTopic(self.source[0], [place])]
        )
        answer = await self.client.ask(TXN_OFFSET_COMMIT, 3, commit, group)
        await self.ended_if([answer.topics[0].partitions[0].error_code], group)
        is_committed = self.chance.random() < 0.7
        self.history.reach_moment()
        answer = await self._passing(
            END_TXN, 3, EndTxnRequest(self.name, producer_id, epoch, is_committed), transaction
        )
        await self.ended_if([answer.error_code], transaction)
        self.history.note(self.name, "copied" if is_committed else "gave up", following)
        self.committed += marks if is_committed else ()
        return is_committed

    async def _place(self) -> int:
        """Where the group stands, as a consumer of committed records asks: of whom, is found out anew."""
        coordinator = Coordinator(GROUP, self.name)
        wanted = [OffsetFetchRequestTopic(self.source[0], [self.source[1]])]
        request = OffsetFetchRequest(group_id=self.name, topics=wanted, require_stable=True)
        asking = self._another_client()
        try:
            while True:
                try:
                    answer = await asking.ask(OFFSET_FETCH, 7, request, coordinator)
                except Disconnected:
                    continue
                code = answer.error_code or answer.topics[0].partitions[0].error_code
                if code == OK:
                    found: int = answer.topics[0].partitions[0].committed_offset
                    self.history.note(self.name, "stands at", found)
                    return max(found, 0)
                if code not in self._passes and code != UNSTABLE:
                    self.history.wrong("an honest question refused", f"{self.name}: {code}")
                await asking.again(coordinator)
        finally:
            await asking.close()

    def _another_client(self) -> SimulatedClient:
        own = random.Random(self.chance.random())
        return evolve(self.client, chance=own, name=f"{self.client.name}-asks")

    def judge(self, source: Mapping[int, str], target: Mapping[int, str]) -> None:
        """What committed readers found of both in the end."""
        read, copied = list(source.values()), list(target.values())
        if copied != read[: len(copied)]:
            wrong = next(place for place, mark in enumerate(copied) if place >= len(read) or mark != read[place])
            twice = copied[wrong] in copied[:wrong]
            self.history.wrong("copied twice" if twice else "left out", f"{copied[wrong]} at {wrong}")
        for mark in self.committed:
            if mark not in copied:
                self.history.wrong("lost of a committed copy", mark)
