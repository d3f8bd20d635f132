"""Rights where a code alone does not show them: what is left out, what is not told to exist, what runs already."""

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.access.access import AccessControl
from tests.wire.kafka.door import Client, Closed
from tests.wire.kafka.guarded import ROOT, allow, open_guarded
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, fetch, fetched, produce, produced
from wire.kafka.messages import alter_configs
from wire.kafka.messages import incremental_alter_configs as incremental
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.describe_cluster import DescribeClusterRequest
from wire.kafka.messages.fetch import FetchRequest, ReplicaState
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.heartbeat import HeartbeatRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.list_transactions import ListTransactionsRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from wire.kafka.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from wire.kafka.messages.streams_group_heartbeat import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
    Topology,
)

TOPIC, GROUP, CLUSTER, TRANSACTION = 2, 3, 4, 5
READ, WRITE, CREATE, DESCRIBE, CLUSTER_ACTION, ALTER_CONFIGS = 3, 4, 5, 8, 9, 11
INVALID_TOPIC = 17


def named(*names: str, create: bool = True) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=create,
        include_topic_authorized_operations=True,
    )


@trio_test
async def test_who_may_not_know_is_told_the_same_of_what_is_and_what_is_not(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        real = (await create_topic(root, "real")).topic_id
        answer = await alice.ask(named("real", "unreal"))
        assert [(each.error_code, each.topic_id, each.partitions) for each in answer.topics] == 2 * [
            (29, ZERO_UUID, [])
        ]
        assert (await root.ask(MetadataRequest(topics=None))).topics[0].name == "real"
        assert "unreal" not in guarded.access.topics.by_name
        for topic in ("real", "unreal"):
            assert (await produced(alice, topic, batch())).error_code == 29
            assert (await fetched(alice, topic)).error_code == 29
        by_id = await alice.ask(MetadataRequest(topics=[MetadataRequestTopic(topic_id=real)]))
        assert [(each.error_code, each.name) for each in by_id.topics] == [(29, None)]
        missing = await alice.ask(MetadataRequest(topics=[MetadataRequestTopic(topic_id=b"x" * 16)]))
        assert missing.topics[0].error_code == 100


@trio_test
async def test_a_topic_is_made_for_who_may_see_and_make_it(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        alice = await guarded.client("alice")
        guarded.rule(allow("alice", DESCRIBE, TOPIC, "new", pattern=4))
        assert (await alice.ask(named("new-1"))).topics[0].error_code == 29
        assert (await alice.ask(named("new-1", create=False))).topics[0].error_code == 3
        guarded.rule(allow("alice", CREATE, TOPIC, "new-1"))
        assert (await alice.ask(named("new-1"))).topics[0].error_code == 0
        guarded.rule(allow("alice", CREATE, CLUSTER, "kafka-cluster"))
        assert (await alice.ask(named("new-2"))).topics[0].error_code == 0
        assert (await alice.ask(named("old"))).topics[0].error_code == 29


@trio_test
async def test_lists_leave_out_what_may_not_be_described(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        for topic in ("seen", "hidden"):
            await create_topic(root, topic)
            await _commit(root, topic)
            await root.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[topic]))
            await root.ask(InitProducerIdRequest(transactional_id=topic, transaction_timeout_ms=1000))
        assert (await alice.ask(MetadataRequest(topics=None))).topics == []
        assert (await alice.ask(ListGroupsRequest())).groups == []
        assert (await alice.ask(ListTransactionsRequest())).transaction_states == []
        guarded.rule(*(allow("alice", DESCRIBE, kind, "seen") for kind in (TOPIC, GROUP, TRANSACTION)))
        assert [each.name for each in (await alice.ask(MetadataRequest(topics=None))).topics] == ["seen"]
        assert [each.group_id for each in (await alice.ask(ListGroupsRequest())).groups] == ["seen"]
        listed = (await alice.ask(ListTransactionsRequest())).transaction_states
        assert [each.transactional_id for each in listed] == ["seen"]
        guarded.rule(allow("alice", DESCRIBE, CLUSTER, "kafka-cluster"))
        assert {each.group_id for each in (await alice.ask(ListGroupsRequest())).groups} == {"seen", "hidden"}


async def _commit(client: Client, name: str) -> None:
    await client.ask(FindCoordinatorRequest(coordinator_keys=[name]))
    topics = [OffsetCommitRequestTopic(name=name, partitions=[OffsetCommitRequestPartition(0, 1)]) for name in (name,)]
    request = OffsetCommitRequest(group_id=name, topics=topics)
    assert (await client.ask(request, 9)).topics[0].partitions[0].error_code == 0


@trio_test
async def test_all_offsets_of_a_group_are_those_of_topics_that_may_be_described(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        await _commit(root, "orders")
        guarded.rule(allow("alice", DESCRIBE, GROUP, "orders"))
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("orders", topics=None)])
        assert (await alice.ask(request, 9)).groups[0].topics == []
        guarded.rule(allow("alice", DESCRIBE, TOPIC, "orders"))
        assert len((await alice.ask(request, 9)).groups[0].topics) == 1


