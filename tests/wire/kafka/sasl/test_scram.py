"""PLAIN and SCRAM without a wire: who gets in, and what each way to cheat comes to."""

import os
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import trio_test

from coordinators.access.callers import Principal
from coordinators.access.scram import SCRAM_SHA_256, SCRAM_SHA_512, ScramMechanism, credential_of
from coordinators.access.users import Users
from engine.catalogue.user_records import UserRecord
from engine.errors import SaslAuthenticationFailed
from tests.wire.kafka.sasl.clients import ScramClient
from wire.kafka.sasl.exchange import SaslExchange
from wire.kafka.sasl.plain import PlainExchange
from wire.kafka.sasl.scram import ScramExchange

ODD = "a,b=c é"


def users() -> Users:
    made = Users()
    made.take_secret(b"secret")
    for name in ("alice", "bob", ODD):
        scram = {each.name: credential_of(each, "sesame", os.urandom, 4096) for each in (SCRAM_SHA_256, SCRAM_SHA_512)}
        made._replace(name, UserRecord(name, scram), 1)
    return made


USERS = users()


def scram(mechanism: ScramMechanism = SCRAM_SHA_256) -> ScramExchange:
    return ScramExchange(mechanism, USERS, os.urandom)


@pytest.mark.parametrize("mechanism", [SCRAM_SHA_256, SCRAM_SHA_512])
@pytest.mark.parametrize("user", ["alice", ODD])
@trio_test
async def test_who_knows_the_password_gets_in_and_knows_the_server(mechanism: ScramMechanism, user: str) -> None:
    client, exchange = ScramClient(user, "sesame", mechanism.hash_name), scram(mechanism)
    first = await exchange.take(client.first())
    assert first.shown is None
    last = await exchange.take(client.final(first.answer))
    assert last.shown is not None
    assert last.shown.principal == Principal(user)
    assert client.is_from_server(last.answer)


@pytest.mark.parametrize(("user", "password"), [("alice", "Sesame"), ("nobody", "sesame"), ("alice", "")])
@trio_test
async def test_who_does_not_fails_at_the_proof_and_not_before(user: str, password: str) -> None:
    client, exchange = ScramClient(user, password), scram()
    first = await exchange.take(client.first())
    with pytest.raises(SaslAuthenticationFailed, match="no such user, or it has another password"):
        await exchange.take(client.final(first.answer))


@trio_test
async def test_a_name_that_is_not_there_answers_alike_each_time() -> None:
    answers = [(await scram().take(ScramClient("nobody", "").first())).answer for _ in range(2)]
    assert answers[0].partition(b",")[2] == answers[1].partition(b",")[2]


@trio_test
async def test_a_final_message_of_another_exchange_is_worth_nothing() -> None:
    """CVE-2024-56128: the nonce is compared, and so is what the proof is about."""
    client, exchange = ScramClient("alice", "sesame"), scram()
    recorded = client.final((await exchange.take(client.first())).answer)
    later = scram()
    await later.take(client.first())
    with pytest.raises(SaslAuthenticationFailed, match="nonce"):
        await later.take(recorded)


@pytest.mark.parametrize(
    ("nonce", "binding", "said"),
    [("rOprNGfwEbeRWgbNEkqO", None, "nonce"), ("other", None, "nonce"), (None, "eSws", "another beginning")],
)
@trio_test
async def test_altered_final_messages_fail_though_the_proof_is_right(
    nonce: str | None, binding: str | None, said: str
) -> None:
    client, exchange = ScramClient("alice", "sesame"), scram()
    first = await exchange.take(client.first())
    with pytest.raises(SaslAuthenticationFailed, match=said):
        await exchange.take(client.final(first.answer, nonce=nonce, binding=binding))


