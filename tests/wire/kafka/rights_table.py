"""Which rights each API asks for, and what whoever lacks one is told: Kafka's answers, written down by hand and apart
from what the APIs declare, for the test that holds the two together."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from wire.kafka.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    streams_group_describe,
    streams_group_heartbeat,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)

TOPIC, GROUP, CLUSTER, TRANSACTION = 2, 3, 4, 5
READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
NAMES = {TOPIC: "t", GROUP: "g", CLUSTER: "kafka-cluster", TRANSACTION: "x"}
T29, G30, C31, X53 = 29, 30, 31, 53

Lacking = tuple[int, int, int]
"""An operation, the kind of resource, and the code that whoever lacks it is told."""


@frozen
class Asked:
    """What is known of the world that a request is made for."""

    version: int
    topic_id: bytes
    records: bytes


@frozen
class Case:
    """An API, a request of it, and the rights that it takes, in the order in which they are asked for."""

    key: int
    request: Callable[[Asked], Any]
    needs: tuple[Lacking, ...]
    instead: tuple[Lacking, ...] = ()
    """Rights that each do in the place of the last one."""
    first: int = 0
    """From this version on."""
    last: int = 99


def _produce(asked: Asked, transactional_id: str | None = None) -> Any:
    data = [produce.PartitionProduceData(0, asked.records)]
    named = {"topic_id": asked.topic_id} if asked.version >= 13 else {"name": "t"}
    topic = produce.TopicProduceData(partition_data=data, **named)  # type: ignore[arg-type]
    return produce.ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=1000, topic_data=[topic])


def _fetch(asked: Asked) -> Any:
    wanted = fetch.FetchPartition(partition=0, partition_max_bytes=1000)
    topic = fetch.FetchTopic(topic_id=asked.topic_id, topic="t", partitions=[wanted])
    return fetch.FetchRequest(topics=[topic], max_wait_ms=0)


def _metadata(asked: Asked, name: str = "t") -> Any:
    topics = [metadata.MetadataRequestTopic(name=name)]
    return metadata.MetadataRequest(topics=topics, allow_auto_topic_creation=name != "t")


def _offset_commit(asked: Asked) -> Any:
    named = {"topic_id": asked.topic_id} if asked.version >= 10 else {"name": "t"}
    topic = offset_commit.OffsetCommitRequestTopic(partitions=[offset_commit.OffsetCommitRequestPartition()], **named)  # type: ignore[arg-type]
    return offset_commit.OffsetCommitRequest(group_id="g", topics=[topic])


def _offset_fetch(asked: Asked) -> Any:
    if asked.version < 8:
        return offset_fetch.OffsetFetchRequest(group_id="g", topics=[offset_fetch.OffsetFetchRequestTopic("t", [0])])
    named = {"topic_id": asked.topic_id} if asked.version >= 10 else {"name": "t"}
    topic = offset_fetch.OffsetFetchRequestTopics(partition_indexes=[0], **named)  # type: ignore[arg-type]
    return offset_fetch.OffsetFetchRequest(groups=[offset_fetch.OffsetFetchRequestGroup(group_id="g", topics=[topic])])


def _txn_offset_commit(_: Asked) -> Any:
    partition = txn_offset_commit.TxnOffsetCommitRequestPartition()
    topic = txn_offset_commit.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])
    return txn_offset_commit.TxnOffsetCommitRequest(transactional_id="x", group_id="g", topics=[topic])


def _find(asked: Asked, kind: int, key: str) -> Any:
    return find_coordinator.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key], key=key)


def _delete_topics(asked: Asked, by_id: bool = False) -> Any:
    if asked.version < 6:
        return delete_topics.DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000)
    state = delete_topics.DeleteTopicState(topic_id=asked.topic_id) if by_id else delete_topics.DeleteTopicState("t")
    return delete_topics.DeleteTopicsRequest(topics=[state], timeout_ms=1000)


def _add_partitions(_: Asked) -> Any:
    topic = add_partitions_to_txn.AddPartitionsToTxnTopic("t", [0])
    return add_partitions_to_txn.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="x", v3_and_below_topics=[topic]
    )


def _configs(module: Any, kind: int, name: str) -> Callable[[Asked], Any]:
    request = {
        alter_configs: "AlterConfigsRequest",
        incremental_alter_configs: "IncrementalAlterConfigsRequest",
        describe_configs: "DescribeConfigsRequest",
    }[module]
    resource = module.DescribeConfigsResource if module is describe_configs else module.AlterConfigsResource
    options = {} if module is describe_configs else {"validate_only": True}
    return lambda _: getattr(module, request)(resources=[resource(kind, name)], **options)


def _acl() -> Any:
    return create_acls.AclCreation(TOPIC, "made", 3, "User:made", "*", READ, 3)


def _share_fetch(asked: Asked) -> Any:
    wanted = share_fetch.FetchPartition(0)
    topic = share_fetch.FetchTopic(topic_id=asked.topic_id, partitions=[wanted])
    return share_fetch.ShareFetchRequest(
        group_id="g", member_id="member", share_session_epoch=0, topics=[topic], max_bytes=1000, max_records=1
    )


def _share_acknowledge(asked: Asked) -> Any:
    partition = share_acknowledge.AcknowledgePartition(0, [share_acknowledge.AcknowledgementBatch(0, 0, [1])])
    topic = share_acknowledge.AcknowledgeTopic(asked.topic_id, [partition])
    return share_acknowledge.ShareAcknowledgeRequest("g", "acknowledging", 1, topics=[topic])


def _share_offsets(_: Asked) -> Any:
    topic = describe_share_group_offsets.DescribeShareGroupOffsetsRequestTopic("t", [0])
    group = describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup("g", [topic])
    return describe_share_group_offsets.DescribeShareGroupOffsetsRequest([group])


def _alter_share_offsets(_: Asked) -> Any:
    partition = alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(0, 0)
    topic = alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic("t", [partition])
    return alter_share_group_offsets.AlterShareGroupOffsetsRequest("g", [topic])


def _delete_share_offsets(_: Asked) -> Any:
    topic = delete_share_group_offsets.DeleteShareGroupOffsetsRequestTopic("t")
    return delete_share_group_offsets.DeleteShareGroupOffsetsRequest("g", [topic])


def _markers(_: Asked) -> Any:
    topic = write_txn_markers.WritableTxnMarkerTopic("t", [0])
    return write_txn_markers.WriteTxnMarkersRequest([write_txn_markers.WritableTxnMarker(1, 0, True, [topic])])


def _streams(_: Asked) -> Any:
    part = streams_group_heartbeat.Subtopology(subtopology_id="0", source_topics=["t"])
    topology = streams_group_heartbeat.Topology(epoch=0, subtopologies=[part])
    return streams_group_heartbeat.StreamsGroupHeartbeatRequest(
        group_id="g", member_id="member", member_epoch=0, topology=topology
    )


def _reassign(_: Asked) -> Any:
    topic = alter_partition_reassignments.ReassignableTopic(
        "t", [alter_partition_reassignments.ReassignablePartition(0)]
    )
    return alter_partition_reassignments.AlterPartitionReassignmentsRequest(topics=[topic])


ALONE = (
    Case(0, _produce, ((WRITE, TOPIC, T29),)),
    Case(0, lambda asked: _produce(asked, "x"), ((WRITE, TRANSACTION, X53), (WRITE, TOPIC, T29))),
    Case(1, _fetch, ((READ, TOPIC, T29),)),
    Case(
        2,
        lambda _: list_offsets.ListOffsetsRequest(
            replica_id=-1,
            topics=[list_offsets.ListOffsetsTopic("t", [list_offsets.ListOffsetsPartition(timestamp=-1)])],
        ),
        ((DESCRIBE, TOPIC, T29),),
    ),
    Case(3, _metadata, ((DESCRIBE, TOPIC, T29),)),
    Case(8, _offset_commit, ((READ, GROUP, G30), (READ, TOPIC, T29))),
    Case(9, _offset_fetch, ((DESCRIBE, GROUP, G30), (DESCRIBE, TOPIC, T29))),
    Case(10, lambda asked: _find(asked, 0, "g"), ((DESCRIBE, GROUP, G30),)),
    Case(10, lambda asked: _find(asked, 1, "x"), ((DESCRIBE, TRANSACTION, X53),), first=1),
    Case(10, lambda asked: _find(asked, 2, "g:AAAAAAAAAAAAAAAAAAAAAA:0"), ((CLUSTER_ACTION, CLUSTER, C31),), first=6),
    Case(11, lambda _: join_group.JoinGroupRequest(group_id="g"), ((READ, GROUP, G30),)),
    Case(12, lambda _: heartbeat.HeartbeatRequest(group_id="g"), ((READ, GROUP, G30),)),
    Case(
        13,
        lambda _: leave_group.LeaveGroupRequest(group_id="g", members=[leave_group.MemberIdentity("m")]),
        ((READ, GROUP, G30),),
    ),
    Case(
        14,
        lambda _: sync_group.SyncGroupRequest(group_id="g", protocol_type="consumer", protocol_name="range"),
        ((READ, GROUP, G30),),
    ),
    Case(15, lambda _: describe_groups.DescribeGroupsRequest(groups=["g"]), ((DESCRIBE, GROUP, G30),)),
    Case(
        19,
        lambda _: create_topics.CreateTopicsRequest(
            topics=[create_topics.CreatableTopic("t", 1, 1)], validate_only=True, timeout_ms=1000
        ),
        ((CREATE, TOPIC, T29),),
        instead=((CREATE, CLUSTER, T29),),
    ),
    Case(
        21,
        lambda _: delete_records.DeleteRecordsRequest(
            topics=[delete_records.DeleteRecordsTopic("t", [delete_records.DeleteRecordsPartition(0, 0)])]
        ),
        ((DELETE, TOPIC, T29),),
    ),
    Case(
        22,
        lambda _: init_producer_id.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000),
        ((WRITE, TRANSACTION, X53),),
    ),
    Case(
        22,
        lambda _: init_producer_id.InitProducerIdRequest(),
        ((IDEMPOTENT_WRITE, CLUSTER, C31),),
        instead=((WRITE, TOPIC, C31),),
    ),
    Case(
        23,
        lambda _: offset_for_leader_epoch.OffsetForLeaderEpochRequest(
            topics=[
                offset_for_leader_epoch.OffsetForLeaderTopic("t", [offset_for_leader_epoch.OffsetForLeaderPartition()])
            ]
        ),
        ((DESCRIBE, TOPIC, T29),),
        instead=((CLUSTER_ACTION, CLUSTER, T29),),
    ),
    Case(24, _add_partitions, ((WRITE, TRANSACTION, X53), (WRITE, TOPIC, T29)), last=3),
    Case(
        25,
        lambda _: add_offsets_to_txn.AddOffsetsToTxnRequest(transactional_id="x", group_id="g"),
        ((WRITE, TRANSACTION, X53), (READ, GROUP, G30)),
    ),
    Case(26, lambda _: end_txn.EndTxnRequest(transactional_id="x"), ((WRITE, TRANSACTION, X53),)),
    Case(27, _markers, ((CLUSTER_ACTION, CLUSTER, C31),), instead=((ALTER, CLUSTER, C31),)),
    Case(28, _txn_offset_commit, ((WRITE, TRANSACTION, X53), (READ, GROUP, G30), (READ, TOPIC, T29))),
    Case(
        29,
        lambda _: describe_acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1),
        ((DESCRIBE, CLUSTER, C31),),
    ),
    Case(30, lambda _: create_acls.CreateAclsRequest([_acl()]), ((ALTER, CLUSTER, C31),)),
    Case(
        31,
        lambda _: delete_acls.DeleteAclsRequest([delete_acls.DeleteAclsFilter(2, "made", 3, None, None, 1, 1)]),
        ((ALTER, CLUSTER, C31),),
    ),
    Case(32, _configs(describe_configs, 2, "t"), ((DESCRIBE_CONFIGS, TOPIC, T29),)),
    Case(32, _configs(describe_configs, 32, "g"), ((DESCRIBE_CONFIGS, GROUP, G30),)),
    Case(32, _configs(describe_configs, 4, "1"), ((DESCRIBE_CONFIGS, CLUSTER, C31),)),
    Case(33, _configs(alter_configs, 2, "t"), ((ALTER_CONFIGS, TOPIC, T29),)),
    Case(33, _configs(alter_configs, 32, "g"), ((ALTER_CONFIGS, GROUP, G30),)),
    Case(33, _configs(alter_configs, 4, "1"), ((ALTER_CONFIGS, CLUSTER, C31),)),
    Case(44, _configs(incremental_alter_configs, 2, "t"), ((ALTER_CONFIGS, TOPIC, T29),)),
    Case(44, _configs(incremental_alter_configs, 32, "g"), ((ALTER_CONFIGS, GROUP, G30),)),
    Case(44, _configs(incremental_alter_configs, 4, "1"), ((ALTER_CONFIGS, CLUSTER, C31),)),
    Case(35, lambda _: describe_log_dirs.DescribeLogDirsRequest(topics=None), ((DESCRIBE, CLUSTER, C31),), first=3),
    Case(
        37,
        lambda _: create_partitions.CreatePartitionsRequest(
            topics=[create_partitions.CreatePartitionsTopic("t", 1, None)], validate_only=True
        ),
        ((ALTER, TOPIC, T29),),
    ),
    Case(42, lambda _: delete_groups.DeleteGroupsRequest(["g"]), ((DELETE, GROUP, G30),)),
    Case(
        43,
        lambda _: elect_leaders.ElectLeadersRequest(topic_partitions=[elect_leaders.TopicPartitions("t", [0])]),
        ((ALTER, CLUSTER, C31),),
    ),
    Case(45, _reassign, ((ALTER, CLUSTER, C31),)),
    Case(
        46,
        lambda _: list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
        ((DESCRIBE, CLUSTER, C31),),
    ),
    Case(
        47,
        lambda _: offset_delete.OffsetDeleteRequest(
            "g", [offset_delete.OffsetDeleteRequestTopic("t", [offset_delete.OffsetDeleteRequestPartition(0)])]
        ),
        ((DELETE, GROUP, G30), (READ, TOPIC, T29)),
    ),
    Case(
        48,
        lambda _: describe_client_quotas.DescribeClientQuotasRequest(),
        ((DESCRIBE_CONFIGS, CLUSTER, C31),),
    ),
    Case(
        49,
        lambda _: alter_client_quotas.AlterClientQuotasRequest(
            [alter_client_quotas.RequestEntryData([alter_client_quotas.RequestEntityData("user", "u")])], True
        ),
        ((ALTER_CONFIGS, CLUSTER, C31),),
    ),
    Case(
        50,
        lambda _: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(),
        ((DESCRIBE, CLUSTER, C31),),
    ),
    Case(
        51,
        lambda _: alter_user_scram_credentials.AlterUserScramCredentialsRequest(
            [alter_user_scram_credentials.ScramCredentialDeletion("nobody", 1)]
        ),
        ((ALTER, CLUSTER, C31),),
    ),
    Case(
        61,
        lambda _: describe_producers.DescribeProducersRequest([describe_producers.TopicRequest("t", [0])]),
        ((READ, TOPIC, T29),),
    ),
    Case(65, lambda _: describe_transactions.DescribeTransactionsRequest(["x"]), ((DESCRIBE, TRANSACTION, X53),)),
    Case(
        68,
        lambda _: consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            group_id="g", member_id="m", subscribed_topic_names=["t"], rebalance_timeout_ms=1000, topic_partitions=[]
        ),
        ((READ, GROUP, G30), (DESCRIBE, TOPIC, T29)),
    ),
    # The case before has made a member that has the topic.
    Case(
        69,
        lambda _: consumer_group_describe.ConsumerGroupDescribeRequest(["g"]),
        ((DESCRIBE, GROUP, G30), (DESCRIBE, TOPIC, T29)),
    ),
    Case(74, lambda _: list_config_resources.ListConfigResourcesRequest(), ((DESCRIBE_CONFIGS, CLUSTER, C31),)),
    Case(
        75,
        lambda _: describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest("t")]
        ),
        ((DESCRIBE, TOPIC, T29),),
    ),
    Case(
        76,
        lambda _: share_group_heartbeat.ShareGroupHeartbeatRequest(
            group_id="g", member_id="m", subscribed_topic_names=["t"]
        ),
        ((READ, GROUP, G30), (DESCRIBE, TOPIC, T29)),
    ),
    Case(77, lambda _: share_group_describe.ShareGroupDescribeRequest(["g"]), ((DESCRIBE, GROUP, G30),)),
    Case(78, _share_fetch, ((READ, GROUP, G30), (READ, TOPIC, T29))),
    Case(88, _streams, ((READ, GROUP, G30), (DESCRIBE, TOPIC, T29))),
    Case(89, lambda _: streams_group_describe.StreamsGroupDescribeRequest(["g"]), ((DESCRIBE, GROUP, G30),)),
    Case(90, _share_offsets, ((DESCRIBE, GROUP, G30), (DESCRIBE, TOPIC, T29))),
    Case(91, _alter_share_offsets, ((READ, GROUP, G30), (READ, TOPIC, T29))),
    Case(92, _delete_share_offsets, ((DELETE, GROUP, G30), (READ, TOPIC, T29))),
    Case(79, _share_acknowledge, ((READ, GROUP, G30),)),
    # Last: they succeed.
    Case(20, _delete_topics, ((DELETE, TOPIC, T29),)),
)
"""Every API whose denials can be seen in a code."""

SILENT = {
    16: "groups that may not be described are left out",
    66: "transactional ids that may not be described are left out",
    60: "only a bit field depends on rights",
}
FREE = {17, 18, 36}
OF_NODES = {58, 59, 63, 83, 84, 85, 86, 87}
