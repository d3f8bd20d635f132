"""What can go wrong in the broker, in the domain's words.

A `BrokerError` becomes an error field of a response; `wire/kafka/errors.py` is the one place that
gives each class its Kafka error code. An `AssertionError` is a bug and fails its partition or shard.
"""

from copy import copy
from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def kept(error: E) -> E:
    """An error that is kept, as an answer or in a list of answers. Its traceback would hold the frames that it passed,
    and they hold the answer: a ring that only the garbage collector takes apart, whatever hangs on it meanwhile."""
    error.__traceback__ = error.__context__ = None
    return error


def fresh(error: E) -> E:
    """An error like one that stands for longer, to be raised: raised itself, again and again, it would gather the
    tracebacks of all who were refused, with what their frames hold."""
    return copy(error)


class BrokerError(Exception):
    """A refusal that the client is told about; the message names what is wrong."""


class UnknownTopicOrPartition(BrokerError):
    """No such topic or partition."""


class UnknownTopicId(BrokerError):
    """No topic has this id."""


class InvalidTopic(BrokerError):
    """The topic's name is not a legal one, or the topic may not be used so."""


class TopicAlreadyExists(BrokerError):
    """A topic of this name exists."""


class InvalidPartitions(BrokerError):
    """The number of partitions is not possible."""


class InvalidReplicationFactor(BrokerError):
    """More replicas than nodes, or fewer than one."""


class InvalidReplicaAssignment(BrokerError):
    """A manual assignment that cannot be had."""


class InvalidConfig(BrokerError):
    """A config key is unknown or its value is not one that the key takes."""


class InvalidRequest(BrokerError):
    """The request contradicts itself or asks for what does not exist."""


class PolicyViolation(BrokerError):
    """The broker's own rules forbid it."""


class OffsetOutOfRange(BrokerError):
    """The offset lies outside what the log holds."""


class CorruptMessage(BrokerError):
    """A batch whose checksum or framing is wrong."""


class UnsupportedMessageFormat(BrokerError):
    """A batch in a format older than v2."""


class UnsupportedCompressionType(BrokerError):
    """A batch compressed with a codec that this version of the API does not carry."""


class RecordTooLarge(BrokerError):
    """A batch larger than `max.message.bytes`."""


class RecordListTooLarge(BrokerError):
    """Several batches where one is allowed, or a batch larger than a segment."""


class RefusedRecords(BrokerError):
    """A batch refused whole because of some of its records, which are named by index (KIP-467)."""

    def __init__(
        self, message: str, *, record_errors: tuple[tuple[int, str], ...] = (), header_fault: str = ""
    ) -> None:
        super().__init__(message)
        self.record_errors = record_errors
        self.header_fault = header_fault
        """Of records refused for their extension headers: what kind of fault the first has, in a word or two."""


class InvalidTimestamp(RefusedRecords):
    """A record's time lies outside the topic's bounds."""


class InvalidRecord(RefusedRecords):
    """Records that the topic does not take."""


class OutOfOrderSequence(BrokerError):
    """An idempotent producer left a gap or went back."""


class DuplicateSequence(BrokerError):
    """An idempotent producer repeated a batch older than those remembered."""


class InvalidProducerEpoch(BrokerError):
    """A newer instance of this producer has taken over."""


class UnknownProducerId(BrokerError):
    """The broker holds no state for this producer id."""


class InvalidRequiredAcks(BrokerError):
    """`acks` is not 0, 1 or -1."""


class StaleLeader(BrokerError):
    """The client is wrong about the leader or its epoch; this node may know better (-1: it does not)."""

    def __init__(self, reason: str, leader: int = -1, leader_epoch: int = -1) -> None:
        super().__init__(reason, leader, leader_epoch)
        self.leader = leader
        self.leader_epoch = leader_epoch

    def __str__(self) -> str:
        return str(self.args[0])


class NotLeader(StaleLeader):
    """This node does not lead the partition."""


class FencedLeaderEpoch(StaleLeader):
    """The client's leader epoch is older than the partition's."""


class UnknownLeaderEpoch(BrokerError):
    """The client's leader epoch is newer than the partition's."""


class StorageError(BrokerError):
    """The disk is full, broken, or the log is offline until it has been verified."""


class RequestTimedOut(BrokerError):
    """It took longer than the client was ready to wait."""


class UnsupportedVersion(BrokerError):
    """A version of the API that is not served."""


class CoordinatorNotAvailable(BrokerError):
    """No coordinator for this key now."""


class FetchSessionNotFound(BrokerError):
    """The fetch session is gone; the client starts a new one."""


class InvalidFetchSessionEpoch(BrokerError):
    """The fetch session's epoch is not the next one."""


class FetchSessionTopicId(BrokerError):
    """A fetch session changed between topic names and topic ids."""


class CoordinatorLoadInProgress(BrokerError):
    """The coordinator is still reading its state; the client tries again."""


class NotCoordinator(BrokerError):
    """Another node coordinates this key, or none does."""


class InvalidTxnState(BrokerError):
    """The transaction is in no state for this."""


class InvalidProducerIdMapping(BrokerError):
    """The producer id is not the one that the transactional id has."""


class InvalidTransactionTimeout(BrokerError):
    """A transaction timeout that is not positive, or above `transaction.max.timeout.ms`."""


class ConcurrentTransactions(BrokerError):
    """The transaction before this one is still being completed; the client tries again."""


class TransactionCoordinatorFenced(BrokerError):
    """A newer coordinator has taken over."""


class TransactionalIdAuthorizationFailed(BrokerError):
    """The transactional id may not be used so."""


