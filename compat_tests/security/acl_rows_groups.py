"""Rows (see `acl_rows.py`) of groups, of transactions, and of how rules combine."""

from typing import Any

from compat_tests.security.acl_rows import (
    At,
    Body,
    Row,
    commit,
    configs_of,
    member,
    of_row,
    of_topic,
    produce,
    setting,
    share_member,
    transaction,
)

GROUP = 32
WITH_COMMIT = (("offset_commit", 9, commit),)
WITH_MEMBER = (("consumer_group_heartbeat", 1, member),)
WITH_SHARE_MEMBER = (("share_group_heartbeat", 1, share_member),)
ONCE_SHARED = (*WITH_SHARE_MEMBER, ("share_group_heartbeat", 1, lambda at: {**share_member(at), "member_epoch": -1}))


def join(at: At) -> Body:
    protocols = [{"name": "range", "metadata": b"\0" * 10}]
    times = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
    return {"group_id": at.group, "protocol_type": "consumer", "protocols": protocols, **times}


def offsets_asked(at: At) -> Body:
    return {"groups": [{"group_id": at.group, "topics": [{"name": at.topic, "partition_indexes": [0]}]}]}


def transaction_partitions(at: At, *topics: str) -> Body:
    named = [{"name": topic, "partitions": [0]} for topic in topics]
    return {
        "v3_and_below_transactional_id": at.txn,
        "v3_and_below_producer_id": 999,
        "v3_and_below_topics": named,
        "transactions": [{"transactional_id": at.txn, "producer_id": 999, "topics": named}],
    }


def streams_member(at: At) -> Body:
    subtopology = {"subtopology_id": "0", "source_topics": [at.topic]}
    return {
        "group_id": at.group,
        "member_id": "AAAAAAAAAAAAAAAAAAAAAA",
        "rebalance_timeout_ms": 60_000,
        "process_id": "p",
        "task_offsets": None,
        "task_end_offsets": None,
        "topology": {"epoch": 0, "subtopologies": [subtopology]},
    }


def share_asked(at: At, **fields: Any) -> Body:
    topics = [{"topic_id": at.topic_id, "partitions": [{"partition_index": 0}]}]
    found = {
        "group_id": at.group,
        "member_id": "AAAAAAAAAAAAAAAAAAAAAA",
        "topics": topics,
        "max_records": 1,
        "batch_size": 1,
    }
    return {**found, **fields}


