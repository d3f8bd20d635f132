"""Metadata: all topics or some, by name and by id, and topics made by asking for them."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from compat_tests.waiting import eventually
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import metadata_topic, topic_id, versions_of

UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, INVALID_REQUEST, UNKNOWN_TOPIC_ID = 3, 17, 42, 100


def metadata(bootstrap: str, topics: list[Any] | None, version: int = 12, **options: Any) -> Any:
    options.setdefault("allow_auto_topic_creation", False)
    return ask(bootstrap, MetadataRequest(version=version, topics=topics, **options))


def test_every_version_tells_the_same(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(3)
    address = bootstrap.rsplit(":", 1)
    for version in range(versions_of(bootstrap)[3][1] + 1):
        answer = metadata(bootstrap, [metadata_topic(topic)], version)
        (broker,) = answer.brokers
        assert [broker.host, str(broker.port)] == address
        (found,) = answer.topics
        assert (found.error_code, found.name) == (0, topic)
        partitions = sorted(found.partitions, key=lambda partition: partition.partition_index)
        assert [partition.partition_index for partition in partitions] == [0, 1, 2]
        for partition in partitions:
            assert (partition.error_code, partition.leader_id) == (0, broker.node_id)
            assert partition.replica_nodes == partition.isr_nodes == [broker.node_id]
            if version >= 5:
                assert partition.offline_replicas == []
            if version >= 7:
                assert partition.leader_epoch == 0
        if version >= 1:
            assert answer.controller_id == broker.node_id
        if version >= 2:
            assert answer.cluster_id


def test_all_topics(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    for version, everything in ((0, []), (1, None), (12, None)):
        assert topic in [found.name for found in metadata(bootstrap, everything, version).topics]


def test_no_topics(bootstrap: str) -> None:
    for version in (1, 4, 9, 12):
        answer = metadata(bootstrap, [], version)
        assert answer.topics == []
        assert len(answer.brokers) == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [("no-such-topic", UNKNOWN_TOPIC_OR_PARTITION), ("no spaces", INVALID_TOPIC), ("", INVALID_TOPIC)],
)
def test_a_topic_that_is_not_there(bootstrap: str, name: str, code: int) -> None:
    (found,) = metadata(bootstrap, [metadata_topic(name)]).topics
    assert (found.error_code, found.name, found.partitions) == (code, name, [])


def test_by_id(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    identity = topic_id(bootstrap, topic)
    (found,) = metadata(bootstrap, [metadata_topic(None, identity)]).topics
    assert (found.error_code, found.name, str(found.topic_id)) == (0, topic, identity)
    stranger = str(uuid.uuid4())
    (found,) = metadata(bootstrap, [metadata_topic(None, stranger)]).topics
    assert (found.error_code, str(found.topic_id)) == (UNKNOWN_TOPIC_ID, stranger)


def test_a_topic_made_again_has_another_id(bootstrap: str, make_topic: Callable[..., str]) -> None:
    assert topic_id(bootstrap, make_topic()) != topic_id(bootstrap, make_topic())


def test_one_topic_twice_is_answered_once(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = metadata_topic(make_topic())
    assert len(metadata(bootstrap, [topic, topic]).topics) == 1


def test_asking_makes_a_topic_if_the_client_allows(bootstrap: str, topic_name: str) -> None:
    def look() -> tuple[int, int]:
        options = {"allow_auto_topic_creation": True}
        (found,) = metadata(bootstrap, [metadata_topic(topic_name)], **options).topics
        return found.error_code, len(found.partitions)

    assert metadata(bootstrap, [metadata_topic(topic_name)]).topics[0].error_code == UNKNOWN_TOPIC_OR_PARTITION
    eventually(look, (0, 1))


def test_before_version_4_every_client_allows(bootstrap: str, topic_name: str) -> None:
    def look() -> int:
        return int(metadata(bootstrap, [metadata_topic(topic_name)], 3).topics[0].error_code)

    eventually(look, 0)


def test_a_bad_name_is_not_made(bootstrap: str) -> None:
    options = {"allow_auto_topic_creation": True}
    (found,) = metadata(bootstrap, [metadata_topic("no spaces")], **options).topics
    assert found.error_code == INVALID_TOPIC


def test_authorized_operations_are_told_if_asked(bootstrap: str, make_topic: Callable[..., str]) -> None:
    asked = [metadata_topic(make_topic())]
    assert metadata(bootstrap, asked).topics[0].authorized_operations is None
    told = metadata(bootstrap, asked, include_topic_authorized_operations=True)
    # Read, write, create, delete, alter, describe, describe configs, alter configs.
    assert set(told.topics[0].authorized_operations) == {3, 4, 5, 6, 7, 8, 10, 11}


@pytest.mark.parametrize("version", range(7))
def test_this_node_coordinates_groups(bootstrap: str, version: int) -> None:
    def look() -> tuple[int, str]:
        request = FindCoordinatorRequest(version=version, key="g", key_type=0, coordinator_keys=["g"])
        answer = ask(bootstrap, request)
        found = answer.coordinators[0] if version >= 4 else answer
        return found.error_code, f"{found.host}:{found.port}"

    eventually(look, (0, bootstrap))


def test_a_coordinator_of_an_unknown_kind(bootstrap: str) -> None:
    request = FindCoordinatorRequest(version=4, key_type=7, coordinator_keys=["g"])
    (found,) = ask(bootstrap, request).coordinators
    assert (found.error_code, found.node_id, found.host, found.port) == (INVALID_REQUEST, -1, "", -1)
    answer = ask(bootstrap, FindCoordinatorRequest(version=3, key_type=7, key="g"))
    assert (answer.error_code, answer.node_id) == (INVALID_REQUEST, -1)
