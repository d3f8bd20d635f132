"""Which fields of Kafka's messages name things, and so belong to a namespace.

Every field that holds text, bytes or a uuid is one of these kinds; one that is not listed here cannot be read or
written for a tenant, and a test says which API brought it. A field is found by its struct and name, or by its name
alone where that means the same in every message.
"""

from enum import Enum

from wire.kafka.codec.schema import FieldSchema, StructSchema


class Kind(Enum):
    """What a field holds; the value is the method of `TenantView` that reads or writes it, if one does."""

    PLAIN = ""
    """Nothing that has a namespace."""
    NAME = "name"
    """A topic, a group or a transactional id."""
    TOPIC_ID = "topic_id"
    PATTERN = "pattern"
    """A regular expression (RE2) over names, which must match them as a whole."""
    REASON = "reason"
    """Words for people, in which names may stand."""
    SUBSCRIPTION = "subscription"
    """What a consumer of a classic group tells its leader."""
    ASSIGNMENT = "assignment"
    """What the leader tells it."""
    IN_STRUCT = "in_struct"
    """It depends on its neighbours: the struct is translated as a whole (`STRUCTS_READ`, `STRUCTS_WRITTEN`)."""


class Uncovered(Exception):
    """A field of which nobody has said what it holds."""


STRUCTS_READ = {
    "AlterConfigsResource": "resource_read",
    "DescribeConfigsResource": "resource_read",
    "CreatableTopicConfig": "config_read",
    "AlterableConfig": "config_read",
}
"""Structs of requests, and the method of `TenantView` that each goes through."""

STRUCTS_WRITTEN = {
    "AlterConfigsResourceResponse": "resource_written",
    "DescribeConfigsResult": "resource_written",
    "ConfigResource": "resource_written",
    "CreatableTopicConfigs": "config_written",
    "DescribeConfigsResourceResult": "config_written",
    "DescribeConfigsSynonym": "config_written",
}
"""The same for structs of responses."""

STRUCTS_CHOSEN = {"ApiVersion": "offers", "ConfigResource": "shows_resource"}
"""Structs in lists of which a tenant is told some only, and who chooses them."""

_BY_NAME: dict[str, Kind] = {
    **dict.fromkeys(
        (
            "coordinator_keys",
            "group_id",
            "group_ids",
            "groups",
            "groups_names",
            "repartition_sink_topics",
            "source_topics",
            "subscribed_topic_names",
            "topic",
            "topic_name",
            "topic_names",
            "transactional_id",
            "transactional_ids",
            "v3_and_below_transactional_id",
        ),
        Kind.NAME,
    ),
    "topic_id": Kind.TOPIC_ID,
    **dict.fromkeys(("subscribed_topic_regex", "source_topic_regex", "transactional_id_pattern"), Kind.PATTERN),
    **dict.fromkeys(
        ("acknowledge_error_message", "batch_index_error_message", "error_message", "status_detail"), Kind.REASON
    ),
    "member_metadata": Kind.SUBSCRIPTION,
    **dict.fromkeys(("assignment", "member_assignment"), Kind.ASSIGNMENT),
    "resource_name": Kind.IN_STRUCT,
    **dict.fromkeys(
        (
            "assignor_name",
            "auth_bytes",
            "client_host",
            "client_id",
            "client_software_name",
            "client_software_version",
            "cluster_id",
            "committed_metadata",
            "configuration_keys",
            "documentation",
            "group_instance_id",
            "group_state",
            "group_type",
            "host",
            "host_filter",
            "instance_id",
            "leader",
            "mechanism",
            "mechanisms",
            "member_id",
            "principal",
            "principal_filter",
            "process_id",
            "protocol_data",
            "protocol_name",
            "protocol_type",
            "rack",
            "rack_id",
            "reason",
            "replica_directory_id",
            "resource_name_filter",
            "server_assignor",
            "state_filters",
            "states_filter",
            "subtopology_id",
            "transaction_state",
            "types_filter",
            "unknown_state_filters",
        ),
        Kind.PLAIN,
    ),
}