GROUPS = (
    Row(
        "find-group",
        "find_coordinator",
        4,
        lambda at: {"key_type": 0, "coordinator_keys": [at.group]},
        "DESCRIBE group",
        "DESCRIBE topic",
    ),
    Row(
        "find-group-old",
        "find_coordinator",
        3,
        lambda at: {"key_type": 0, "key": at.group},
        "READ group",
        "DELETE topic",
    ),
    Row(
        "find-transaction",
        "find_coordinator",
        4,
        lambda at: {"key_type": 1, "coordinator_keys": [at.txn]},
        "DESCRIBE txn",
        "DESCRIBE group",
    ),
    Row(
        "find-share",
        "find_coordinator",
        6,
        lambda at: {"key_type": 2, "coordinator_keys": [f"{at.group}:AAAAAAAAAAAAAAAAAAAAAQ:0"]},
        "CLUSTER_ACTION cluster",
        "DESCRIBE group",
    ),
    Row("join", "join_group", 9, join, "READ group", "DESCRIBE group"),
    Row(
        "sync",
        "sync_group",
        5,
        lambda at: {
            "group_id": at.group,
            "member_id": "m",
            "generation_id": 1,
            "protocol_type": "consumer",
            "protocol_name": "range",
        },
        "READ group",
        "DESCRIBE group",
    ),
    Row(
        "heartbeat",
        "heartbeat",
        4,
        lambda at: {"group_id": at.group, "member_id": "m", "generation_id": 1},
        "READ group",
        "DESCRIBE group",
    ),
    Row(
        "leave",
        "leave_group",
        5,
        lambda at: {"group_id": at.group, "members": [{"member_id": "m"}]},
        "READ group",
        "DESCRIBE group",
    ),
    Row("commit", "offset_commit", 9, commit, "READ group; READ topic", "READ group; DESCRIBE topic"),
    Row("commit-without-group", "offset_commit", 9, commit, "READ group; READ topic", "READ topic; DESCRIBE group"),
    Row(
        "commit-to-no-topic",
        "offset_commit",
        9,
        lambda at: {"group_id": at.group, "topics": [{"name": at.missing, "partitions": [{"committed_offset": 1}]}]},
        "READ group; READ topic=missing*",
        "READ group",
    ),
    Row(
        "commit-by-id",
        "offset_commit",
        10,
        lambda at: {
            "group_id": at.group,
            "topics": [{"topic_id": at.topic_id, "partitions": [{"committed_offset": 1}]}],
        },
        "READ group; READ topic",
        "READ group; DESCRIBE topic",
    ),
    Row("offsets", "offset_fetch", 9, offsets_asked, "DESCRIBE group; DESCRIBE topic", "DESCRIBE group", WITH_COMMIT),
    Row("offsets-without-group", "offset_fetch", 9, offsets_asked, "READ group; READ topic", "READ topic", WITH_COMMIT),
    Row(
        "offsets-old",
        "offset_fetch",
        5,
        lambda at: {"group_id": at.group, "topics": [{"name": at.topic, "partition_indexes": [0]}]},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        WITH_COMMIT,
    ),
    Row(
        "offsets-by-id",
        "offset_fetch",
        10,
        lambda at: {
            "groups": [{"group_id": at.group, "topics": [{"topic_id": at.topic_id, "partition_indexes": [0]}]}]
        },
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        WITH_COMMIT,
    ),
    Row(
        "offsets-of-all",
        "offset_fetch",
        9,
        lambda at: {"groups": [{"group_id": at.group, "topics": None}]},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        WITH_COMMIT,
        shows=lambda answer, _: len(answer.groups[0].topics),
    ),
    Row(
        "describe-group",
        "describe_groups",
        5,
        lambda at: {"groups": [at.group], "include_authorized_operations": True},
        "DESCRIBE group; DELETE group",
        "DESCRIBE topic",
        WITH_COMMIT,
        shows=lambda answer, _: (answer.groups[0].group_state, answer.groups[0].authorized_operations),
    ),
    Row(
        "list-groups",
        "list_groups",
        4,
        lambda at: {},
        "DESCRIBE group",
        "DESCRIBE topic",
        WITH_COMMIT,
        shows=lambda answer, at: of_row([each.group_id for each in answer.groups], at),
    ),
    Row(
        "list-groups-by-cluster",
        "list_groups",
        4,
        lambda at: {},
        "DESCRIBE cluster",
        "DESCRIBE_CONFIGS cluster",
        WITH_COMMIT,
        shows=lambda answer, at: of_row([each.group_id for each in answer.groups], at),
    ),
    Row(
        "delete-group",
        "delete_groups",
        2,
        lambda at: {"groups_names": [at.group]},
        "DELETE group",
        "READ group",
        WITH_COMMIT,
    ),
    Row("delete-no-group", "delete_groups", 2, lambda at: {"groups_names": [at.group]}, "DELETE group", "READ group"),
    Row(
        "delete-offset",
        "offset_delete",
        0,
        lambda at: {"group_id": at.group, "topics": of_topic(at, partition_index=0)},
        "DELETE group; READ topic",
        "DELETE group; DESCRIBE topic",
        WITH_COMMIT,
    ),
    Row(
        "delete-offset-without-group",
        "offset_delete",
        0,
        lambda at: {"group_id": at.group, "topics": of_topic(at, partition_index=0)},
        "DELETE group; READ topic",
        "READ group; READ topic",
        WITH_COMMIT,
    ),
    Row("consumer-heartbeat", "consumer_group_heartbeat", 1, member, "READ group; DESCRIBE topic", "READ group"),
    Row(
        "consumer-heartbeat-without-group",
        "consumer_group_heartbeat",
        1,
        member,
        "READ group; DESCRIBE topic",
        "DESCRIBE group; READ topic",
    ),
    Row(
        "describe-consumer-group",
        "consumer_group_describe",
        1,
        lambda at: {"group_ids": [at.group], "include_authorized_operations": True},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        WITH_MEMBER,
        shows=lambda answer, _: (
            len(answer.groups[0].members),
            answer.groups[0].group_epoch > 0,
            answer.groups[0].authorized_operations,
        ),
    ),
    Row(
        "describe-consumer-group-without-group",
        "consumer_group_describe",
        1,
        lambda at: {"group_ids": [at.group]},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE topic",
        WITH_MEMBER,
    ),
    Row(
        "describe-group-configs",
        "describe_configs",
        4,
        lambda at: configs_of(GROUP, at.group),
        "DESCRIBE_CONFIGS group",
        "DESCRIBE group",
    ),
    Row(
        "alter-group-configs",
        "incremental_alter_configs",
        1,
        lambda at: setting(GROUP, at.group, "consumer.session.timeout.ms", "45000"),
        "ALTER_CONFIGS group",
        "DESCRIBE_CONFIGS group; ALTER group",
    ),
    Row("share-heartbeat", "share_group_heartbeat", 1, share_member, "READ group; DESCRIBE topic", "READ group"),
    Row(
        "share-heartbeat-without-group",
        "share_group_heartbeat",
        1,
        share_member,
        "READ group; DESCRIBE topic",
        "DESCRIBE group; READ topic",
    ),
    Row(
        "describe-share-group",
        "share_group_describe",
        1,
        lambda at: {"group_ids": [at.group], "include_authorized_operations": True},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        WITH_SHARE_MEMBER,
        shows=lambda answer, _: (len(answer.groups[0].members), answer.groups[0].authorized_operations),
    ),
    Row("share-fetch", "share_fetch", 1, share_asked, "READ group; READ topic", "READ group; DESCRIBE topic"),
    Row(
        "share-fetch-without-group",
        "share_fetch",
        1,
        share_asked,
        "READ group; READ topic",
        "DESCRIBE group; READ topic",
    ),
    Row(
        "share-acknowledge",
        "share_acknowledge",
        1,
        lambda at: share_asked(at, share_session_epoch=1),
        "READ group; READ topic",
        "READ group; DESCRIBE topic",
    ),
    Row(
        "share-acknowledge-without-group",
        "share_acknowledge",
        1,
        lambda at: share_asked(at, share_session_epoch=1),
        "READ group; READ topic",
        "DESCRIBE group; READ topic",
    ),
    Row(
        "share-offsets",
        "describe_share_group_offsets",
        0,
        lambda at: {"groups": [{"group_id": at.group, "topics": [{"topic_name": at.topic, "partitions": [0]}]}]},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        WITH_SHARE_MEMBER,
    ),
    Row(
        "share-offsets-without-group",
        "describe_share_group_offsets",
        0,
        lambda at: {"groups": [{"group_id": at.group, "topics": [{"topic_name": at.topic, "partitions": [0]}]}]},
        "READ group; READ topic",
        "READ topic",
        WITH_SHARE_MEMBER,
    ),
    Row(
        "share-offsets-of-all",
        "describe_share_group_offsets",
        0,
        lambda at: {"groups": [{"group_id": at.group, "topics": None}]},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        WITH_SHARE_MEMBER,
        shows=lambda answer, _: len(answer.groups[0].topics),
    ),
    Row(
        "alter-share-offsets",
        "alter_share_group_offsets",
        0,
        lambda at: {"group_id": at.group, "topics": [{"topic_name": at.topic, "partitions": [{"start_offset": 0}]}]},
        "READ group; READ topic",
        "READ group; DESCRIBE topic",
        ONCE_SHARED,
    ),
    Row(
        "alter-share-offsets-without-group",
        "alter_share_group_offsets",
        0,
        lambda at: {"group_id": at.group, "topics": [{"topic_name": at.topic, "partitions": [{"start_offset": 0}]}]},
        "READ group; READ topic",
        "DESCRIBE group; READ topic",
        ONCE_SHARED,
    ),
    Row(
        "delete-share-offsets",
        "delete_share_group_offsets",
        0,
        lambda at: {"group_id": at.group, "topics": [{"topic_name": at.topic}]},
        "DELETE group; READ topic",
        "DELETE group; DESCRIBE topic",
        ONCE_SHARED,
    ),
    Row(
        "delete-share-offsets-without-group",
        "delete_share_group_offsets",
        0,
        lambda at: {"group_id": at.group, "topics": [{"topic_name": at.topic}]},
        "DELETE group; READ topic",
        "READ group; READ topic",
        ONCE_SHARED,
    ),
    Row("streams-heartbeat", "streams_group_heartbeat", 0, streams_member, "READ group; DESCRIBE topic", "READ group"),
    Row(
        "streams-heartbeat-without-group",
        "streams_group_heartbeat",
        0,
        streams_member,
        "READ group; DESCRIBE topic",
        "DESCRIBE group; READ topic",
    ),
    Row(
        "describe-streams-group",
        "streams_group_describe",
        0,
        lambda at: {"group_ids": [at.group]},
        "DESCRIBE group; DESCRIBE topic",
        "DESCRIBE group",
        (("streams_group_heartbeat", 0, streams_member),),
        shows=lambda answer, _: len(answer.groups[0].members),
    ),
)

