"""How calls end: gRPC's status codes, and the one place where the broker's errors get theirs."""

from enum import IntEnum
from typing import Final

from coordinators.release.lookup import NoSuchRecord, TooLate
from engine import errors
from engine.errors import BrokerError


class Status(IntEnum):
    """By gRPC's names and numbers."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class GrpcError(Exception):
    """Ends a call with this status. `error` names the broker's own kind of error, where it is one."""

    def __init__(self, status: Status, message: str, error: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.error = error


# The first that fits counts, by the error's class and then its bases. UNAVAILABLE is what clients try again by
# themselves: so it is for what passes, and for what surely was not done.
STATUSES: Final[dict[type[BrokerError], Status]] = {
    errors.UnknownTopicOrPartition: Status.NOT_FOUND,
    errors.UnknownTopicId: Status.NOT_FOUND,
    errors.GroupIdNotFound: Status.NOT_FOUND,
    errors.TransactionalIdNotFound: Status.NOT_FOUND,
    errors.ResourceNotFound: Status.NOT_FOUND,
    errors.UnknownMemberId: Status.ABORTED,
    errors.IllegalGeneration: Status.ABORTED,
    errors.RebalanceInProgress: Status.ABORTED,
    errors.FencedMemberEpoch: Status.ABORTED,
    errors.FencedInstanceId: Status.ABORTED,
    errors.StaleMemberEpoch: Status.ABORTED,
    errors.ProducerFenced: Status.ABORTED,
    errors.InvalidProducerEpoch: Status.ABORTED,
    errors.ConcurrentTransactions: Status.ABORTED,
    NoSuchRecord: Status.NOT_FOUND,
    TooLate: Status.FAILED_PRECONDITION,
    errors.TopicAlreadyExists: Status.ALREADY_EXISTS,
    errors.DuplicateResource: Status.ALREADY_EXISTS,
    errors.NonEmptyGroup: Status.FAILED_PRECONDITION,
    errors.InvalidTxnState: Status.FAILED_PRECONDITION,
    errors.InvalidRecordState: Status.FAILED_PRECONDITION,
    errors.GroupSubscribedToTopic: Status.FAILED_PRECONDITION,
    errors.InconsistentGroupProtocol: Status.FAILED_PRECONDITION,
    errors.SecurityDisabled: Status.FAILED_PRECONDITION,
    errors.PolicyViolation: Status.PERMISSION_DENIED,
    errors.TopicAuthorizationFailed: Status.PERMISSION_DENIED,
    errors.GroupAuthorizationFailed: Status.PERMISSION_DENIED,
    errors.ClusterAuthorizationFailed: Status.PERMISSION_DENIED,
    errors.TransactionalIdAuthorizationFailed: Status.PERMISSION_DENIED,
    errors.SaslAuthenticationFailed: Status.UNAUTHENTICATED,
    errors.OffsetOutOfRange: Status.OUT_OF_RANGE,
    errors.InvalidTopic: Status.INVALID_ARGUMENT,
    errors.InvalidPartitions: Status.INVALID_ARGUMENT,
    errors.InvalidReplicationFactor: Status.INVALID_ARGUMENT,
    errors.InvalidReplicaAssignment: Status.INVALID_ARGUMENT,
    errors.InvalidConfig: Status.INVALID_ARGUMENT,
    errors.InvalidRequest: Status.INVALID_ARGUMENT,
    errors.InvalidGroupId: Status.INVALID_ARGUMENT,
    errors.InvalidSessionTimeout: Status.INVALID_ARGUMENT,
    errors.InvalidRecord: Status.INVALID_ARGUMENT,
    errors.InvalidTimestamp: Status.INVALID_ARGUMENT,
    errors.InvalidRequiredAcks: Status.INVALID_ARGUMENT,
    errors.RecordTooLarge: Status.INVALID_ARGUMENT,
    errors.RecordListTooLarge: Status.INVALID_ARGUMENT,
    errors.CorruptMessage: Status.DATA_LOSS,
    errors.ThrottlingQuotaExceeded: Status.RESOURCE_EXHAUSTED,
    errors.GroupMaxSizeReached: Status.RESOURCE_EXHAUSTED,
    errors.ShareSessionLimitReached: Status.RESOURCE_EXHAUSTED,
    errors.UnsupportedVersion: Status.UNIMPLEMENTED,
    errors.RequestTimedOut: Status.DEADLINE_EXCEEDED,
    errors.NotEnoughReplicasAfterAppend: Status.DEADLINE_EXCEEDED,
    errors.NotEnoughReplicas: Status.UNAVAILABLE,
    errors.NotLeader: Status.UNAVAILABLE,
    errors.StaleLeader: Status.UNAVAILABLE,
    errors.FencedLeaderEpoch: Status.UNAVAILABLE,
    errors.UnknownLeaderEpoch: Status.UNAVAILABLE,
    errors.OffsetNotAvailable: Status.UNAVAILABLE,
    errors.NotCoordinator: Status.UNAVAILABLE,
    errors.CoordinatorLoadInProgress: Status.UNAVAILABLE,
    errors.CoordinatorNotAvailable: Status.UNAVAILABLE,
    errors.StorageError: Status.UNAVAILABLE,
}


def of_broker_error(error: BrokerError) -> GrpcError:
    """What the broker refuses, in terms of gRPC."""
    found = (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return GrpcError(next(found, Status.INTERNAL), str(error), type(error).__name__)
