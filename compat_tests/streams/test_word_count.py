"""Kafka Streams 4.3 counts words exactly once: by the streams protocol and by the classic one, killed, restarted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from compat_tests import admin, brokers
from compat_tests.groups.broker import MortalBroker, mortal_broker
from compat_tests.streams.application import Counts, instance, lines, write_lines
from tools.reference.java import java_tool

PARTITIONS = 3
# Sessions as short as tests can wait for.
QUICK = {
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.heartbeat.interval.ms": "1000",
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}


@contextmanager
def counting(bootstrap: str, topic: str, partitions: int = PARTITIONS) -> Iterator[Counts]:
    counts = Counts(bootstrap, topic, partitions)
    try:
        yield counts
    finally:
        counts.close()


@pytest.mark.parametrize("protocol", ["streams", "classic"])
def test_an_application_counts_stops_and_goes_on(
    bootstrap: str, make_topic: Callable[..., str], topic_name: str, protocol: str
) -> None:
    source, target = make_topic(PARTITIONS), make_topic(PARTITIONS)
    settings = {"bootstrap_servers": bootstrap, "group_protocol": protocol}
    if protocol == "classic":
        # Its members do not leave when they stop: they are waited for.
        settings["session_timeout_ms"] = "6000"
    expected = write_lines(bootstrap, source, lines(300))
    with counting(bootstrap, target) as counts:
        with instance(topic_name, source, target, num_stream_threads="2", **settings) as first:
            counts.wait_for(expected, first)
            first.stop()
        expected += write_lines(bootstrap, source, lines(100, seed=1))
        with instance(topic_name, source, target, **settings) as second:
            counts.wait_for(expected, second)
            second.stop()
    made = admin.admin_client(bootstrap).list_topics(timeout=10).topics
    for name in (f"{topic_name}-words-repartition", f"{topic_name}-counts-changelog"):
        assert len(made[name].partitions) == PARTITIONS


@contextmanager
def quick_broker() -> Iterator[tuple[str, MortalBroker | None]]:
    """Of its own; Kafka's is not killed: what a restart leaves of it is its own business."""
    if brokers.target() == "kafka":
        with brokers.broker(QUICK) as bootstrap:
            yield bootstrap, None
    else:
        with mortal_broker(QUICK) as broker:
            yield broker.bootstrap, broker


def test_instances_and_the_broker_are_killed_and_every_word_is_counted_once() -> None:
    with quick_broker() as (bootstrap, broker):
        for topic in ("in", "out"):
            admin.create_topic(bootstrap, topic, PARTITIONS)
        settings = {"bootstrap_servers": bootstrap, "group_protocol": "streams"}
        with (
            counting(bootstrap, "out") as counts,
            instance("app", "in", "out", **settings) as first,
            instance("app", "in", "out", application_server="here:80", client_tag_zone="z", **settings) as second,
        ):
            expected = write_lines(bootstrap, "in", lines(300))
            counts.wait_for(expected, first, second)
            first.wait_until("RUNNING")
            second.wait_until("RUNNING")
            expected += write_lines(bootstrap, "in", lines(300, seed=1))
            first.kill()
            expected += write_lines(bootstrap, "in", lines(300, seed=2))
            counts.wait_for(expected, second)
            if broker is not None:
                expected += write_lines(bootstrap, "in", lines(300, seed=3))
                broker.restart()
                expected += write_lines(bootstrap, "in", lines(300, seed=4))
                counts.wait_for(expected, second)
            second.stop()
        if broker is not None:
            check_records(broker)


def check_records(broker: MortalBroker) -> None:
    """Kafka's decoder reads what the coordinator wrote."""
    shown = ""
    for segment in sorted((broker.directory / "data" / "topics").glob("*/0/*.log")):
        if b"app-counts-changelog" in segment.read_bytes():
            done = java_tool("DumpLogSegments", "--offsets-decoder", "--files", str(segment))
            assert done.returncode == 0, done.stderr
            shown += done.stdout
    expected = (
        *(f'"type":"{number}"' for number in (17, 19, 20, 21, 22, 23)),
        '"validatedTopologyEpoch":0',
        '"lastAssignmentConfigs":[{"key":"num.standby.replicas","value":"0"}]',
        '"userEndpoint":{"host":"here","port":80},"clientTags":[{"key":"zone","value":"z"}]',
        '"activeTasks":[{"subtopologyId":"0","partitions":[',
        '"assignmentEpochs":[',
        '"repartitionSinkTopics":["app-words-repartition"]',
        '"stateChangelogTopics":[{"name":"app-counts-changelog","partitions":0',
        '{"key":"cleanup.policy","value":"compact"}',
    )
    for part in expected:
        assert part in shown, f"{part} is not in {shown[-3000:]}"
