"""What a traced record costs on its whole way, in this process: `python -m tools.bench.tracing_path`.

Produce and Fetch are handled as the server hands them over, with `acks=all`, the answers encoded and every twentieth
batch committed, on a disk in memory and without sockets. Three topics take turns: `off` with tracing switched off,
`plain` with tracing on and nothing traced, `traced` with one record in a hundred. CPU time of all threads, per batch;
the best turn counts, for noise only ever adds.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence

import trio
from attrs import define, field

from coordinators.access.access import AccessControl
from coordinators.access.quotas.quotas import Quotas
from coordinators.records.publishing import Publishing
from coordinators.records.reading import Reading
from coordinators.replication.ports import NoFollowers
from coordinators.topics import TopicSpec
from coordinators.waiting import result_of
from engine.deferred import Deferred
from tidegate.broker import Broker
from tidegate.config import BrokerConfig
from tidegate.node import Node
from tools.bench.tracing import batch
from wire.kafka.apis import fetch, produce
from wire.kafka.codec import request_decoder, request_encoder, response_encoder
from wire.kafka.fetch_sessions import FetchSessions
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from wire.kafka.request import Context, Endpoint, Peer
from wire.kafka.told_nodes import ToldNodes

TOPICS = {"off": {"trace.enable": "false"}, "plain": {}, "traced": {}}
PRODUCE, FETCH = (0, 9), (1, 11)
EVERY = 100
COMMIT_EVERY = 20
SHAPES = ((1, 200), (20, 200), (100, 200))


@define(eq=False)
class Way:
    """One shape of batch, on its way through each topic."""

    node: Node
    count: int
    size: int
    plain: dict[str, memoryview] = field(factory=dict)
    traced: dict[str, memoryview] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for topic in TOPICS:
            self.plain[topic] = _frame(topic, batch(self.count, self.size, None))
            self.traced[topic] = _frame(topic, batch(self.count, self.size, min(EVERY, self.count)))

    async def turn(self, topic: str, batches: int) -> float:
        """Microseconds of CPU per batch."""
        partition = self.node.partitions.get(self.node.topics.by_name[topic].topic_id, 0)
        assert partition is not None
        offset = partition.log.end_offset
        each = max(EVERY // self.count, 1)
        began = time.process_time()
        for number in range(batches):
            is_traced = topic != "plain" and number % each == each - 1
            await self._publish((self.traced if is_traced else self.plain)[topic])
            self._consume(topic, offset)
            offset += self.count
            if number % COMMIT_EVERY == COMMIT_EVERY - 1:
                self.node.tracing.committed("bench", topic, 0, offset)
        return (time.process_time() - began) / batches * 1e6

    async def _publish(self, frame: memoryview) -> None:
        rounds = self.node.partitions.rounds
        rounds.hold()
        services, request = self.node.services, request_decoder(*PRODUCE)(frame, 0)
        answer = produce.handle(request, self._context(PRODUCE[1]), services[Publishing], services[ToldNodes])
        rounds.release()
        assert isinstance(answer, Deferred), "a batch with acks=all waits for its sync"
        response_encoder(*PRODUCE)(await result_of(answer))

    def _consume(self, topic: str, offset: int) -> None:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=2**20)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=1, max_bytes=2**30, topics=[FetchTopic(topic=topic, partitions=[wanted])]
        )
        services = self.node.services
        doors = services[Reading], services[FetchSessions], services[ToldNodes], NoFollowers()
        limits = services[AccessControl], services[Quotas]
        answer = fetch.handle(request, self._context(FETCH[1]), *doors, *limits)
        assert not isinstance(answer, Deferred), "what was acknowledged can be read at once"
        response_encoder(*FETCH)(answer)

    def _context(self, version: int) -> Context:
        return Context(Peer("127.0.0.1", 1, Endpoint("127.0.0.1", 1), 1), version, "bench")


def _frame(topic: str, records: bytes) -> memoryview:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, records)])
    request = ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data])
    parts = request_encoder(*PRODUCE)(request)
    return memoryview(b"".join(part for part in parts if isinstance(part, bytes)))


async def measure(count: int, size: int, turns: int, batches: int, directory: str) -> dict[str, list[float]]:
    """By topic, microseconds per batch of each turn."""
    values: dict[str, object] = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "http.port": 0,
        "log.dirs": directory,
        # One in a hundred and nothing else, and all of them.
        "log.trace.sample.per.second": 0,
        "trace.max.per.second": 1_000_000,
    }
    used: dict[str, list[float]] = {topic: [] for topic in TOPICS}
    async with Broker(BrokerConfig.load(values=values)) as broker:
        await broker.node.controller.create_topics(
            [TopicSpec(topic, 1, configs=configs) for topic, configs in TOPICS.items()]
        )
        way = Way(broker.node, count, size)
        for topic in TOPICS:
            await way.turn(topic, batches)
        for number in range(turns):
            for topic in TOPICS if number % 2 else reversed(TOPICS):
                used[topic].append(await way.turn(topic, batches))
    return used


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.tracing_path", description=__doc__)
    parser.add_argument("--turns", type=int, default=40, help="how often each topic has its turn (default: 40)")
    parser.add_argument("--batches", type=int, default=100, help="batches of a turn (default: 100)")
    options = parser.parse_args(arguments)
    print(f"{'records':>8}{'bytes':>7}" + "".join(f"{topic + ' us':>12}" for topic in TOPICS) + f"{'us/trace':>10}")
    for count, size in SHAPES:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            used = trio.run(measure, count, size, options.turns, options.batches, directory)
        for how, chosen in (("best", min), ("median", statistics.median)):
            off, plain, traced = (chosen(used[topic]) for topic in TOPICS)
            each = (traced - off) * max(EVERY // count, 1)
            shown = "".join(f"{value:>12.0f}" for value in (off, plain, traced))
            print(f"{count:>8}{size:>7}{shown}{each:>10.0f}  {how}: {100 * (traced / off - 1):+.1f} %", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
