"""What is asked of a broker that has rules: a row for each API and each way to be refused.

A row sends one request three times: as somebody without any right, as somebody with rights that come near, and as
somebody with those that it takes. Rights are written `WRITE topic`, after whose kind may follow `=NAME` (a `*` at the
end of a name makes it a prefix, alone it is the wildcard) and `@HOST`; `!` before it denies, `~` is said of everybody.
Without a name the row's own topic, group or transactional id is meant. What a broker must answer stands in
`acl_answers.py`.
"""

from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from compat_tests.wire.batches import build

Body = dict[str, Any]
ZERO = bytes(16)
NO_SUCH_ID = b"\7" * 16


@frozen
class At:
    """The names of a row."""

    name: str
    topic_id: bytes = ZERO
    second_id: bytes = ZERO

    @property
    def topic(self) -> str:
        return f"{self.name}-topic"

    @property
    def second(self) -> str:
        """Another topic, to which nobody has a right but by a wildcard."""
        return f"{self.name}-second"

    @property
    def missing(self) -> str:
        """A topic that there is not."""
        return f"{self.name}-missing"

    @property
    def group(self) -> str:
        return f"{self.name}-group"

    @property
    def txn(self) -> str:
        return f"{self.name}-txn"


@frozen
class Row:
    """See the module."""

    name: str
    api: str
    version: int
    body: Callable[[At], Body]
    right: str
    near: str = ""
    prepare: tuple[tuple[str, int, Callable[[At], Body]], ...] = field(default=())
    """Requests that are sent beforehand, as the super user."""
    shows: Callable[[Any, At], object] | None = None
    """What is looked at in the answer besides its error codes."""


def of_topic(at: At, **fields: Any) -> list[Body]:
    return [{"name": at.topic, "partitions": [fields]}]


def commit(at: At) -> Body:
    return {"group_id": at.group, "topics": [{"name": at.topic, "partitions": [{"committed_offset": 1}]}]}


def member(at: At) -> Body:
    return {
        "group_id": at.group,
        "member_id": "AAAAAAAAAAAAAAAAAAAAAA",
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": [at.topic],
    }


def share_member(at: At) -> Body:
    return {"group_id": at.group, "member_id": "AAAAAAAAAAAAAAAAAAAAAA", "subscribed_topic_names": [at.topic]}


def produce(at: At, **fields: Any) -> Body:
    data = {"partition_data": [{"records": build([b"x"])}], "name": at.topic, "topic_id": at.topic_id, **fields}
    return {"acks": -1, "timeout_ms": 5_000, "topic_data": [data]}


def transactional(at: At) -> Body:
    batch = build([b"x"], producer_id=999, producer_epoch=0, sequence=0, transactional=True)
    return {**produce(at, partition_data=[{"records": batch}]), "transactional_id": at.txn}


def fetch(at: At, **fields: Any) -> Body:
    topic = {
        "topic": at.topic,
        "topic_id": at.topic_id,
        "partitions": [{"partition_max_bytes": 1_000}],
        **fields.pop("on", {}),
    }
    return {"max_wait_ms": 0, "topics": [topic], **fields}


def configs_of(kind: int, name: str) -> Body:
    return {"resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": []}]}


def setting(kind: int, name: str, key: str, value: str) -> Body:
    configs = [{"name": key, "value": value, "config_operation": 0}]
    return {"resources": [{"resource_type": kind, "resource_name": name, "configs": configs}], "validate_only": True}


def metadata(*topics: Body, **fields: Any) -> Body:
    return {"topics": list(topics), "allow_auto_topic_creation": False, **fields}


def topics_told(answer: Any, at: At) -> object:
    """The topics of an answer to Metadata: the name, whether an id is told, and how many partitions."""
    return tuple((short(each.name, at), any(each.topic_id), len(each.partitions)) for each in answer.topics)


def short(text: str | None, at: At) -> str | None:
    return None if text is None else text.replace(at.name + "-", "")


def of_row(names: list[str], at: At) -> object:
    return tuple(sorted(short(name, at) or "" for name in names if name.startswith(at.name)))


def transaction(at: At, **fields: Any) -> Body:
    return {"transactional_id": at.txn, "producer_id": 999, "producer_epoch": 0, **fields}


def share_state(at: At, **fields: Any) -> Body:
    return {"group_id": at.group, "topics": [{"topic_id": at.topic_id, "partitions": [{"partition": 0, **fields}]}]}


