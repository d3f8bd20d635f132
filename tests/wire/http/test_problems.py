"""Errors as problem documents."""

import json
from http import HTTPStatus

import pytest

from engine import errors
from wire.http.problems import Problem, of_broker_error


def test_a_problem_says_what_and_where() -> None:
    response = Problem(HTTPStatus.NOT_FOUND, "no such thing").response("/things/1")
    assert (response.status, response.media_type) == (404, "application/problem+json")
    assert json.loads(response.body) == {
        "title": "Not Found",
        "status": 404,
        "detail": "no such thing",
        "instance": "/things/1",
    }


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.UnknownTopicOrPartition("x"), 404),
        (errors.GroupIdNotFound("x"), 404),
        (errors.TopicAlreadyExists("x"), 409),
        (errors.InvalidConfig("x"), 422),
        (errors.PolicyViolation("x"), 403),
        (errors.CoordinatorLoadInProgress("x"), 503),
        (errors.BrokerError("x"), 500),
    ],
)
def test_the_brokers_errors_have_their_statuses(error: errors.BrokerError, status: int) -> None:
    problem = of_broker_error(error)
    assert problem.status == status
    assert json.loads(problem.response().body)["error"] == type(error).__name__


def test_who_may_try_again_is_told_when() -> None:
    assert of_broker_error(errors.CoordinatorLoadInProgress("x")).headers == {"Retry-After": "1"}