@trio_test
async def test_clients_are_told_what_they_may_do_and_nobody_is_told_that_they_asked(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        guarded.rule(allow("alice", READ, TOPIC, "orders"))
        told = (await alice.ask(named("orders"))).topics[0].topic_authorized_operations
        assert told == 1 << READ | 1 << DESCRIBE
        cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
        assert (await alice.ask(cluster)).cluster_authorized_operations == 0
        guarded.rule(allow("alice", DESCRIBE, CLUSTER, "kafka-cluster"))
        assert (await alice.ask(cluster)).cluster_authorized_operations == 1 << DESCRIBE
        assert not [what for what in guarded.access.audit._entries if what[0].principal.name == "alice"]


@trio_test
async def test_a_right_that_is_taken_away_ends_a_running_session(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        rule = allow("alice", READ, TOPIC, "orders")
        guarded.rule(rule)
        request = fetch("orders", 0)
        request.session_epoch = 0
        begun = await alice.ask(request, BY_NAME)
        assert begun.session_id
        guarded.unrule(rule)
        going_on = FetchRequest(session_id=begun.session_id, session_epoch=1, max_wait_ms=0)
        answer = await alice.ask(going_on, BY_NAME)
        assert answer.responses[0].partitions[0].error_code == 29
        guarded.rule(rule)
        again = FetchRequest(session_id=begun.session_id, session_epoch=2, max_wait_ms=0)
        assert (await alice.ask(again, BY_NAME)).responses[0].partitions[0].error_code == 0


@trio_test
async def test_a_fetch_that_waits_is_given_nothing_that_it_may_no_longer_read(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        rule = allow("alice", READ, TOPIC, "orders")
        guarded.rule(rule)
        await alice.send(fetch("orders", 0, max_wait_ms=30_000), BY_NAME)
        await trio.sleep(0.05)
        guarded.unrule(rule)
        assert (await produced(root, "orders", batch())).error_code == 0
        partition = (await alice.receive()).responses[0].partitions[0]
        assert (partition.error_code, bytes(partition.records or b"")) == (29, b"")


@trio_test
async def test_a_share_fetch_that_waits_acquires_nothing_that_it_may_no_longer_read(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice, bob = [await guarded.client(name) for name in (ROOT, "alice", "bob")]
        topic_id = (await create_topic(root, "orders")).topic_id
        await root.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
        for name in ("alice", "bob"):
            guarded.rule(allow(name, READ, GROUP, "g"), allow(name, READ, TOPIC, "orders"))

        def request(member: str, wait_ms: int) -> ShareFetchRequest:
            topic = FetchTopic(topic_id=topic_id, partitions=[FetchPartition(0)])
            return ShareFetchRequest(
                "g", member, 0, max_wait_ms=wait_ms, min_bytes=1, max_bytes=10_000, max_records=10, topics=[topic]
            )

        await alice.send(request("a" * 22, 30_000))
        await trio.sleep(0.3)
        guarded.unrule(allow("alice", READ, TOPIC, "orders"))
        await produced(root, "orders", batch())
        refused = (await alice.receive()).responses[0].partitions[0]
        assert (refused.error_code, refused.acquired_records) == (29, [])
        given = (await bob.ask(request("b" * 22, 5_000))).responses[0].partitions[0]
        assert [(each.first_offset, each.delivery_count) for each in given.acquired_records] == [(0, 1)]


@pytest.mark.parametrize("version", [4, 12, 15])
@trio_test
async def test_a_client_that_poses_as_a_replica_reads_nothing(tmp_path: Path, version: int) -> None:
    """CVE-2018-1288: a client that said to be a replica could read what was not yet replicated, and truncate it."""
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        topic_id = (await create_topic(root, "orders")).topic_id
        await produced(root, "orders", batch())
        guarded.rule(allow("alice", READ, TOPIC, "orders"))
        request = fetch("orders", topic_id=topic_id)
        request.replica_id, request.replica_state = 2, ReplicaState(replica_id=2)
        answer = await alice.ask(request, version)
        (partition,) = answer.responses[0].partitions
        assert (answer.error_code, partition.error_code, bytes(partition.records or b"")) == (0, 29, b"")
        guarded.rule(allow("alice", CLUSTER_ACTION, CLUSTER, "kafka-cluster"))
        (partition,) = (await alice.ask(request, version)).responses[0].partitions
        assert (partition.error_code, bytes(partition.records or b"")) == (6, b"")


@trio_test
async def test_what_is_denied_keeps_nothing_else_back(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        for topic in ("mine", "theirs"):
            await create_topic(root, topic)
        guarded.rule(allow("alice", WRITE, TOPIC, "mine"))
        topics = [
            TopicProduceData(name=name, partition_data=[PartitionProduceData(0, batch())])
            for name in ("theirs", "mine")
        ]
        answer = await alice.ask(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=topics), BY_NAME)
        codes = {each.name: each.partition_responses[0].error_code for each in answer.responses}
        assert codes == {"mine": 0, "theirs": 29}


@trio_test
async def test_who_wants_no_answer_loses_its_connection(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        await alice.send(produce("orders", batch(), acks=0), BY_NAME, answered=False)
        with pytest.raises(Closed):
            await alice.receive_frame()
        assert not (await fetched(root, "orders")).records


@trio_test
async def test_the_brokers_own_topics_are_written_by_nobody_else(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await root.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
        assert (await produced(alice, "__consumer_offsets", batch())).error_code == 29
        assert (await produced(root, "__consumer_offsets", batch())).error_code == INVALID_TOPIC


@trio_test
async def test_a_rule_may_name_the_host(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        alice = await guarded.client("alice")
        elsewhere = allow("alice", READ, GROUP, "g")
        for host, code in (("10.1.2.3", 30), ("127.0.0.1", 25)):
            guarded.rule(type(elsewhere)(GROUP, "g", 3, "User:alice", host, READ, 3))
            assert _unless_missing((await alice.ask(HeartbeatRequest(group_id="g"))).error_code) == code


def _unless_missing(code: int) -> int:
    """There is no coordinator yet, or no such member: either way it was let through."""
    return 25 if code == 16 else code


@trio_test
async def test_kafkas_way_to_switch_it_on(tmp_path: Path) -> None:
    name = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    async with open_guarded(tmp_path, {"authorizer.enable": "false", "authorizer.class.name": name}) as guarded:
        assert isinstance(guarded.access, AccessControl)
        assert guarded.access.is_enforced


@trio_test
async def test_topics_that_the_broker_makes_for_an_application_need_the_right_to_make_them(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        await root.ask(FindCoordinatorRequest(coordinator_keys=["app"]))
        guarded.rule(
            allow("alice", READ, GROUP, "app"),
            *(allow("alice", DESCRIBE, TOPIC, name) for name in ("orders", "app-store")),
        )
        part = Subtopology("0", source_topics=["orders"], state_changelog_topics=[TopicInfo("app-store")])
        request = StreamsGroupHeartbeatRequest(
            group_id="app",
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            topology=Topology(0, [part]),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            process_id="p",
            task_offsets=None,
            task_end_offsets=None,
        )
        assert (await alice.ask(request)).error_code == 29
        assert "app-store" not in guarded.access.topics.by_name
        guarded.rule(allow("alice", CREATE, TOPIC, "app-store"))
        assert (await alice.ask(request)).error_code == 0


def _letters_in(name: str, target: str) -> list[Any]:
    """The requests that name a topic for dead letters."""
    key = "dead.letter.topic"
    new = CreatableTopic(f"{name}-new", 1, 1, configs=[CreatableTopicConfig(key, f" {target} ")])
    return [
        CreateTopicsRequest(topics=[new], timeout_ms=1000, validate_only=True),
        alter_configs.AlterConfigsRequest(
            [alter_configs.AlterConfigsResource(TOPIC, name, [alter_configs.AlterableConfig(key, target)])],
            validate_only=True,
        ),
        incremental.IncrementalAlterConfigsRequest(
            [incremental.AlterConfigsResource(TOPIC, name, [incremental.AlterableConfig(key, 0, target)])],
            validate_only=True,
        ),
    ]


async def _codes_of(client: Client, requests: list[Any]) -> list[int]:
    answers = [await client.ask(request) for request in requests]
    return [(getattr(each, "topics", None) or each.responses)[0].error_code for each in answers]


@trio_test
async def test_dead_letters_go_only_where_who_names_the_topic_may_write(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        for topic in ("hers", "victim"):
            await create_topic(root, topic)
        guarded.rule(
            *(allow("alice", each, TOPIC, "hers", pattern=4) for each in (CREATE, ALTER_CONFIGS)),
            allow("alice", DESCRIBE, TOPIC, "hers", pattern=4),
        )
        for target in ("victim", "nowhere"):
            assert await _codes_of(alice, _letters_in("hers", target)) == [29, 29, 29]
        guarded.rule(*(allow("alice", WRITE, TOPIC, name) for name in ("victim", "nowhere")))
        assert await _codes_of(alice, _letters_in("hers", "victim")) == [0, 0, 0]
        assert await _codes_of(alice, _letters_in("hers", "nowhere")) == [29, 29, 29]
        guarded.rule(allow("alice", CREATE, TOPIC, "nowhere"))
        assert await _codes_of(alice, _letters_in("hers", "nowhere")) == [0, 0, 0]


@trio_test
async def test_what_an_alteration_leaves_as_it_was_takes_no_right_to_write_there(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "hers", configs={"dead.letter.topic": "graves"})
        guarded.rule(allow("alice", ALTER_CONFIGS, TOPIC, "hers"))
        assert await _codes_of(alice, _letters_in("hers", "graves")[1:]) == [0, 0]
        assert await _codes_of(alice, _letters_in("hers", "others")[1:]) == [29, 29]


def _expiring(name: str) -> list[Any]:
    """The requests by which records that expire become dead letters of the topic."""
    key, value = "expiry.policy", "dlq"
    return [
        CreateTopicsRequest(
            topics=[CreatableTopic(f"{name}-new", 1, 1, configs=[CreatableTopicConfig(key, value)])],
            timeout_ms=1000,
            validate_only=True,
        ),
        alter_configs.AlterConfigsRequest(
            [alter_configs.AlterConfigsResource(TOPIC, name, [alter_configs.AlterableConfig(key, value)])],
            validate_only=True,
        ),
        incremental.IncrementalAlterConfigsRequest(
            [incremental.AlterConfigsResource(TOPIC, name, [incremental.AlterableConfig(key, 0, value)])],
            validate_only=True,
        ),
    ]


@trio_test
async def test_who_has_expired_records_sent_must_be_allowed_to_write_their_letters(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        for topic in ("hers", "hers.dlq", "hers-new.dlq", "named"):
            await create_topic(root, topic)
        guarded.rule(
            *(allow("alice", each, TOPIC, name) for each in (CREATE, ALTER_CONFIGS) for name in ("hers", "hers-new"))
        )
        assert await _codes_of(alice, _expiring("hers")) == [29, 29, 29]
        guarded.rule(*(allow("alice", WRITE, TOPIC, name) for name in ("hers.dlq", "hers-new.dlq")))
        assert await _codes_of(alice, _expiring("hers")) == [0, 0, 0]


@trio_test
async def test_letters_that_come_back_to_the_topics_own_take_the_right_to_write_there(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "hers", configs={"dead.letter.topic": "graves", "expiry.policy": "dlq"})
        guarded.rule(allow("alice", ALTER_CONFIGS, TOPIC, "hers"))
        assert await _codes_of(alice, _expiring("hers")[2:]) == [0], "nothing goes elsewhere than before"
        removal = incremental.AlterableConfig("dead.letter.topic", 1, None)
        request = incremental.IncrementalAlterConfigsRequest(
            [incremental.AlterConfigsResource(TOPIC, "hers", [removal])], validate_only=True
        )
        assert await _codes_of(alice, [request]) == [29]


@trio_test
async def test_an_expression_stands_for_topics_that_its_member_may_describe(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        hers = (await create_topic(root, "orders-hers")).topic_id
        await create_topic(root, "orders-secret")
        await root.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
        guarded.rule(allow("alice", READ, GROUP, "g"), allow("alice", DESCRIBE, TOPIC, "orders-hers"))
        joining = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_regex="orders-.*",
            topic_partitions=[],
        )
        answer = await alice.ask(joining)
        assert answer.error_code == 0
        assert [each.topic_id for each in answer.assignment.topic_partitions] == [hers]


@trio_test
async def test_an_application_does_not_name_a_topic_for_letters_that_it_may_not_write(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        for topic in ("orders", "victim"):
            await create_topic(root, topic)
        await root.ask(FindCoordinatorRequest(coordinator_keys=["app"]))
        guarded.rule(
            allow("alice", READ, GROUP, "app"),
            allow("alice", CREATE, CLUSTER, "kafka-cluster"),
            *(allow("alice", DESCRIBE, TOPIC, name) for name in ("orders", "app-store")),
        )
        store = TopicInfo("app-store", topic_configs=[KeyValue("dead.letter.topic", "victim")])
        request = StreamsGroupHeartbeatRequest(
            group_id="app",
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            topology=Topology(0, [Subtopology("0", source_topics=["orders"], state_changelog_topics=[store])]),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            process_id="p",
            task_offsets=None,
            task_end_offsets=None,
        )
        assert (await alice.ask(request)).error_code == 29
        assert "app-store" not in guarded.access.topics.by_name
        guarded.rule(allow("alice", WRITE, TOPIC, "victim"))
        assert (await alice.ask(request)).error_code == 0