_NAMED_STRUCTS = (
    "AddPartitionsToTxnTopic",
    "AddPartitionsToTxnTopicResult",
    "CreatableTopic",
    "CreatableTopicResult",
    "CreatePartitionsTopic",
    "CreatePartitionsTopicResult",
    "DeletableTopicResult",
    "DeleteRecordsTopic",
    "DeleteRecordsTopicResult",
    "DeleteTopicState",
    "DescribeTopicPartitionsResponseTopic",
    "ListOffsetsTopic",
    "ListOffsetsTopicResponse",
    "ListPartitionReassignmentsTopics",
    "MetadataRequestTopic",
    "MetadataResponseTopic",
    "OffsetCommitRequestTopic",
    "OffsetCommitResponseTopic",
    "OffsetDeleteRequestTopic",
    "OffsetDeleteResponseTopic",
    "OffsetFetchRequestTopic",
    "OffsetFetchRequestTopics",
    "OffsetFetchResponseTopic",
    "OffsetFetchResponseTopics",
    "OngoingTopicReassignment",
    "TopicInfo",
    "TopicProduceData",
    "TopicProduceResponse",
    "TopicRequest",
    "TopicResponse",
    "TxnOffsetCommitRequestTopic",
    "TxnOffsetCommitResponseTopic",
)

_CONFIG_STRUCTS = (
    "AlterableConfig",
    "CreatableTopicConfig",
    "CreatableTopicConfigs",
    "DescribeConfigsResourceResult",
    "DescribeConfigsSynonym",
)

_RULE_STRUCTS = ("AclCreation", "DeleteAclsMatchingAcl", "DescribeAclsResource")

_BY_STRUCT: dict[tuple[str, str], Kind] = {
    **{(struct, "name"): Kind.NAME for struct in _NAMED_STRUCTS},
    **{(struct, "name"): Kind.PLAIN for struct in _CONFIG_STRUCTS},
    **{(struct, "value"): Kind.IN_STRUCT for struct in _CONFIG_STRUCTS},
    # What rules name is translated with the rule (`coordinators/tenants/rules.py`): it depends on how it is named.
    **{(struct, "resource_name"): Kind.PLAIN for struct in _RULE_STRUCTS},
    ("FinalizedFeatureKey", "name"): Kind.PLAIN,
    ("SupportedFeatureKey", "name"): Kind.PLAIN,
    ("JoinGroupRequestProtocol", "name"): Kind.PLAIN,
    # A key of whichever type begins with a group or is a transactional id.
    ("FindCoordinatorRequest", "key"): Kind.NAME,
    ("Coordinator", "key"): Kind.NAME,
    # Configs of topics that the broker makes for streams groups, and what instances tell each other.
    ("KeyValue", "key"): Kind.PLAIN,
    ("KeyValue", "value"): Kind.PLAIN,
    ("JoinGroupRequestProtocol", "metadata"): Kind.SUBSCRIPTION,
    ("JoinGroupResponseMember", "metadata"): Kind.SUBSCRIPTION,
    ("OffsetFetchResponsePartition", "metadata"): Kind.PLAIN,
    ("OffsetFetchResponsePartitions", "metadata"): Kind.PLAIN,
}

_TYPES = ("string", "bytes", "uuid")


def kind_of(struct: StructSchema, field: FieldSchema) -> Kind:
    """What a field of a struct holds; `Uncovered` if nobody has said."""
    if field.struct is not None or field.type not in _TYPES:
        return Kind.PLAIN
    kind = _BY_STRUCT.get((struct.name, field.name)) or _BY_NAME.get(field.name)
    if kind is None:
        raise Uncovered(
            f"{struct.name}.{field.name} is {field.type}, and wire/kafka/tenancy/fields.py does not say whether a "
            "tenant's names stand in it"
        )
    return kind


_OFFERED_RANGES = (
    *((0, 3), (8, 26), (28, 33), (36, 37), (42, 42), (44, 44), (46, 47), (60, 61)),
    *((65, 66), (68, 69), (74, 79), (88, 92)),
)
OFFERED = frozenset(number for first, last in _OFFERED_RANGES for number in range(first, last + 1))
"""The APIs that a tenant has, by their keys."""

WITHHELD = {
    27: "nodes tell each other how transactions ended",
    35: "disks are all tenants'",
    43: "who leads is the operator's affair",
    45: "where partitions lie is the operator's affair",
    48: "quotas are the operator's",
    49: "quotas are the operator's",
    50: "users are the operator's",
    51: "users are the operator's",
    58: "nodes alone carry requests to each other",
    59: "nodes alone fetch snapshots",
    63: "nodes alone tell each other of their lives",
    83: "nodes alone ask for the states of share groups",
    84: "nodes alone ask for the states of share groups",
    85: "nodes alone ask for the states of share groups",
    86: "nodes alone ask for the states of share groups",
    87: "nodes alone ask for the states of share groups",
}
"""Those that it has not, and why: they are not advertised to it."""
REFUSED = frozenset((35, 43, 45, 48, 49, 50, 51))
"""Of these, what clients of operators ask. Who asked which APIs there are before it logged in was told of them, so it
is answered that they are not for it; a request of any other ends its connection."""
