"""What the page of errors says that no code can: what to do about each, and what the doors' own codes mean."""

from typing import Final

from attrs import frozen

from wire.grpc.status import Status
from wire.kafka.errors import ErrorCode

E = ErrorCode


@frozen
class Advice:
    """`retried`: whether Kafka's clients try again by themselves. `when` is for codes that no class of errors has."""

    todo: str
    retried: bool = False
    when: str = ""


def _again(todo: str, when: str = "") -> Advice:
    return Advice(todo, retried=True, when=when)


_NOTHING = "Nothing: clients ask for metadata and go on with the right node."
_COORDINATOR = "Nothing, unless it lasts: then look whether the partition of the internal topic has a leader."
_RIGHT = "Give the principal the right; `tidegate acl why` tells which rule, or the lack of which, decided."
_REJOIN = "Nothing: the client joins its group again. If it happens often, see [the "
"runbook](../operations/runbook.md#tidegategrouprebalancesagainandagain)."
_FENCED = "Two producers run under one transactional id, or one outlived its successor: end one of them."
_VALUE = "Correct the request; the message names what cannot be."

ADVICE: Final[dict[ErrorCode, Advice]] = {
    E.UNKNOWN_SERVER_ERROR: Advice(
        "Look into the broker's log: there is a traceback. It is a bug; report it.",
        when="A bug of the broker, or an error that Kafka has no code for.",
    ),
    E.NONE: Advice("Nothing.", when="No error."),
    E.OFFSET_OUT_OF_RANGE: Advice(
        "Consumers follow `auto.offset.reset`. If records went before they were read, keep them for longer: "
        "`retention.ms`."
    ),
    E.CORRUPT_MESSAGE: _again(
        "While producing: look at the network and the client's memory. While consuming: see "
        "[damage](../operations/damage.md)."
    ),
    E.UNKNOWN_TOPIC_OR_PARTITION: _again("Create the topic, or correct its name. Rules may hide a topic that exists."),
    E.LEADER_NOT_AVAILABLE: _again(
        "Nothing, unless it lasts: then see [the runbook](../operations/runbook.md#tidegatepartitionsleaderless).",
        when="The partition has no leader, or the topic is just being made.",
    ),
    E.NOT_LEADER_OR_FOLLOWER: _again(_NOTHING),
    E.REQUEST_TIMED_OUT: _again(
        "It may have been done: idempotent producers try again without duplicates. Often the disk or a follower "
        "is slow."
    ),
    E.MESSAGE_TOO_LARGE: Advice("Send smaller batches, or raise `max.message.bytes` of the topic."),
    E.OFFSET_METADATA_TOO_LARGE: Advice("Commit less text, or raise `offset.metadata.max.bytes`."),
    E.COORDINATOR_LOAD_IN_PROGRESS: _again(_COORDINATOR),
    E.COORDINATOR_NOT_AVAILABLE: _again(_COORDINATOR),
    E.NOT_COORDINATOR: _again("Nothing: clients look for the coordinator again."),
    E.INVALID_TOPIC_EXCEPTION: Advice(
        "Topic names have up to 249 letters, digits, `.`, `_` and `-`; the broker's own topics are not for clients."
    ),
    E.RECORD_LIST_TOO_LARGE: Advice("Send smaller batches, or have larger segments: `segment.bytes`."),
    E.NOT_ENOUGH_REPLICAS: _again(
        "Start the missing nodes: the partition has fewer replicas in sync than `min.insync.replicas`."
    ),
    E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _again(
        "As with NOT_ENOUGH_REPLICAS; the records are in the leader's log and may yet be acknowledged by a repeat."
    ),
    E.INVALID_REQUIRED_ACKS: Advice("Set `acks` to 0, 1 or all."),
    E.ILLEGAL_GENERATION: Advice(_REJOIN),
    E.INCONSISTENT_GROUP_PROTOCOL: Advice(
        "Give all members of the group an assignor in common; a name belongs to one kind of group at a time."
    ),
    E.INVALID_GROUP_ID: Advice("Set `group.id`."),
    E.UNKNOWN_MEMBER_ID: Advice(_REJOIN),
    E.INVALID_SESSION_TIMEOUT: Advice(
        "Choose a timeout between `group.min.session.timeout.ms` and `group.max.session.timeout.ms`."
    ),
    E.REBALANCE_IN_PROGRESS: Advice(_REJOIN),
    E.TOPIC_AUTHORIZATION_FAILED: Advice(_RIGHT),
    E.GROUP_AUTHORIZATION_FAILED: Advice(_RIGHT),
    E.CLUSTER_AUTHORIZATION_FAILED: Advice(_RIGHT),
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Advice(_RIGHT),
    E.INVALID_TIMESTAMP: Advice(
        "Correct the producer's clock, or widen `message.timestamp.before.max.ms` and `message.timestamp.after.max.ms`."
    ),
    E.UNSUPPORTED_SASL_MECHANISM: Advice("Use a mechanism of `sasl.enabled.mechanisms` of that listener."),
    E.ILLEGAL_SASL_STATE: Advice("Set the client's `security.protocol` to that of the listener which it comes by."),
    E.UNSUPPORTED_VERSION: Advice(
        "Use a newer client, or a feature that this broker serves: see [the APIs](kafka.md)."
    ),
    E.TOPIC_ALREADY_EXISTS: Advice("Use the topic that there is, or another name."),
    E.INVALID_PARTITIONS: Advice("Ask for one partition or more; partitions can be added, not taken away."),
    E.INVALID_REPLICATION_FACTOR: Advice("Ask for no more replicas than there are nodes."),
    E.INVALID_REPLICA_ASSIGNMENT: Advice("Name nodes that exist, each once, and as many for every partition."),
    E.INVALID_CONFIG: Advice("Correct the key or its value; the message says what would be right."),
    E.INVALID_REQUEST: Advice(_VALUE),
    E.POLICY_VIOLATION: Advice("Keep to the bound that the message names, or raise it."),
    E.OUT_OF_ORDER_SEQUENCE_NUMBER: Advice(
        "Idempotent producers recover; a transactional one aborts its transaction and begins another."
    ),
    E.DUPLICATE_SEQUENCE_NUMBER: Advice(
        "Nothing: clients are told OUT_OF_ORDER_SEQUENCE_NUMBER instead.",
        when="Told between nodes alone: a batch is older than those that are remembered.",
    ),
    E.INVALID_PRODUCER_EPOCH: Advice(_FENCED),
    E.INVALID_TXN_STATE: Advice("Abort the transaction; call the producer's methods in their order."),
    E.INVALID_PRODUCER_ID_MAPPING: Advice("Make the producer anew; its transactional id may have been forgotten."),
    E.INVALID_TRANSACTION_TIMEOUT: Advice("Choose a timeout above 0, up to `transaction.max.timeout.ms`."),
    E.CONCURRENT_TRANSACTIONS: _again("Nothing: the transaction before is being completed."),
    E.TRANSACTION_COORDINATOR_FENCED: Advice("Nothing: only nodes are told so."),
    E.SECURITY_DISABLED: Advice("Set `authorizer.enable=true`, if there are to be rules."),
    E.OPERATION_NOT_ATTEMPTED: Advice("Look at the other errors of the same answer."),
    E.KAFKA_STORAGE_ERROR: _again(
        "Look at the broker's log and its disk: it is full or broken. See [the "
        "runbook](../operations/runbook.md#tidegatepartitionsoffline)."
    ),
    E.SASL_AUTHENTICATION_FAILED: Advice(
        "Correct name, password or token. The broker's log says more than the client."
    ),
    E.UNKNOWN_PRODUCER_ID: Advice("Nothing: clients begin a new identity. Abort the transaction, if one is open."),
    E.NON_EMPTY_GROUP: Advice("Stop the group's members first."),
    E.GROUP_ID_NOT_FOUND: Advice("Correct the group's name; it may be a group of another kind."),
    E.FETCH_SESSION_ID_NOT_FOUND: _again("Nothing: the client makes a new session."),
    E.INVALID_FETCH_SESSION_EPOCH: _again("Nothing: the client makes a new session."),
    E.FETCH_SESSION_TOPIC_ID_ERROR: _again("Nothing: the client makes a new session."),
    E.LISTENER_NOT_FOUND: _again(
        "Give every node a listener of that name: `listeners`.",
        when="The partition's leader has no listener of the name by which the client came.",
    ),
    E.TOPIC_DELETION_DISABLED: Advice(
        "Set `delete.topic.enable=true`.", when="Topics may not be deleted (`delete.topic.enable=false`)."
    ),
    E.FENCED_LEADER_EPOCH: _again(_NOTHING),
    E.UNKNOWN_LEADER_EPOCH: _again("Nothing: the client is ahead of this node, and tries again."),
    E.UNSUPPORTED_COMPRESSION_TYPE: Advice("Use a newer client for zstd, or another codec."),
    E.STALE_BROKER_EPOCH: Advice("Nothing: only nodes are told so, and register anew."),
    E.OFFSET_NOT_AVAILABLE: _again("Nothing: a new leader soon knows how far its predecessor had come."),
    E.MEMBER_ID_REQUIRED: Advice("Nothing: the client joins again with the id that it was given."),
    E.PREFERRED_LEADER_NOT_AVAILABLE: _again("Start the node that is the first replica, or wait until it is in sync."),
    E.GROUP_MAX_SIZE_REACHED: Advice("Have fewer members, or raise `group.max.size` (or that of the kind of group)."),
    E.FENCED_INSTANCE_ID: Advice("Two members use one `group.instance.id`: give each its own."),
    E.ELIGIBLE_LEADERS_NOT_AVAILABLE: _again(
        "Start the nodes that have everything; see [the "
        "runbook](../operations/runbook.md#tidegatepartitionsleaderless)."
    ),
    E.ELECTION_NOT_NEEDED: Advice("Nothing."),
    E.NO_REASSIGNMENT_IN_PROGRESS: Advice("Nothing."),
    E.GROUP_SUBSCRIBED_TO_TOPIC: Advice("Stop the members that read the topic first."),
    E.INVALID_RECORD: Advice(
        "Correct the records that are named: a `tide-` header, a missing key in a compacted topic, or a schema."
    ),
    E.UNSTABLE_OFFSET_COMMIT: _again("Nothing: a transaction that commits the offset is open."),
    E.THROTTLING_QUOTA_EXCEEDED: _again("Ask less often, or raise the quota: `tidegate quota`."),
    E.PRODUCER_FENCED: Advice(_FENCED),
    E.RESOURCE_NOT_FOUND: Advice("Correct the name."),
    E.DUPLICATE_RESOURCE: Advice("Name each once."),
    E.UNACCEPTABLE_CREDENTIAL: Advice("Choose a name that is not empty, and 4096 to 16384 iterations."),
    E.SNAPSHOT_NOT_FOUND: Advice("Nothing: only nodes are told so."),
    E.POSITION_OUT_OF_RANGE: Advice("Nothing: only nodes are told so."),
    E.UNKNOWN_TOPIC_ID: _again(
        "Nothing: the topic was deleted, or made again under its name; clients ask for metadata."
    ),
    E.DUPLICATE_BROKER_REGISTRATION: Advice("Two nodes have one `node.id`: give each its own."),
    E.TRANSACTIONAL_ID_NOT_FOUND: Advice("Correct the id; it may have been forgotten after a time without use."),
    E.INELIGIBLE_REPLICA: Advice("Nothing: only nodes are told so."),
    E.FENCED_MEMBER_EPOCH: Advice(_REJOIN),
    E.UNRELEASED_INSTANCE_ID: Advice("End the other process with this `group.instance.id`, or wait for its session."),
    E.UNSUPPORTED_ASSIGNOR: Advice("Set `group.remote.assignor` to one of `group.consumer.assignors`."),
    E.STALE_MEMBER_EPOCH: Advice("Nothing: the client asks again in its current epoch."),
    E.MISMATCHED_ENDPOINT_TYPE: Advice(
        "Name brokers, not controllers, to the client.", when="DescribeCluster asks for controllers."
    ),
    E.UNSUPPORTED_ENDPOINT_TYPE: Advice(
        "Use a client that asks for brokers.", when="DescribeCluster asks for endpoints of a kind that is not known."
    ),
    E.TRANSACTION_ABORTABLE: Advice("Abort the transaction and begin another."),
    E.INVALID_RECORD_STATE: Advice("Expect the record once more: its lock ran out, or it was settled before."),
    E.SHARE_SESSION_NOT_FOUND: _again("Nothing: the client makes a new session."),
    E.INVALID_SHARE_SESSION_EPOCH: _again("Nothing: the client makes a new session."),
    E.FENCED_STATE_EPOCH: Advice("Nothing: only nodes are told so."),
    E.INVALID_REGULAR_EXPRESSION: Advice("Correct the expression; its syntax is RE2's."),
    E.STREAMS_INVALID_TOPOLOGY: Advice("Correct the application's topology; the message says what contradicts itself."),
    E.STREAMS_INVALID_TOPOLOGY_EPOCH: Advice("Restart the members that have another topology."),
    E.STREAMS_TOPOLOGY_FENCED: Advice("Upgrade the member: others of its group have a later topology."),
    E.SHARE_SESSION_LIMIT_REACHED: _again("Raise `group.share.max.share.sessions`, or use fewer consumers."),
}

