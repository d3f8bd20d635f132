"""`/users`: who may log in with a password: listed, given one, deleted. No password is told, nor what is kept of it.

Asked for in the caller's name, as a Kafka client would. A password that is sent here travels as it is: so from another
machine it is only taken over TLS.
"""

from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec

from coordinators.access.scram import (
    BY_NAME,
    BY_NUMBER,
    DEFAULT_ITERATIONS,
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    SALT_BYTES,
    ScramMechanism,
    salted,
)
from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.http.messages import Call, Page, PageQuery
from wire.http.problems import Problem
from wire.http.rights import BY_REQUESTS
from wire.http.routes.messages import DOOR
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.inner.residents import Residents
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from wire.kafka.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

MechanismName = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
ON_THIS_MACHINE = ("127.", "::1")


class UserPlace(msgspec.Struct):
    """Which user."""

    user: Annotated[str, msgspec.Meta(min_length=1, max_length=300, description="The user's name.")]


class UserMechanism(msgspec.Struct):
    """By which a user may log in, and what guessing a password costs."""

    mechanism: str
    iterations: int


class UserShown(msgspec.Struct):
    """A user."""

    user: str
    mechanisms: list[UserMechanism]


class UserPage(Page):
    """Users by name."""

    items: list[UserShown]


class NewPassword(msgspec.Struct, forbid_unknown_fields=True):
    """A user's password from now on; without `mechanisms` by both of them."""

    password: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    mechanisms: Annotated[list[MechanismName], msgspec.Meta(max_length=2)] = []
    iterations: Annotated[int, msgspec.Meta(ge=LEAST_ITERATIONS, le=MOST_ITERATIONS)] = DEFAULT_ITERATIONS


async def list_users(call: Call, inner: InnerClient) -> UserPage:
    """Users by name."""
    query: PageQuery = call.query
    with inner.guest(call.caller, DOOR) as guest:
        found = sorted(await _described(inner, guest, None), key=lambda each: each.user)
    return UserPage(items=list(query.of(found)), total=len(found), limit=query.limit, skip=query.skip)


async def put_user(call: Call, inner: InnerClient, workers: Workers, residents: Residents) -> UserShown:
    """Make a user, or give one another password."""
    name, wanted = call.place.user, call.body
    if not call.caller.host.startswith(ON_THIS_MACHINE) and residents.settings.text("http.security.protocol") != "SSL":
        raise Problem(HTTPStatus.FORBIDDEN, "others could read the password on its way: http.security.protocol=SSL")
    upsertions = []
    for mechanism in (BY_NAME[each] for each in dict.fromkeys(wanted.mechanisms or BY_NAME)):
        salt = residents.random_bytes(SALT_BYTES)
        kept = await in_worker(workers, salted, mechanism, wanted.password, salt, wanted.iterations)
        upsertions.append(ScramCredentialUpsertion(name, mechanism.number, wanted.iterations, salt, kept))
    with inner.guest(call.caller, DOOR) as guest:
        _check(await inner.ask(guest, AlterUserScramCredentialsRequest(upsertions=upsertions)))
    return UserShown(name, [UserMechanism(BY_NUMBER[each.mechanism].name, each.iterations) for each in upsertions])


async def delete_user(call: Call, inner: InnerClient) -> None:
    """Delete a user: nobody logs in as it any longer."""
    name = call.place.user
    with inner.guest(call.caller, DOOR) as guest:
        (found,) = await _described(inner, guest, [UserName(name)])
        deletions = [ScramCredentialDeletion(name, _number(each.mechanism)) for each in found.mechanisms]
        _check(await inner.ask(guest, AlterUserScramCredentialsRequest(deletions=deletions)))


async def _described(inner: InnerClient, guest: Guest, names: list[UserName] | None) -> list[UserShown]:
    answer = await inner.ask(guest, DescribeUserScramCredentialsRequest(names))
    _check_one(answer)
    found = []
    for each in answer.results:
        _check_one(each)
        mechanisms = [UserMechanism(BY_NUMBER[info.mechanism].name, info.iterations) for info in each.credential_infos]
        found.append(UserShown(each.user, mechanisms))
    return found


def _number(name: str) -> int:
    mechanism: ScramMechanism = BY_NAME[name]
    return mechanism.number


def _check(answer: Any) -> None:
    for each in answer.results:
        _check_one(each)


def _check_one(result: Any) -> None:
    if result.error_code:
        raise broker_error(result.error_code, result.error_message or code_name(result.error_code))


ROUTES = (
    Route("GET", "/users", list_users, "Users", answer=UserPage, query=PageQuery, problems=(403,), rights=BY_REQUESTS),
    Route(
        "PUT",
        "/users/{user}",
        put_user,
        "Make a user, or give one another password",
        answer=UserShown,
        place=UserPlace,
        body=NewPassword,
        problems=(403, 422),
        rights=BY_REQUESTS,
    ),
    Route(
        "DELETE",
        "/users/{user}",
        delete_user,
        "Delete a user",
        place=UserPlace,
        status=204,
        problems=(403, 404),
        rights=BY_REQUESTS,
    ),
)
