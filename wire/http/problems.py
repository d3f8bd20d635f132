"""What goes wrong, as callers are told it: problem documents (RFC 9457) with the status that fits."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from coordinators.release.lookup import NoSuchRecord, TooLate
from coordinators.schemas.errors import ReferenceExists
from coordinators.tenants.tenants import TenantExists, TenantHasTopics, UnknownTenant
from engine import errors
from wire.http.messages import Response
from wire.inner.homes import NotAtHome
from wire.inner.namespaces import Names

MEDIA_TYPE = "application/problem+json"


class ProblemDocument(msgspec.Struct, omit_defaults=True):
    """An error. `error` names the broker's own kind of error, where it is one."""

    title: str
    status: int
    detail: str = ""
    type: str = "about:blank"
    instance: str = ""
    error: str = ""


class Problem(Exception):
    """Raised wherever a request cannot be answered as asked."""

    def __init__(
        self, status: HTTPStatus, detail: str, *, headers: Mapping[str, str] | None = None, error: str = ""
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.error = error

    def told_in(self, names: Names) -> "Problem":
        """The same for a caller who knows things by these names."""
        self.detail = names.words(self.detail)
        return self

    def document(self, instance: str = "") -> ProblemDocument:
        """What callers are told."""
        return ProblemDocument(self.status.phrase, self.status.value, self.detail, instance=instance, error=self.error)

    def response(self, instance: str = "") -> Response:
        """The same as an answer."""
        return Response(self.status.value, msgspec.json.encode(self.document(instance)), MEDIA_TYPE, self.headers)


# The first that fits counts, by the error's class and then its bases.
STATUSES: Final[dict[type[errors.BrokerError], HTTPStatus]] = {
    errors.UnknownTopicOrPartition: HTTPStatus.NOT_FOUND,
    errors.UnknownTopicId: HTTPStatus.NOT_FOUND,
    errors.GroupIdNotFound: HTTPStatus.NOT_FOUND,
    errors.TransactionalIdNotFound: HTTPStatus.NOT_FOUND,
    NoSuchRecord: HTTPStatus.NOT_FOUND,
    UnknownTenant: HTTPStatus.NOT_FOUND,
    errors.TopicAlreadyExists: HTTPStatus.CONFLICT,
    TenantExists: HTTPStatus.CONFLICT,
    TenantHasTopics: HTTPStatus.CONFLICT,
    ReferenceExists: HTTPStatus.CONFLICT,
    TooLate: HTTPStatus.CONFLICT,
    errors.NonEmptyGroup: HTTPStatus.CONFLICT,
    NotAtHome: HTTPStatus.NOT_FOUND,
    errors.ResourceNotFound: HTTPStatus.NOT_FOUND,
    errors.SecurityDisabled: HTTPStatus.CONFLICT,
    errors.NoReassignmentInProgress: HTTPStatus.CONFLICT,
    errors.UnacceptableCredential: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.IllegalGeneration: HTTPStatus.CONFLICT,
    errors.RebalanceInProgress: HTTPStatus.CONFLICT,
    errors.UnknownMemberId: HTTPStatus.CONFLICT,
    errors.InconsistentGroupProtocol: HTTPStatus.CONFLICT,
    errors.GroupMaxSizeReached: HTTPStatus.CONFLICT,
    errors.InvalidRecordState: HTTPStatus.CONFLICT,
    errors.InvalidTxnState: HTTPStatus.CONFLICT,
    errors.ProducerFenced: HTTPStatus.CONFLICT,
    errors.InvalidProducerEpoch: HTTPStatus.CONFLICT,
    errors.InvalidProducerIdMapping: HTTPStatus.CONFLICT,
    errors.UnknownProducerId: HTTPStatus.CONFLICT,
    errors.ConcurrentTransactions: HTTPStatus.CONFLICT,
    errors.InvalidSessionTimeout: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidTransactionTimeout: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.PolicyViolation: HTTPStatus.FORBIDDEN,
    errors.SaslAuthenticationFailed: HTTPStatus.UNAUTHORIZED,
    errors.TopicAuthorizationFailed: HTTPStatus.FORBIDDEN,
    errors.GroupAuthorizationFailed: HTTPStatus.FORBIDDEN,
    errors.ClusterAuthorizationFailed: HTTPStatus.FORBIDDEN,
    errors.TransactionalIdAuthorizationFailed: HTTPStatus.FORBIDDEN,
    errors.InvalidTopic: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidPartitions: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidReplicationFactor: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidReplicaAssignment: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidConfig: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidRequest: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidGroupId: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.RefusedRecords: HTTPStatus.BAD_REQUEST,
    errors.OffsetOutOfRange: HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    errors.RecordTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.RecordListTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.OffsetMetadataTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.ThrottlingQuotaExceeded: HTTPStatus.TOO_MANY_REQUESTS,
    errors.NotEnoughReplicas: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.NotEnoughReplicasAfterAppend: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StaleLeader: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.UnknownLeaderEpoch: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.OffsetNotAvailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.CoordinatorLoadInProgress: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.CoordinatorNotAvailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.NotCoordinator: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StorageError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.RequestTimedOut: HTTPStatus.SERVICE_UNAVAILABLE,
}


def of_broker_error(error: errors.BrokerError) -> Problem:
    """What the broker refuses, in terms of HTTP."""
    found = (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    status = next(found, HTTPStatus.INTERNAL_SERVER_ERROR)
    headers = {"Retry-After": "1"} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Problem(status, str(error), headers=headers, error=type(error).__name__)