HTTP_OWN: Final[dict[int, str]] = {
    400: "Not HTTP as it should be, a body that is not JSON, or a record that the topic refuses (`detail` says why).",
    401: "Show who you are: `http.token`, a user's password, a token, or a certificate.",
    403: "The caller lacks the right, or is a tenant's; or a web page of another origin, or a browser without a "
    "JSON content type, asks.",
    404: "There is nothing at this path, or no such topic, group, record, trace, member.",
    405: "Another method; the header `Allow` names those that there are.",
    408: "The request did not arrive in `http.request.timeout.ms`, or a stream brought nothing for "
    "`http.stream.max.idle.ms`.",
    409: "It contradicts what is there: look at it and decide anew.",
    413: "A body beyond `http.max.request.bytes`, or a record beyond the topic's bound.",
    415: "Another `Content-Type`.",
    416: "The offset is not there any more, or not yet.",
    421: "The header `Host` names another machine: call the broker by its own name.",
    422: "A parameter, a field or a record that cannot be; `detail` says which.",
    429: "A quota is used up: wait as long as `Retry-After` says.",
    431: "Request line and headers beyond `http.max.header.bytes`.",
    500: "A bug of the broker, or an error that has no status of its own: its log tells more.",
    503: "It starts, stops, or cannot do it now: try again after `Retry-After`. Records may have been written "
    "where it timed out.",
}

