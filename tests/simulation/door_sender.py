"""Whoever writes by a door that is not Kafka's: the node it calls asks the partition's leader in its name.

Such a caller has no producer id. What it is not told the fate of may be there or not; and it is answered within the
time that it gives, whatever happens to leaders meanwhile.
"""

from functools import partial

import trio
from attrs import define

from coordinators.access.callers import ANONYMOUS, Caller
from engine.errors import BrokerError
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.history import Place, Sent
from tests.simulation.node import SimulatedNode
from tests.simulation.running import sleep
from tests.simulation.workloads import AGAIN_S, Workload
from wire.inner.asking import ANSWER_S, InnerClient
from wire.inner.records import NewRecord, SentRecord
from wire.inner.sending import Sending
from wire.kafka.errors import ErrorCode, error_code
from wire.services import Services

CALLER = Caller(ANONYMOUS, "10.1.2.3")
TIMEOUT_S = 3.0
SLACK_S = 5.0
"""For a node that stands still meanwhile."""
PASSING = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # by a node that has not heard of it yet
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    )
)


@define(eq=False)
class DoorSender(Workload):
    """Writes records to one partition, by whichever node is there."""

    cluster: SimulatedCluster
    place: Place
    count: int

    async def run(self) -> None:
        """All records, one after the other."""
        for number in range(self.count):
            record = Sent(self.place, f"{self.name}/{number}", is_ordered=False)
            self.history.sent.append(record)
            await self._send(record, await self._some_node())
            await self._rest()

    async def _some_node(self) -> SimulatedNode:
        while not (serving := [node for node in self.cluster.nodes if node.is_serving]):
            await sleep(AGAIN_S)
        return self.chance.choice(serving)

    async def _send(self, record: Sent, node: SimulatedNode) -> None:
        """A task of the node: it stands still with it, and ends with it."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.visited_by, partial(self._ask, record))

    async def _ask(self, record: Sent, services: Services) -> None:
        began_s = trio.current_time()
        new = NewRecord(key=record.key, value=record.mark.encode(), partition=self.place[1])
        try:
            with services[InnerClient].guest(CALLER, "http") as guest:
                (outcome,) = await services[Sending].send(guest, self.place[0], [new], timeout_s=TIMEOUT_S)
        except BrokerError as error:
            outcome = error
        self._told(record, outcome)
        if trio.current_time() - began_s > TIMEOUT_S + ANSWER_S + SLACK_S:
            self.history.wrong("a door answers late", f"{record.mark}: {trio.current_time() - began_s:.1f} s")

    def _told(self, record: Sent, outcome: SentRecord | BrokerError) -> None:
        code = error_code(outcome) if isinstance(outcome, BrokerError) else ErrorCode.NONE
        self.history.note(self.name, record.mark, code)
        if isinstance(outcome, SentRecord):
            self.history.acknowledged([record])
        elif code not in PASSING:
            self.history.wrong("an honest record refused by a door", f"{record.mark}: {outcome!r}")