@trio_test
async def test_the_log_says_when_it_is_an_old_librdkafka() -> None:
    """Whoever runs the broker would look for a wrong password else; the client is told no more than others."""
    client, exchange = ScramClient("alice", "sesame"), scram()
    first = await exchange.take(client.first())
    assert first.answer is not None
    nonce = first.answer.decode().partition(",")[0].removeprefix("r=")
    with pytest.raises(SaslAuthenticationFailed, match=r"librdkafka before 2\.6\.1"):
        await exchange.take(client.final(first.answer, nonce=client.nonce + nonce))


@pytest.mark.parametrize("header", ["n,a=alice,", "y,,"])
@trio_test
async def test_an_authorization_id_of_ones_own_is_fine(header: str) -> None:
    client, exchange = ScramClient("alice", "sesame", header=header), scram()
    last = await exchange.take(client.final((await exchange.take(client.first())).answer))
    assert last.shown is not None


@pytest.mark.parametrize(
    "message",
    [
        b"n,a=bob,n=alice,r=abc",
        b"p=tls-unique,,n=alice,r=abc",
        b"n,,n=alice",
        b"n,,n=,r=abc",
        b"n,,n=al=ice,r=abc",
        b"n,,n=alice,r=",
        b"n,,n=alice,r=a\x00b",
        b"n,,m=must,n=alice,r=abc",
        b"n,,n=alice,r=abc,tokenauth=true",
        b"\xff\xfe",
        b"",
        b"n,,n=alice,r=" + b"a" * 9000,
    ],
)
@trio_test
async def test_first_messages_that_are_none_fail(message: bytes) -> None:
    """CVE-2017-12610 among them: nobody acts as another."""
    with pytest.raises(SaslAuthenticationFailed):
        await scram().take(message)


@trio_test
async def test_unknown_extensions_are_passed_over() -> None:
    client, exchange = ScramClient("alice", "sesame", extensions=",ext=1,other="), scram()
    assert (await exchange.take(client.final((await exchange.take(client.first())).answer))).shown is not None


@trio_test
async def test_one_try_is_one_try() -> None:
    client, exchange = ScramClient("alice", "wrong"), scram()
    first = await exchange.take(client.first())
    with pytest.raises(SaslAuthenticationFailed):
        await exchange.take(client.final(first.answer))
    right = ScramClient("alice", "sesame", nonce=client.nonce)
    right.first()
    with pytest.raises(SaslAuthenticationFailed):
        await exchange.take(right.final(first.answer))


async def knows(user: str, password: str, address: str) -> bool:
    assert address == "10.0.0.7"
    return (user, password) == ("alice", "sesame")


@pytest.mark.parametrize("message", [b"\0alice\0sesame", b"alice\0alice\0sesame"])
@trio_test
async def test_plain_takes_a_name_and_its_password(message: bytes) -> None:
    turn = await PlainExchange(knows, "10.0.0.7").take(message)
    assert turn.shown is not None
    assert turn.shown.principal == Principal("alice")


@pytest.mark.parametrize(
    "message",
    [
        b"bob\0alice\0sesame",
        b"\0alice\0Sesame",
        b"\0alice\0",
        b"\0\0sesame",
        b"alice\0sesame",
        b"\0alice\0sesame\0",
        b"",
        b"\0\xff\0sesame",
    ],
)
@trio_test
async def test_plain_takes_nothing_else(message: bytes) -> None:
    with pytest.raises(SaslAuthenticationFailed):
        await PlainExchange(knows, "10.0.0.7").take(message)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.text("n,=ra2CpDc", max_size=40).map(str.encode)), max_size=3))
def test_no_bytes_make_anything_else_than_a_failure(messages: list[bytes]) -> None:
    makers: list[Callable[[], SaslExchange]] = [scram, lambda: PlainExchange(knows, "10.0.0.7")]

    @trio_test
    async def tried() -> None:
        for make in makers:
            exchange = make()
            for message in messages:
                if not await failed(exchange.take(message)):
                    continue
                break

    tried()


async def failed(turn: Awaitable[object]) -> bool:
    try:
        await turn
    except SaslAuthenticationFailed:
        return True
    return False