TRANSACTIONS = (
    Row(
        "producer-id",
        "init_producer_id",
        4,
        lambda at: {"transactional_id": None},
        "IDEMPOTENT_WRITE cluster",
        "READ topic; DESCRIBE cluster",
    ),
    Row(
        "producer-id-by-topic",
        "init_producer_id",
        4,
        lambda at: {"transactional_id": None},
        "WRITE topic",
        "READ topic",
    ),
    Row(
        "producer-id-by-prefix",
        "init_producer_id",
        4,
        lambda at: {"transactional_id": None},
        "WRITE topic=some*",
        "!WRITE topic=*; WRITE topic",
    ),
    Row(
        "producer-id-in-transaction",
        "init_producer_id",
        4,
        lambda at: {"transactional_id": at.txn, "transaction_timeout_ms": 10_000},
        "WRITE txn",
        "DESCRIBE txn; IDEMPOTENT_WRITE cluster",
    ),
    Row(
        "add-partitions",
        "add_partitions_to_txn",
        3,
        lambda at: transaction_partitions(at, at.topic, at.second),
        "WRITE txn; WRITE topic; WRITE topic=second",
        "WRITE txn; WRITE topic",
    ),
    Row(
        "add-partitions-without-id",
        "add_partitions_to_txn",
        3,
        lambda at: transaction_partitions(at, at.topic),
        "WRITE txn; WRITE topic",
        "DESCRIBE txn; WRITE topic",
    ),
    Row(
        "add-partitions-as-broker",
        "add_partitions_to_txn",
        4,
        lambda at: transaction_partitions(at, at.topic),
        "CLUSTER_ACTION cluster",
        "WRITE txn; WRITE topic",
    ),
    Row(
        "add-offsets",
        "add_offsets_to_txn",
        3,
        lambda at: transaction(at, group_id=at.group),
        "WRITE txn; READ group",
        "WRITE txn; DESCRIBE group",
    ),
    Row(
        "add-offsets-without-id",
        "add_offsets_to_txn",
        3,
        lambda at: transaction(at, group_id=at.group),
        "WRITE txn; READ group",
        "DESCRIBE txn; READ group",
    ),
    Row("end", "end_txn", 4, lambda at: transaction(at, committed=True), "WRITE txn", "DESCRIBE txn"),
    Row(
        "commit-in-transaction",
        "txn_offset_commit",
        4,
        lambda at: {**transaction(at), **commit(at)},
        "WRITE txn; READ group; READ topic",
        "WRITE txn; READ group; DESCRIBE topic",
    ),
    Row(
        "commit-in-transaction-without-group",
        "txn_offset_commit",
        4,
        lambda at: {**transaction(at), **commit(at)},
        "WRITE txn; READ group; READ topic",
        "WRITE txn; DESCRIBE group; READ topic",
    ),
    Row(
        "commit-in-transaction-without-id",
        "txn_offset_commit",
        4,
        lambda at: {**transaction(at), **commit(at)},
        "WRITE txn; READ group; READ topic",
        "DESCRIBE txn; READ group; READ topic",
    ),
    Row(
        "describe-transaction",
        "describe_transactions",
        0,
        lambda at: {"transactional_ids": [at.txn]},
        "DESCRIBE txn",
        "DESCRIBE group",
        (("init_producer_id", 4, lambda at: {"transactional_id": at.txn, "transaction_timeout_ms": 10_000}),),
    ),
    Row(
        "describe-no-transaction",
        "describe_transactions",
        0,
        lambda at: {"transactional_ids": [at.txn]},
        "DESCRIBE txn",
        "DESCRIBE group",
    ),
    Row(
        "list-transactions",
        "list_transactions",
        0,
        lambda at: {},
        "DESCRIBE txn",
        "DESCRIBE cluster",
        (("init_producer_id", 4, lambda at: {"transactional_id": at.txn, "transaction_timeout_ms": 10_000}),),
        shows=lambda answer, at: of_row([each.transactional_id for each in answer.transaction_states], at),
    ),
)


