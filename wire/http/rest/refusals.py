"""What goes wrong, as Confluent's REST proxy tells it: `{"error_code": 40401, "message": "..."}`.

The status is the first three digits of the code. A failed record in an answer about several has 1 (do not try again)
or 2 (try again) instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import msgspec

from engine import errors
from wire.http.messages import Response
from wire.http.problems import Problem, of_broker_error

MEDIA_TYPE = "application/vnd.kafka.v2+json"
TOPIC_NOT_FOUND = 40401
PARTITION_NOT_FOUND = 40402
INSTANCE_NOT_FOUND = 40403
NOT_ACCEPTABLE = 40601
INSTANCE_EXISTS = 40902
ILLEGAL_STATE = 40903
KEY_SCHEMA_MISSING, VALUE_SCHEMA_MISSING = 42201, 42202
UNREADABLE = 42203
INVALID_SETTING = 42204
INVALID_SCHEMA = 42205
FOR_GOOD, PASSING = 1, 2
PASSING_KINDS = (
    errors.NotLeader,
    errors.StaleLeader,
    errors.RequestTimedOut,
    errors.NotEnoughReplicas,
    errors.NotEnoughReplicasAfterAppend,
    errors.StorageError,
    errors.CoordinatorLoadInProgress,
    errors.CoordinatorNotAvailable,
    errors.NotCoordinator,
)


class RestErrorDocument(msgspec.Struct):
    """An error."""

    error_code: int
    message: str


REFUSALS = (MEDIA_TYPE, RestErrorDocument)
"""How routes of this room tell what they refuse."""


class RestRefusal(Problem):
    """Raised wherever a request of these formats cannot be answered as asked."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(HTTPStatus(code if code < 1000 else code // 100), message)
        self.code = code

    def response(self, instance: str = "") -> Response:  # noqa: ARG002 - these documents do not name it
        """As it goes out."""
        document = RestErrorDocument(self.code, self.detail)
        return Response(self.status.value, msgspec.json.encode(document), MEDIA_TYPE, self.headers)


def of_error(error: errors.BrokerError) -> RestRefusal:
    """What the broker refuses."""
    if isinstance(error, errors.UnknownTopicOrPartition):
        return RestRefusal(TOPIC_NOT_FOUND, str(error))
    problem = of_broker_error(error)
    refusal = RestRefusal(problem.status.value, problem.detail)
    refusal.headers.update(problem.headers)
    return refusal


def record_code(error: errors.BrokerError) -> int:
    """Whether it is worth trying again to write a record."""
    return PASSING if isinstance(error, PASSING_KINDS) else FOR_GOOD


@contextmanager
def told_so() -> Iterator[None]:
    """Have what the broker refuses in this block told as these clients expect it."""
    try:
        yield
    except errors.BrokerError as error:
        raise of_error(error) from error