GRPC_OWN: Final[dict[Status, str]] = {
    Status.INVALID_ARGUMENT: "Correct the request.",
    Status.DEADLINE_EXCEEDED: "The call's deadline passed, or replicas have not confirmed in time: it may have "
    "been done.",
    Status.NOT_FOUND: "Correct the name.",
    Status.ALREADY_EXISTS: "Use what is there.",
    Status.PERMISSION_DENIED: "Give the caller the right.",
    Status.RESOURCE_EXHAUSTED: "A quota, `grpc.max.message.bytes` or `grpc.max.buffered.bytes`: send less, or later.",
    Status.FAILED_PRECONDITION: "It is not the time for it: the group has members, a poll is not answered yet.",
    Status.ABORTED: "Begin anew: join again, or make the producer again.",
    Status.OUT_OF_RANGE: "Read from an offset that is there.",
    Status.UNIMPLEMENTED: "There is no such method, or a packing that is not known.",
    Status.INTERNAL: "What came is no such message, or a bug of the broker: its log tells more.",
    Status.UNAVAILABLE: "It was not done, and may be tried again; gRPC's libraries do so where they are told to.",
    Status.DATA_LOSS: "What is stored is damaged: see [damage](../operations/damage.md).",
    Status.UNAUTHENTICATED: "Show who you are in the metadata `authorization`.",
}

TEXT_OWN: Final[dict[str, str]] = {
    "BAD_COMMAND": "There is no such command.",
    "BAD_ARGUMENT": "The command does not take that. The connection ends where the size of a payload cannot be known.",
    "BAD_PAYLOAD": "The payload does not end where its size says.",
    "LINE_TOO_LONG": "A line beyond `text.max.line.bytes`.",
    "PAYLOAD_TOO_LARGE": "A payload beyond `text.max.payload.bytes`.",
    "AUTHENTICATION_REQUIRED": "Say `AUTH` first.",
    "AUTHENTICATION_FAILED": "Name, password or token is wrong.",
    "ALREADY_AUTHENTICATED": "Who a connection is stays so: open another.",
    "BUSY": "Too many logins are being checked: try again in a second.",
    "IDLE": "Nothing came for `text.max.idle.ms`.",
    "STOPPING": "The broker stops. What was answered before was done; say the rest again, there or to another node.",
    "TOO_SLOW": "The command did not arrive within `text.request.timeout.ms`.",
}