class OperationNotAttempted(BrokerError):
    """Something else in the same request failed."""


class ProducerFenced(BrokerError):
    """A newer instance with the same transactional id has taken over."""


class TransactionalIdNotFound(BrokerError):
    """Nothing is known of this transactional id."""


class TransactionAbortable(BrokerError):
    """The transaction cannot go on; the client may abort it and begin another (KIP-890)."""


class NotEnoughReplicas(BrokerError):
    """Too few replicas are in sync, or what comes before is missing: not now. Older producers ask for no metadata."""


class InvalidGroupId(BrokerError):
    """A group needs a name."""


class UnknownMemberId(BrokerError):
    """Nobody of this id is in the group, or no longer; it joins as a new member."""


class IllegalGeneration(BrokerError):
    """The member is of an earlier generation of its group; it joins again."""


class RebalanceInProgress(BrokerError):
    """The group rebalances; its members join the next round."""


class InconsistentGroupProtocol(BrokerError):
    """The member shares no protocol with the others of its group."""


class InvalidSessionTimeout(BrokerError):
    """The session timeout lies outside what the broker takes."""


class GroupMaxSizeReached(BrokerError):
    """The group has as many members as it may have."""


class FencedInstanceId(BrokerError):
    """Another process joined under this static member's name."""


class MemberIdRequired(BrokerError):
    """A new member is given an id and joins again with it (KIP-394)."""

    def __init__(self, message: str, *, member_id: str = "") -> None:
        super().__init__(message)
        self.member_id = member_id


class OffsetMetadataTooLarge(BrokerError):
    """More text with a committed offset than `offset.metadata.max.bytes`."""


class UnstableOffsetCommit(BrokerError):
    """A transaction that commits this offset is open; the client asks again."""


class NonEmptyGroup(BrokerError):
    """The group has members."""


class GroupIdNotFound(BrokerError):
    """There is no such group."""


class GroupSubscribedToTopic(BrokerError):
    """The group reads this topic."""


class FencedMemberEpoch(BrokerError):
    """The member's epoch is not the one that its group knows; it gives up its partitions and joins again (KIP-848)."""


class StaleMemberEpoch(BrokerError):
    """The request was made in an earlier epoch of its member; it asks again in the current one."""


class UnreleasedInstanceId(BrokerError):
    """Another process has this static member's name and has not left."""


class UnsupportedAssignor(BrokerError):
    """The broker has no assignor of this name."""


class InvalidRegularExpression(BrokerError):
    """A subscription by regular expression that is none."""


class NotEnoughReplicasAfterAppend(BrokerError):
    """The records are stored, and the in-sync replicas have become too few to acknowledge them."""


class ClusterAuthorizationFailed(BrokerError):
    """Whoever asks may not do that to the cluster; or only a node of it may."""


class TopicAuthorizationFailed(BrokerError):
    """Whoever asks may not do that to the topic, whether or not it exists."""


class GroupAuthorizationFailed(BrokerError):
    """Whoever asks may not do that to the group, whether or not it exists."""


class SubjectAuthorizationFailed(ClusterAuthorizationFailed):
    """Whoever asks may not do that to the subject, whether or not it exists. Kafka has no code for it."""


class SecurityDisabled(BrokerError):
    """There are no rules, for nobody is asked for rights."""


class UnsupportedSaslMechanism(BrokerError):
    """Nobody is let in that way."""


class IllegalSaslState(BrokerError):
    """It is not the time for that, or this listener lets everybody in."""


class SaslAuthenticationFailed(BrokerError):
    """Whoever it is could not show it."""


class ResourceNotFound(BrokerError):
    """There is nothing of that name."""


class DuplicateResource(BrokerError):
    """Something is named more than once."""


class UnacceptableCredential(BrokerError):
    """Nobody may have such a password, or such a name."""


class StaleNodeEpoch(BrokerError):
    """The node was registered anew since, or is not registered."""


class OffsetNotAvailable(BrokerError):
    """This leader is new and does not know yet how far its predecessor had come."""


class PreferredLeaderNotAvailable(BrokerError):
    """The first replica cannot lead now."""


class EligibleLeadersNotAvailable(BrokerError):
    """None of the replicas can lead now."""


class ElectionNotNeeded(BrokerError):
    """The partition has the leader that it should have."""


class NoReassignmentInProgress(BrokerError):
    """There is nothing to cancel."""


class SnapshotNotFound(BrokerError):
    """That state of a stage is not kept any more; a later one is."""


class PositionOutOfRange(BrokerError):
    """A snapshot has no such position."""


class DuplicateNodeRegistration(BrokerError):
    """A node of this number is alive."""


class IneligibleReplica(BrokerError):
    """The node may not join the in-sync replicas now."""


class ShareSessionNotFound(BrokerError):
    """The member has no share session on this node."""


class InvalidShareSessionEpoch(BrokerError):
    """The share session has come to another epoch."""


class ShareSessionLimitReached(BrokerError):
    """There are as many share sessions on this node as there may be."""


class InvalidRecordState(BrokerError):
    """A record cannot be acknowledged so: it is not acquired, or by somebody else, or is just being changed."""


class FencedStateEpoch(BrokerError):
    """A share partition's state was made anew since."""


class StreamsInvalidTopology(BrokerError):
    """A topology that contradicts itself."""


class StreamsInvalidTopologyEpoch(BrokerError):
    """A topology of this epoch is not the group's."""


class StreamsTopologyFenced(BrokerError):
    """The group has a later topology."""


class ThrottlingQuotaExceeded(BrokerError):
    """More was asked for than a quota allows now; the answer tells when to try again."""
