"""kill -9 at random instants under an idempotent producer: nothing acknowledged is lost, doubled or reordered.

One producer lives through all crashes. After each the broker recovers on the same directory and port, and the
producer sends again whatever was not acknowledged. At the end everything is read and judged.
"""

import random
import threading
import time
from collections import defaultdict

from attrs import define, field, frozen
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tidegate import testing
from tools.soak.history import Verdict, judge

TOPIC = "crash"
PARTITIONS = 3
DRAIN_S = 60.0
QUEUED_MAX = 20_000
"""On a busy machine the broker is away for longer than it lives."""


@frozen
class CrashReport:
    """What a campaign did and found."""

    cycles: int
    sent: int
    acknowledged: int
    slowest_start_s: float
    verdict: Verdict


@define
class Workload:
    """Sends numbered records to every partition until told to stop."""

    bootstrap: str
    sent: dict[int, list[bytes]] = field(factory=lambda: defaultdict(list))
    acknowledged: list[tuple[int, bytes]] = field(factory=list)
    failures: list[str] = field(factory=list)
    stopping: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        """Until `stopping` is set; then waits for what is under way."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "log_level": 0,
            }
        )
        number = 0
        while not self.stopping.is_set():
            for partition in range(PARTITIONS):
                mark = b"%d" % number
                self.sent[partition].append(mark)
                producer.produce(TOPIC, mark, partition=partition, on_delivery=self._delivered)
                number += 1
            producer.poll(0.001)
            while len(producer) > QUEUED_MAX and not self.stopping.is_set():
                producer.poll(0.01)
        if producer.flush(DRAIN_S):
            self.failures.append("records were neither acknowledged nor refused in time")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, value = message.partition(), message.value()
        assert partition is not None
        assert value is not None
        if error is None:
            self.acknowledged.append((partition, value))
        else:
            self.failures.append(str(error))


def crash_campaign(cycles: int, seed: int) -> CrashReport:
    """Kill and restart a broker `cycles` times under load."""
    with testing.broker(timeout_s=60) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
        work = Workload(broker.bootstrap)
        thread = threading.Thread(target=work.run)
        thread.start()
        try:
            slowest = kill_again_and_again(broker, cycles, random.Random(seed))
        finally:
            work.stopping.set()
            thread.join()
        assert not work.failures, work.failures[:3]
        verdict = judge(work.sent, _read_all(broker.bootstrap), acknowledged=work.acknowledged)
    sent = sum(map(len, work.sent.values()))
    return CrashReport(cycles, sent, len(work.acknowledged), slowest, verdict)


def kill_again_and_again(
    broker: testing.RunningBroker, cycles: int, chance: random.Random, longest_life_s: float = 0.5
) -> float:
    """Kill the broker at random instants and start it again; how long the slowest start took."""
    slowest = 0.0
    for _ in range(cycles):
        time.sleep(chance.uniform(0.05, longest_life_s))
        broker.kill()
        began = time.monotonic()
        broker.start()
        slowest = max(slowest, time.monotonic() - began)
    return slowest


def _read_all(bootstrap: str) -> dict[int, list[bytes]]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "checker", "enable.auto.commit": False}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    read: dict[int, list[bytes]] = {}
    for partition in range(PARTITIONS):
        _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=30)
        consumer.assign([TopicPartition(TOPIC, partition, 0)])
        values: list[bytes] = []
        next_offset = 0
        while next_offset < end:
            for message in consumer.consume(10_000, timeout=1.0):
                if message.error() is not None:
                    raise RuntimeError(str(message.error()))
                values.append(message.value() or b"")
                next_offset = (message.offset() or 0) + 1
        read[partition] = values
    consumer.close()
    return read