def rule_filter(**fields: Any) -> Body:
    return {
        "resource_type_filter": 2,
        "resource_name_filter": "nothing",
        "pattern_type_filter": 3,
        "operation": 1,
        "permission_type": 1,
        **fields,
    }


def rule(**fields: Any) -> Body:
    """A rule about a topic that nobody has; `fields` say what is wrong with it."""
    names = {"resource_type": 2, "resource_name": "nothing", "principal": "User:nobody", "host": "*"}
    return {**names, "operation": 3, "permission_type": 3, **fields}


def upsertion(name: str, **fields: Any) -> Body:
    given = {"mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"p" * 32}
    return {"name": name, **given, **fields}


RECORDS = (
    Row("produce", "produce", 9, produce, "WRITE topic", "READ topic"),
    Row("produce-by-id", "produce", 13, produce, "WRITE topic", "READ topic"),
    Row("produce-to-no-topic", "produce", 9, lambda at: produce(at, name=at.missing), "WRITE topic", "READ topic"),
    Row("produce-to-no-id", "produce", 13, lambda at: produce(at, topic_id=NO_SUCH_ID), "WRITE topic", "READ topic"),
    Row("produce-in-transaction", "produce", 9, transactional, "WRITE topic; WRITE txn", "WRITE topic"),
    Row("produce-in-transaction-without-topic", "produce", 9, transactional, "WRITE topic; WRITE txn", "WRITE txn"),
    Row("fetch", "fetch", 12, fetch, "READ topic", "DESCRIBE topic; WRITE topic"),
    Row("fetch-by-id", "fetch", 16, fetch, "READ topic", "DESCRIBE topic; WRITE topic"),
    Row("fetch-from-no-topic", "fetch", 12, lambda at: fetch(at, on={"topic": at.missing}), "READ topic"),
    Row("fetch-from-no-id", "fetch", 16, lambda at: fetch(at, on={"topic_id": NO_SUCH_ID}), "READ topic"),
    Row("fetch-as-replica", "fetch", 12, lambda at: fetch(at, replica_id=1), "CLUSTER_ACTION cluster", "READ topic"),
    Row(
        "fetch-as-replica-state",
        "fetch",
        16,
        lambda at: fetch(at, replica_state={"replica_id": 1, "replica_epoch": 1}),
        "CLUSTER_ACTION cluster",
        "READ topic",
    ),
    Row(
        "list-offsets",
        "list_offsets",
        7,
        lambda at: {"replica_id": -1, "topics": of_topic(at, timestamp=-1)},
        "DESCRIBE topic",
        "DESCRIBE_CONFIGS topic; CREATE topic",
    ),
    Row(
        "list-offsets-as-replica",
        "list_offsets",
        7,
        lambda at: {"replica_id": 1, "topics": of_topic(at, timestamp=-1)},
        "CLUSTER_ACTION cluster; DESCRIBE topic",
        "DESCRIBE topic",
    ),
    Row(
        "list-offsets-of-no-topic",
        "list_offsets",
        7,
        lambda at: {"replica_id": -1, "topics": [{"name": at.missing, "partitions": [{"timestamp": -1}]}]},
        "DESCRIBE topic=missing*",
        "DESCRIBE topic",
    ),
    Row(
        "leader-epoch",
        "offset_for_leader_epoch",
        4,
        lambda at: {"replica_id": -1, "topics": [{"topic": at.topic, "partitions": [{"leader_epoch": 0}]}]},
        "DESCRIBE topic",
        "DESCRIBE_CONFIGS topic",
    ),
    Row(
        "leader-epoch-as-replica",
        "offset_for_leader_epoch",
        4,
        lambda at: {"replica_id": 1, "topics": [{"topic": at.topic, "partitions": [{"leader_epoch": 0}]}]},
        "CLUSTER_ACTION cluster",
        "DESCRIBE topic",
    ),
    Row(
        "describe-producers",
        "describe_producers",
        0,
        lambda at: {"topics": [{"name": at.topic, "partition_indexes": [0]}]},
        "READ topic",
        "DESCRIBE topic; WRITE topic",
    ),
    Row(
        "delete-records",
        "delete_records",
        2,
        lambda at: {"timeout_ms": 5_000, "topics": of_topic(at, offset=0)},
        "DELETE topic",
        "WRITE topic; ALTER topic",
    ),
    Row(
        "delete-records-of-no-topic",
        "delete_records",
        2,
        lambda at: {"timeout_ms": 5_000, "topics": [{"name": at.missing, "partitions": [{"offset": 0}]}]},
        "DELETE topic=missing*",
        "DESCRIBE topic=missing*",
    ),
)
