"""Kafka's error codes, and the one place where the broker's errors get theirs."""

import logging
from collections import Counter
from enum import IntEnum
from typing import Final

from engine import errors
from engine.errors import BrokerError

logger = logging.getLogger("tidegate.kafka")


class ErrorCode(IntEnum):
    """The codes that this door sends, by Kafka's names."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    INVALID_REQUIRED_ACKS = 21
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    KAFKA_STORAGE_ERROR = 56
    UNKNOWN_PRODUCER_ID = 59
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    TOPIC_DELETION_DISABLED = 73
    UNSUPPORTED_COMPRESSION_TYPE = 76
    INVALID_RECORD = 87
    UNKNOWN_TOPIC_ID = 100
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    OFFSET_METADATA_TOO_LARGE = 12
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    UNSTABLE_OFFSET_COMMIT = 88
    NOT_ENOUGH_REPLICAS = 19
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    TRANSACTIONAL_ID_NOT_FOUND = 105
    TRANSACTION_ABORTABLE = 120
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    INVALID_REGULAR_EXPRESSION = 128
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    SASL_AUTHENTICATION_FAILED = 58
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    DUPLICATE_BROKER_REGISTRATION = 101
    INELIGIBLE_REPLICA = 107
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133


CODES: Final[dict[type[errors.BrokerError], ErrorCode]] = {
    errors.UnknownTopicOrPartition: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    errors.UnknownTopicId: ErrorCode.UNKNOWN_TOPIC_ID,
    errors.InvalidTopic: ErrorCode.INVALID_TOPIC_EXCEPTION,
    errors.TopicAlreadyExists: ErrorCode.TOPIC_ALREADY_EXISTS,
    errors.InvalidPartitions: ErrorCode.INVALID_PARTITIONS,
    errors.InvalidReplicationFactor: ErrorCode.INVALID_REPLICATION_FACTOR,
    errors.InvalidReplicaAssignment: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    errors.InvalidConfig: ErrorCode.INVALID_CONFIG,
    errors.InvalidRequest: ErrorCode.INVALID_REQUEST,
    errors.PolicyViolation: ErrorCode.POLICY_VIOLATION,
    errors.OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    errors.CorruptMessage: ErrorCode.CORRUPT_MESSAGE,
    errors.UnsupportedMessageFormat: ErrorCode.INVALID_RECORD,
    errors.UnsupportedCompressionType: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    errors.RecordTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    errors.RecordListTooLarge: ErrorCode.RECORD_LIST_TOO_LARGE,
    errors.InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    errors.InvalidRecord: ErrorCode.INVALID_RECORD,
    errors.OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    # Kafka 4 calls a repeat that is older than the batches it remembers out of order, too.
    errors.DuplicateSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    errors.InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    errors.UnknownProducerId: ErrorCode.UNKNOWN_PRODUCER_ID,
    errors.InvalidRequiredAcks: ErrorCode.INVALID_REQUIRED_ACKS,
    errors.StaleLeader: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    errors.NotLeader: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    errors.FencedLeaderEpoch: ErrorCode.FENCED_LEADER_EPOCH,
    errors.UnknownLeaderEpoch: ErrorCode.UNKNOWN_LEADER_EPOCH,
    errors.StorageError: ErrorCode.KAFKA_STORAGE_ERROR,
    errors.RequestTimedOut: ErrorCode.REQUEST_TIMED_OUT,
    errors.UnsupportedVersion: ErrorCode.UNSUPPORTED_VERSION,
    errors.CoordinatorLoadInProgress: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    errors.NotCoordinator: ErrorCode.NOT_COORDINATOR,
    errors.CoordinatorNotAvailable: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    errors.FetchSessionNotFound: ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    errors.InvalidFetchSessionEpoch: ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    errors.FetchSessionTopicId: ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    errors.InvalidGroupId: ErrorCode.INVALID_GROUP_ID,
    errors.UnknownMemberId: ErrorCode.UNKNOWN_MEMBER_ID,
    errors.IllegalGeneration: ErrorCode.ILLEGAL_GENERATION,
    errors.RebalanceInProgress: ErrorCode.REBALANCE_IN_PROGRESS,
    errors.InconsistentGroupProtocol: ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    errors.InvalidSessionTimeout: ErrorCode.INVALID_SESSION_TIMEOUT,
    errors.GroupMaxSizeReached: ErrorCode.GROUP_MAX_SIZE_REACHED,
    errors.FencedInstanceId: ErrorCode.FENCED_INSTANCE_ID,
    errors.MemberIdRequired: ErrorCode.MEMBER_ID_REQUIRED,
    errors.OffsetMetadataTooLarge: ErrorCode.OFFSET_METADATA_TOO_LARGE,
    errors.UnstableOffsetCommit: ErrorCode.UNSTABLE_OFFSET_COMMIT,
    errors.NonEmptyGroup: ErrorCode.NON_EMPTY_GROUP,
    errors.GroupIdNotFound: ErrorCode.GROUP_ID_NOT_FOUND,
    errors.GroupSubscribedToTopic: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    errors.InvalidTxnState: ErrorCode.INVALID_TXN_STATE,
    errors.InvalidProducerIdMapping: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    errors.InvalidTransactionTimeout: ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    errors.ConcurrentTransactions: ErrorCode.CONCURRENT_TRANSACTIONS,
    errors.TransactionCoordinatorFenced: ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    errors.TransactionalIdAuthorizationFailed: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    errors.OperationNotAttempted: ErrorCode.OPERATION_NOT_ATTEMPTED,
    errors.ProducerFenced: ErrorCode.PRODUCER_FENCED,
    errors.TransactionalIdNotFound: ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    errors.TransactionAbortable: ErrorCode.TRANSACTION_ABORTABLE,
    errors.NotEnoughReplicas: ErrorCode.NOT_ENOUGH_REPLICAS,
    errors.FencedMemberEpoch: ErrorCode.FENCED_MEMBER_EPOCH,
    errors.StaleMemberEpoch: ErrorCode.STALE_MEMBER_EPOCH,
    errors.UnreleasedInstanceId: ErrorCode.UNRELEASED_INSTANCE_ID,
    errors.UnsupportedAssignor: ErrorCode.UNSUPPORTED_ASSIGNOR,
    errors.InvalidRegularExpression: ErrorCode.INVALID_REGULAR_EXPRESSION,
    errors.NotEnoughReplicasAfterAppend: ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    errors.TopicAuthorizationFailed: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    errors.GroupAuthorizationFailed: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    errors.ClusterAuthorizationFailed: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    errors.SecurityDisabled: ErrorCode.SECURITY_DISABLED,
    errors.UnsupportedSaslMechanism: ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    errors.IllegalSaslState: ErrorCode.ILLEGAL_SASL_STATE,
    errors.SaslAuthenticationFailed: ErrorCode.SASL_AUTHENTICATION_FAILED,
    errors.ResourceNotFound: ErrorCode.RESOURCE_NOT_FOUND,
    errors.DuplicateResource: ErrorCode.DUPLICATE_RESOURCE,
    errors.UnacceptableCredential: ErrorCode.UNACCEPTABLE_CREDENTIAL,
    errors.StaleNodeEpoch: ErrorCode.STALE_BROKER_EPOCH,
    errors.OffsetNotAvailable: ErrorCode.OFFSET_NOT_AVAILABLE,
    errors.PreferredLeaderNotAvailable: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    errors.EligibleLeadersNotAvailable: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    errors.ElectionNotNeeded: ErrorCode.ELECTION_NOT_NEEDED,
    errors.NoReassignmentInProgress: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    errors.SnapshotNotFound: ErrorCode.SNAPSHOT_NOT_FOUND,
    errors.PositionOutOfRange: ErrorCode.POSITION_OUT_OF_RANGE,
    errors.DuplicateNodeRegistration: ErrorCode.DUPLICATE_BROKER_REGISTRATION,
    errors.IneligibleReplica: ErrorCode.INELIGIBLE_REPLICA,
    errors.ShareSessionNotFound: ErrorCode.SHARE_SESSION_NOT_FOUND,
    errors.InvalidShareSessionEpoch: ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    errors.ShareSessionLimitReached: ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    errors.InvalidRecordState: ErrorCode.INVALID_RECORD_STATE,
    errors.FencedStateEpoch: ErrorCode.FENCED_STATE_EPOCH,
    errors.ThrottlingQuotaExceeded: ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    errors.StreamsInvalidTopology: ErrorCode.STREAMS_INVALID_TOPOLOGY,
    errors.StreamsInvalidTopologyEpoch: ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH,
    errors.StreamsTopologyFenced: ErrorCode.STREAMS_TOPOLOGY_FENCED,
}


_FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)

# Where several have one code, the plainest of them.
_KINDS: Final[dict[int, type[BrokerError]]] = {
    **{code: kind for kind, code in reversed(CODES.items())},
    ErrorCode.NOT_LEADER_OR_FOLLOWER: errors.NotLeader,
    ErrorCode.INVALID_RECORD: errors.InvalidRecord,
    # Clients are told 45; nodes tell each other which of the two it is.
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: errors.DuplicateSequence,
}
_NAMES: Final[dict[int, str]] = {int(code): code.name for code in ErrorCode}

told: Final[Counter[ErrorCode]] = Counter()
"""How often each error was told by this process."""


def error_code(error: errors.BrokerError) -> int:
    """The Kafka code of a broker error, for a client that is told it now."""
    code = CODES.get(type(error))
    if code is None:
        code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), ErrorCode.UNKNOWN_SERVER_ERROR)
    told[code] += 1
    if code in _FENCED:
        logger.warning("a producer is fenced: %s", error, extra={"error": code.name})
    return int(code)


def producer_error_code(error: BrokerError, version: int, first_with_fenced: int) -> int:
    """The code of an error; clients that do not know PRODUCER_FENCED yet are told INVALID_PRODUCER_EPOCH (KIP-588)."""
    code = error_code(error)
    if code == ErrorCode.PRODUCER_FENCED and version < first_with_fenced:
        return int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return code


def code_name(code: int) -> str:
    """Kafka's name of a code."""
    return _NAMES.get(code, str(code))


def broker_error(code: int, message: str = "") -> BrokerError:
    """What another node has refused with, out of the code that it told."""
    return _KINDS.get(code, BrokerError)(message or f"another node answers {code_name(code)}")
