"""Workers of share groups and Kafka Streams while nodes are killed: nothing is lost, and nothing counts twice."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from attrs import define, field
from confluent_kafka import Producer

from compat_tests.cluster.test_share_groups import asked
from compat_tests.conftest import unique_name
from compat_tests.share.asking import set_group
from compat_tests.share.workers import crew, wait_until
from compat_tests.streams.application import Counts, instance, lines, write_lines
from tools.chaos.cluster import ChaosCluster
from wire.kafka.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)

MakeTopic = Callable[..., str]
PARTITIONS = 6
WHOLE_S = 60.0
PATIENCE_S = 90.0


@define(eq=False)
class Jobs:
    """Jobs that are sent all the while, a few at a time."""

    bootstrap: str
    topic: str
    sent: list[str] = field(factory=list)
    failures: list[str] = field(factory=list)
    _stop: threading.Event = field(factory=threading.Event)

    @contextmanager
    def flowing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._send)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _send(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "log_level": 0})
        while not self._stop.wait(0.02):
            number = len(self.sent)
            value = f"{'release' if number % 10 == 0 else 'accept'}-{number}"
            self.sent.append(value)
            producer.produce(self.topic, value, partition=number % PARTITIONS, on_delivery=self._delivered)
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self.failures.append(str(error))


def lag(cluster: ChaosCluster, group: str) -> int:
    """How much is left to a group."""
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)])
    (found,) = asked(cluster, group, request).groups
    return sum(each.lag for named in found.topics for each in named.partitions)


@pytest.mark.timeout(300)
def test_workers_lose_no_job_and_accept_none_twice_when_nodes_are_killed(
    cluster: ChaosCluster, make_topic: MakeTopic
) -> None:
    topic, group = make_topic(PARTITIONS), unique_name("workers")
    (first, *_) = [node.bootstrap for node in cluster.nodes.values()]
    assert set_group(first, group, {"share.auto.offset.reset": "earliest", "share.retry.backoff.ms": 200}) == 0
    jobs = Jobs(cluster.bootstrap, topic)
    with crew(cluster.bootstrap, group, topic) as start:
        workers = [start(kind) for kind in ("trio", "asyncio", "trio")]

        def settled() -> int:
            return sum(len(worker.settled) for worker in workers)

        wait_until(lambda: True, workers)
        with jobs.flowing():
            wait_until(lambda: settled() > 50, workers, PATIENCE_S)
            for killed in (1, 2):
                cluster.nodes[killed].kill()
                before = settled()
                wait_until(lambda: settled() > before + 100, workers, PATIENCE_S)  # noqa: B023 - called at once
                cluster.nodes[killed].start()
                cluster.wait_until_whole(WHOLE_S)
                before = settled()
                wait_until(lambda: settled() > before + 20, workers, PATIENCE_S)  # noqa: B023 - called at once
        assert jobs.failures == []
        wanted = len(jobs.sent) + sum(value.startswith("release") for value in jobs.sent)

        def given() -> set[str]:
            return {value for worker in workers for _, _, _, value in worker.given}

        # An acknowledgement whose answer was lost with a node may count all the same: the group knows.
        wait_until(lambda: given() == set(jobs.sent) and lag(cluster, group) == 0, workers, PATIENCE_S)
        quiet_until = time.monotonic() + 3
        wait_until(lambda: time.monotonic() > quiet_until, workers, PATIENCE_S)
    releases = {
        (partition, offset)
        for worker in workers
        for partition, offset, _, value in worker.given
        if value.startswith("release")
    }
    often = Counter(place for worker in workers for place in worker.settled)
    assert {place: count for place, count in often.items() if count > (2 if place in releases else 1)} == {}
    # What was in hand when a node died may not have been told to be settled; it is little.
    assert sum(often.values()) >= wanted - 60, (sum(often.values()), wanted)


@pytest.mark.timeout(300)
def test_streams_count_every_word_once_when_nodes_are_killed(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    source, target, application = make_topic(3), make_topic(3), unique_name("app")
    settings = {"bootstrap_servers": cluster.bootstrap, "group_protocol": "streams", "replication_factor": "3"}
    counts = Counts(cluster.bootstrap, target, 3)
    try:
        with (
            instance(application, source, target, **settings) as first,
            instance(application, source, target, **settings) as second,
        ):
            expected = write_lines(cluster.bootstrap, source, lines(300))
            counts.wait_for(expected, first, second)
            for seed, killed in enumerate((1, 2), 1):
                expected += write_lines(cluster.bootstrap, source, lines(300, seed=seed))
                cluster.nodes[killed].kill()
                expected += write_lines(cluster.bootstrap, source, lines(300, seed=seed + 2))
                counts.wait_for(expected, first, second)
                cluster.nodes[killed].start()
                cluster.wait_until_whole(WHOLE_S)
            first.stop()
            expected += write_lines(cluster.bootstrap, source, lines(100, seed=9))
            counts.wait_for(expected, second)
            second.stop()
    finally:
        counts.close()