def list_offsets(at: At) -> Body:
    return {"replica_id": -1, "topics": of_topic(at, timestamp=-1)}


RULES = (
    Row("any-operation", "produce", 9, produce, "ALL topic", "ALL group; ALL txn"),
    Row("prefix", "produce", 9, produce, "WRITE topic=top*", "WRITE topic=topi"),
    Row("wildcard", "produce", 9, produce, "WRITE topic=*", "WRITE topic=second"),
    Row("deny-wins", "produce", 9, produce, "WRITE topic=*; !READ topic", "WRITE topic; !WRITE topic"),
    Row("deny-by-wildcard", "produce", 9, produce, "WRITE topic; !WRITE topic=second", "WRITE topic; !WRITE topic=*"),
    Row("deny-by-prefix", "produce", 9, produce, "WRITE topic; !WRITE topic=x*", "WRITE topic; !ALL topic=t*"),
    Row("everyone", "find_coordinator", 3, lambda at: {"key": at.group}, "~DESCRIBE group"),
    Row("deny-everyone", "produce", 9, produce, "WRITE topic; !~WRITE topic", "WRITE topic"),
    Row("by-host", "produce", 9, produce, "WRITE topic@127.0.0.1", "WRITE topic@10.1.2.3"),
    Row(
        "deny-by-host",
        "produce",
        9,
        produce,
        "WRITE topic; !WRITE topic@10.1.2.3",
        "WRITE topic; !WRITE topic@127.0.0.1",
    ),
    Row(
        "read-implies-describe",
        "list_offsets",
        7,
        list_offsets,
        "READ topic; !WRITE topic",
        "READ topic; !DESCRIBE topic",
    ),
    Row(
        "write-implies-describe", "list_offsets", 7, list_offsets, "WRITE topic; !READ topic", "WRITE topic; !ALL topic"
    ),
    Row("delete-implies-describe", "list_offsets", 7, list_offsets, "DELETE topic", "CREATE topic"),
    Row("alter-implies-describe", "list_offsets", 7, list_offsets, "ALTER topic", "ALTER_CONFIGS topic"),
)
