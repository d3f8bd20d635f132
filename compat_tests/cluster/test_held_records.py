"""Delayed, scheduled and prioritised records over failovers: each is delivered once, and none before its time."""

import random
import time

from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import NewTopic

from compat_tests.admin import admin_client
from compat_tests.cluster.test_coordinators import bounce
from tools.chaos.campaign import running
from tools.chaos.cluster import ChaosCluster
from tools.chaos.workloads import Cancelling, Delayed, Prioritised
from tools.soak.staged_crash import Reader, read_again, wait_until_read
from tools.soak.staged_history import History, judge_staged
from tools.soak.staged_workloads import PARTITIONS, StagedWorkload

WHOLE_S = 60.0
WORKLOADS: tuple[type[StagedWorkload], ...] = (Delayed, Cancelling, Prioritised)


def test_held_records_come_once_and_not_too_early(cluster: ChaosCluster, chance: random.Random) -> None:
    places = make_topics(cluster)
    works = [kind(cluster.bootstrap, seed) for seed, kind in enumerate(WORKLOADS)]
    reader = Reader(cluster.bootstrap, places)
    history = History()
    with running(reader):
        with running(*works):
            deadline = time.monotonic() + WHOLE_S
            while not all(work.is_at_work() for work in works):
                assert time.monotonic() < deadline, "nothing is acknowledged"
                time.sleep(0.05)
            for node_id in chance.sample(sorted(cluster.nodes), 2):
                bounce(cluster, node_id)
        assert [failure for work in works for failure in work.failures] == []
        history.sent = [record for work in works for record in work.history.sent]
        wait_until_read(history, reader)
    history.read = reader.read
    history.reread = read_again(cluster.bootstrap, places, len(history.read))
    verdict = judge_staged(history)
    assert verdict.clean, verdict.summary()


def make_topics(cluster: ChaosCluster) -> list[TopicPartition]:
    """Those of the workloads, anew."""
    admin = admin_client(cluster.bootstrap)
    topics = {name: config for kind in WORKLOADS for name, config in kind.TOPICS.items()}
    known = set(admin.list_topics(timeout=20).topics) & set(topics)
    for done in (admin.delete_topics(sorted(known)) if known else {}).values():
        done.result(20)
    for done in admin.create_topics(
        [NewTopic(name, PARTITIONS, 3, config=each) for name, each in topics.items()]
    ).values():
        done.result(20)
    cluster.wait_until_whole(WHOLE_S)
    return [TopicPartition(name, index, OFFSET_BEGINNING) for name in topics for index in range(PARTITIONS)]
