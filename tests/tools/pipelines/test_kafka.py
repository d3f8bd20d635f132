"""The broker as the driver sees it, over Kafka's admin client."""

# The names are Java's.
# ruff: noqa: N802

from types import SimpleNamespace
from typing import Any

import pytest

from tests.tools.pipelines import jvm
from tests.tools.pipelines.jvm import Future, Map, Place
from tools.pipelines.kafka import Cluster
from tools.pipelines.options import PipelineError


class Admin:
    """An admin client that knows three topics, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def listTopics(self, _options: Any) -> Any:
        return SimpleNamespace(names=lambda: Future(["orders", "orders.dlq", "__trace_events"]))

    def listOffsets(self, wanted: Map, level: str) -> Any:
        self.asked = {"wanted": dict(wanted), "level": level}
        found = {place: SimpleNamespace(offset=lambda number=place[1]: 10 + number) for place in wanted}
        return SimpleNamespace(all=lambda: Future(found))

    def alterConsumerGroupOffsets(self, group: str, places: Map) -> Any:
        self.asked = {group: {place: value.offset() for place, value in places.items()}}
        return SimpleNamespace(all=lambda: Future(None))

    def listConsumerGroupOffsets(self, _group: str) -> Any:
        found = {Place("orders", 0): SimpleNamespace(offset=lambda: 7), Place("orders", 1): None}
        return SimpleNamespace(partitionsToOffsetAndMetadata=lambda: Future(found))

    def describeTopics(self, _names: Any) -> Any:
        told = SimpleNamespace(
            name=lambda: "orders",
            topicId=lambda: SimpleNamespace(toString=lambda: "an-id"),
            partitions=lambda: SimpleNamespace(size=lambda: 3),
        )
        return SimpleNamespace(allTopicNames=lambda: Future({"orders": told}))

    def describeConfigs(self, asked: list[Any]) -> Any:
        policy = SimpleNamespace(value=lambda: "compact,delete" if asked[0][1] == "orders" else "delete")
        return SimpleNamespace(all=lambda: Future({asked[0]: {"cleanup.policy": policy}}))


@pytest.fixture
def admin() -> Admin:
    return Admin()


@pytest.fixture
def cluster(admin: Admin) -> Cluster:
    return Cluster(jvm.session(admin), "broker:9092", {"security.protocol": "SSL"})


def test_clients_are_told_the_address_and_the_settings(admin: Admin) -> None:
    spark = jvm.session(admin)
    cluster = Cluster(spark, "broker:9092", {"security.protocol": "SSL", "bootstrap.servers": "other"})
    assert spark.created == [{"security.protocol": "SSL", "bootstrap.servers": "broker:9092"}]
    assert cluster.source_options["kafka.security.protocol"] == "SSL"
    assert cluster.source_options["kafka.bootstrap.servers"] == "broker:9092"
    cluster.close()
    assert admin.closed


def test_topics_by_name_and_by_pattern(cluster: Cluster) -> None:
    assert cluster.topics(["orders"]) == ["orders"]
    assert cluster.topics([], r".*\.dlq") == ["orders.dlq"]
    assert cluster.topics(["orders"], "__.*") == ["__trace_events", "orders"]
    assert cluster.topics([], "order") == []
    with pytest.raises(PipelineError, match="no such topic: a, b"):
        cluster.topics(["b", "orders", "a"])


def test_offsets_for_a_reader(cluster: Cluster, admin: Admin) -> None:
    assert cluster.offsets({"orders": range(2)}, "latest", "read_committed") == {"orders": {0: 10, 1: 11}}
    assert admin.asked == {"wanted": {("orders", 0): "latest", ("orders", 1): "latest"}, "level": "committed"}


def test_group_offsets(cluster: Cluster, admin: Admin) -> None:
    cluster.commit("watchers", {"orders": {0: 5, 2: 6}})
    assert admin.asked == {"watchers": {("orders", 0): 5, ("orders", 2): 6}}
    assert cluster.committed("watchers") == {"orders": {0: 7}}


def test_what_a_topic_is(cluster: Cluster) -> None:
    assert cluster.descriptions(["orders"]) == {"orders": ("an-id", 3)}
    assert cluster.compacted("orders")
    assert not cluster.compacted("other")


def test_what_the_broker_refuses_is_one_line(cluster: Cluster, admin: Admin) -> None:
    class Refused(Exception):
        java_exception = "java.util.concurrent.ExecutionException: TimeoutException: nobody there"

    admin.listTopics = lambda _: SimpleNamespace(names=lambda: Future(Refused("a page of Java")))  # type: ignore[method-assign]
    with pytest.raises(
        PipelineError, match=r"^the broker at broker:9092 did not do it: TimeoutException: nobody there$"
    ):
        cluster.topics(["orders"])
