"""A leader that is replaced while producers wait for it. A client that is told NOT_LEADER_OR_FOLLOWER takes its records
for not stored; librdkafka gives their sequence numbers to others if they were of a transaction that is given up. So
does the producer here, again and again while other nodes come to lead."""

import random
from contextlib import suppress

import pytest
import trio
from attrs import define, field

from tests.simulation.client import Disconnected, SimulatedClient
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.history import History, Place, Sent
from tests.simulation.playing import make_topic, play
from tests.simulation.reader import read_all
from tests.simulation.running import sleep
from tests.simulation.workloads import Workload, as_it_is, made_batch, produce_request
from wire.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from wire.kafka.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

PRODUCE, ELECT_LEADERS, ALTER_REASSIGNMENTS = 0, 43, 45
OK, NOT_LEADER, OUT_OF_ORDER, DUPLICATE = 0, 6, 45, 46
PLACE: Place = ("moved", 0)
MOVES = 12
SEEDS = (1, 2, 3, 4)


@define(eq=False)
class Renumbering(Workload):
    """Sends up to three batches at once; those that are not stored, as it was told, it never sends again."""

    renumbered: int = 0
    is_ended: bool = False
    _producer: tuple[int, int] = field(default=(-1, -1), init=False)
    _sequence: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)

    async def run(self) -> None:
        """Until `is_ended`."""
        self._producer = await self._init(None)
        while not self.is_ended:
            await self._window()

    async def _window(self) -> None:
        window = [self._batch(self._sequence + place) for place in range(self.chance.randrange(1, 4))]
        answers, is_sure = await self._answers([batch for _, batch in window])
        for (record, _), code in zip(window, answers, strict=True):
            self.history.note(record.mark, code)
            if code in (OK, DUPLICATE):
                self.history.acknowledged([record])
                self._sequence += 1
            elif is_sure and code == NOT_LEADER:
                # What follows in this window cannot be stored either.
                record.fate = "refused"
                self.renumbered += 1
            elif not (is_sure and code == OUT_OF_ORDER and self.renumbered):
                self.history.wrong("an honest batch refused", f"{record.mark}: {code}")

    def _batch(self, sequence: int) -> tuple[Sent, bytes]:
        self._count += 1
        record = Sent(PLACE, str(self._count))
        self.history.sent.append(record)
        return record, made_batch([(record, (), as_it_is)], *self._producer, sequence)

    async def _answers(self, batches: list[bytes]) -> tuple[list[int], bool]:
        """Of all batches, and whether they came at the first try: else some may be stored, and they are sent until they
        are."""
        is_sure = True
        while True:
            with suppress(Disconnected):
                asked = [produce_request(PLACE, batch) for batch in batches]
                answers = await self.client.ask_all(PRODUCE, 9, asked, PLACE)
                codes = [answer.responses[0].partition_responses[0].error_code for answer in answers]
                if is_sure and all(code in (OK, NOT_LEADER, OUT_OF_ORDER) for code in codes):
                    if OK not in codes[-1:]:
                        await self.client.again(PLACE)
                    return codes, True
                if all(code in (OK, DUPLICATE) for code in codes):
                    return codes, False
                await self.client.again(PLACE)
            is_sure = False


async def _move(client: SimulatedClient, order: list[int]) -> None:
    """The first of these leads from now on."""
    partition = ReassignablePartition(PLACE[1], order)
    wanted = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(PLACE[0], [partition])])
    elect = ElectLeadersRequest(topic_partitions=[TopicPartitions(PLACE[0], [PLACE[1]])])
    with suppress(Disconnected):
        await client.ask(ALTER_REASSIGNMENTS, 0, wanted)
        await sleep(0.2)
        await client.ask(ELECT_LEADERS, 2, elect)


async def _replace(cluster: SimulatedCluster, seed: int) -> None:
    history, chance = History(), random.Random(seed)
    client = cluster.client()
    await make_topic(client, PLACE[0])
    await sleep(5)
    producer = Renumbering(cluster.client(), history, chance, "renumbering")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(producer.run)
        for number in range(MOVES):
            await sleep(0.3 + chance.random() * 0.3)
            await _move(client, [(number + place) % 3 + 1 for place in range(3)])
        producer.is_ended = True
    history.judge(PLACE, await read_all(cluster.client(), PLACE, history))
    assert not history.anomalies
    assert sum(record.fate == "acknowledged" for record in history.sent) > 3 * MOVES
    assert producer.renumbered, "nothing was refused for want of a leader"


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_replaced_leader_says_is_not_stored_is_stored_nowhere(seed: int) -> None:
    play(seed, lambda cluster: _replace(cluster, seed))
