"""Who a client of the text door is, asked without a connection."""

import pytest
from attrs import evolve
from trio.testing import trio_test

from coordinators.access.callers import ANONYMOUS, Principal, Proof
from coordinators.access.failed_logins import FailedLogins
from engine.clock import ManualClock
from engine.timers import Timers
from wire.http.config import Access
from wire.text.commands import AuthCommand, BadCommand
from wire.text.logins import TextLogins

HERE = "::ffff:10.0.0.7"


async def check(name: str, password: str) -> Proof | None:
    return Proof(Principal(name)) if password == "sesame" else None


def logins() -> TextLogins:
    return TextLogins(Access("door-token"), check_password=check, delay_s=0.0)


def said(secret: str, user: str | None = None) -> AuthCommand:
    return AuthCommand(user, secret)


@trio_test
async def test_whoever_shows_it_is_let_in_by_the_address_as_it_is_written() -> None:
    caller = await logins().named(said("sesame", "alice"), HERE)
    assert (caller.principal, caller.host) == (Principal("alice"), "10.0.0.7")


@pytest.mark.parametrize("wrong", [said("guess", "alice"), said("door-toke"), said(""), said("sesame", "ANONYMOUS")])
@trio_test
async def test_what_is_wrong_is_counted_and_told_to_the_log_without_what_was_said(
    wrong: AuthCommand, caplog: pytest.LogCaptureFixture
) -> None:
    failed = FailedLogins(ManualClock(), Timers())
    asking = evolve(logins(), failed=failed)
    with pytest.raises(BadCommand) as caught:
        await asking.named(wrong, HERE)
    assert (caught.value.code, asking.refused) == ("AUTHENTICATION_FAILED", 1)
    (line,) = caplog.records
    assert (vars(line)["address"], vars(line)["listener"]) == ("10.0.0.7", "text")
    assert "guess" not in str(vars(line))


def test_where_there_is_no_way_to_show_who_one_is_nobody_is_asked() -> None:
    caller = TextLogins().at_the_door(HERE, None)
    assert caller is not None
    assert caller.principal == ANONYMOUS
    assert logins().at_the_door(HERE, None) is None
