"""The broker's errors in terms of gRPC."""

import pytest

from engine import errors
from wire.grpc.status import Status, of_broker_error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.UnknownTopicOrPartition("t"), Status.NOT_FOUND),
        (errors.TopicAlreadyExists("t"), Status.ALREADY_EXISTS),
        (errors.TopicAuthorizationFailed("t"), Status.PERMISSION_DENIED),
        (errors.InvalidRecord("t"), Status.INVALID_ARGUMENT),
        (errors.OffsetOutOfRange("t"), Status.OUT_OF_RANGE),
        (errors.ThrottlingQuotaExceeded("t"), Status.RESOURCE_EXHAUSTED),
        (errors.BrokerError("t"), Status.INTERNAL),
    ],
    ids=lambda each: each.name if isinstance(each, Status) else type(each).__name__,
)
def test_an_error_has_the_status_that_fits_and_keeps_its_name(error: errors.BrokerError, status: Status) -> None:
    told = of_broker_error(error)
    assert (told.status, told.error) == (status, type(error).__name__)


@pytest.mark.parametrize("kind", [errors.NotLeader, errors.NotCoordinator, errors.StorageError])
def test_what_passes_is_what_clients_try_again(kind: type[errors.BrokerError]) -> None:
    assert of_broker_error(kind("t")).status is Status.UNAVAILABLE


def test_a_write_that_may_have_happened_is_not_tried_again_by_itself() -> None:
    assert of_broker_error(errors.RequestTimedOut("t")).status is Status.DEADLINE_EXCEEDED
