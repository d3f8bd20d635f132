"""What goes wrong, in the form of Confluent's API: a code, whose first three digits are the status, and a message."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from coordinators.schemas.errors import RegistryError
from engine import errors
from wire.http.messages import Response
from wire.http.problems import Problem, of_broker_error

STORE, TIMED_OUT = 50001, 50002
UNAUTHORIZED, FORBIDDEN = 40101, 40301
_CODES = {HTTPStatus.UNAUTHORIZED: UNAUTHORIZED, HTTPStatus.FORBIDDEN: FORBIDDEN}


class ErrorDocument(msgspec.Struct):
    """An error as clients read it."""

    error_code: int
    message: str


def refusal(code: int, message: str, media_type: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that tells of it."""
    status = int(str(code)[:3])
    return Response(status, msgspec.json.encode(ErrorDocument(code, message)), media_type, headers or {})


def of_problem(problem: Problem, media_type: str) -> Response:
    """What is wrong with the request, or with who sends it."""
    return refusal(_CODES.get(problem.status, problem.status.value), problem.detail, media_type, problem.headers)


def of_error(error: errors.BrokerError, media_type: str) -> Response:
    """What the registry or the broker refuses."""
    if isinstance(error, RegistryError):
        return refusal(error.code, str(error), media_type)
    if isinstance(error, errors.RequestTimedOut):
        return refusal(TIMED_OUT, str(error), media_type)
    if isinstance(error, errors.StorageError):
        return refusal(STORE, str(error), media_type)
    return of_problem(of_broker_error(error), media_type)
