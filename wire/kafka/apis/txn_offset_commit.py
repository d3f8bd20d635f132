"""TxnOffsetCommit (28), versions 0-5: offsets of a group that count when the transaction commits (KIP-98).

Member and generation from version 3 (KIP-447). The partition of the group's offsets must be part of the transaction;
version 5 adds it (KIP-890), the versions before are refused without AddOffsetsToTxn.
"""

from functools import partial
from operator import attrgetter
from typing import Any

from coordinators.group.groups import Groups
from coordinators.group.requests import CommitAnswer, OffsetToCommit
from coordinators.records.directory import PartitionDirectory
from coordinators.transaction.ports import TransactionVerification
from coordinators.transaction.transaction import ProducerIdentity
from engine.errors import (
    BrokerError,
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    InvalidProducerEpoch,
    InvalidTxnState,
    NotCoordinator,
    ProducerFenced,
    TransactionAbortable,
)
from wire.kafka.errors import error_code
from wire.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import READ_GROUP, READ_TOPIC, WRITE_TRANSACTION, Each, Need, Rights, by_name
from wire.kafka.slices import in_slices

KEY = 28
VERSIONS = (0, 5)
RIGHTS = Rights(
    Need(WRITE_TRANSACTION, attrgetter("transactional_id")),
    Need(READ_GROUP, attrgetter("group_id")),
    Each(
        READ_TOPIC,
        "topics",
        by_name,
        "topics",
        lambda topic, error: _denied(topic, error),
        TxnOffsetCommitResponse,
    ),
    refuse=lambda request, _, error: TxnOffsetCommitResponse(topics=[_denied(each, error) for each in request.topics]),
)

FIRST_ADDING_VERSION = 5


def handle(
    request: TxnOffsetCommitRequest,
    context: Context,
    groups: Groups,
    verification: TransactionVerification,
    directory: PartitionDirectory,
) -> Later[TxnOffsetCommitResponse]:
    """Commit the offsets of partitions that exist, as part of the transaction."""
    answer: Later[TxnOffsetCommitResponse] = in_slices(
        request, context, partial(_handle, groups, verification, directory)
    )
    return answer


def _handle(
    groups: Groups,
    verification: TransactionVerification,
    directory: PartitionDirectory,
    request: TxnOffsetCommitRequest,
    context: Context,
) -> Deferred[TxnOffsetCommitResponse]:
    response = TxnOffsetCommitResponse()
    offsets: list[OffsetToCommit] = []
    entries: list[TxnOffsetCommitResponsePartition] = []
    for topic in request.topics:
        answered = TxnOffsetCommitResponseTopic(name=topic.name)
        response.topics.append(answered)
        for each in topic.partitions:
            entry = TxnOffsetCommitResponsePartition(each.partition_index)
            answered.partitions.append(entry)
            try:
                offsets.append(_offset(topic.name, each, directory))
                entries.append(entry)
            except BrokerError as error:
                entry.error_code = error_code(error)

    def refuse(error: BrokerError) -> TxnOffsetCommitResponse:
        return finish([error] * len(entries))

    def finish(errors: CommitAnswer) -> TxnOffsetCommitResponse:
        for entry, error in zip(entries, errors, strict=True):
            entry.error_code = 0 if error is None else error_code(_told(error, context.version))
        return response

    return _commit(request, context.version, offsets, groups, verification).map(finish, refuse)


def _offset(name: str, wanted: Any, directory: PartitionDirectory) -> OffsetToCommit:
    topic = directory.topic(name)
    directory.check_exists(topic, wanted.partition_index)
    return OffsetToCommit(
        name,
        wanted.partition_index,
        wanted.committed_offset,
        wanted.committed_leader_epoch,
        wanted.committed_metadata or "",
        topic.topic_id,
    )


def _commit(
    request: TxnOffsetCommitRequest,
    version: int,
    offsets: list[OffsetToCommit],
    groups: Groups,
    verification: TransactionVerification,
) -> Deferred[CommitAnswer]:
    answer: Deferred[CommitAnswer] = Deferred()
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)

    def commit(_: None) -> None:
        groups.commit_transactional(
            request.group_id,
            request.member_id,
            request.generation_id,
            producer.producer_id,
            producer.epoch,
            offsets,
            request.group_instance_id,
        ).forward(answer)

    try:
        place = groups.offsets_place(request.group_id)
    except BrokerError as error:
        return Deferred.refused(error)
    if version >= FIRST_ADDING_VERSION:
        included = verification.add(request.transactional_id, producer, [place]).durable
    else:
        included = verification.verify(request.transactional_id, producer, place)
    included.when_settled(commit, lambda error: answer.refuse(_of_transaction(error)))
    return answer


def _of_transaction(error: BrokerError) -> BrokerError:
    """A refusal of the transaction's coordinator. That it has moved is not to be taken for the group's, for which the
    client would look elsewhere; the group's own is told as it is, so that the client does."""
    if isinstance(error, NotCoordinator):
        return CoordinatorLoadInProgress(str(error))
    return error


def _told(error: BrokerError, version: int) -> BrokerError:
    """An error of the transaction's coordinator, as one that clients expect from a group's."""
    if isinstance(error, ConcurrentTransactions):
        return CoordinatorLoadInProgress(str(error))
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch(str(error))
    if isinstance(error, TransactionAbortable) and version < FIRST_ADDING_VERSION:
        return InvalidTxnState(str(error))
    return error


def _denied(topic: TxnOffsetCommitRequestTopic, error: BrokerError) -> TxnOffsetCommitResponseTopic:
    code = error_code(error)
    entries = [TxnOffsetCommitResponsePartition(each.partition_index, code) for each in topic.partitions]
    return TxnOffsetCommitResponseTopic(name=topic.name, partitions=entries)
