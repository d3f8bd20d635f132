"""What listeners ask, as the configuration says it; and what cannot be."""

import os
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from coordinators.access.password_file import PasswordFile, PasswordHash, format_users
from engine.errors import InvalidConfig
from tests.wire.kafka.door import Client, config, open_door
from tests.wire.kafka.sasl.clients import plain_login
from tests.wire.tls.authorities import AUTHORITY, BROKER, written
from tidegate.broker import Broker
from tidegate.entrances import Entrances

IN = {"listeners": "IN://127.0.0.1:0", "listener.security.protocol.map": "IN:SASL_PLAINTEXT"}


@trio_test
async def test_each_listener_has_its_own_mechanisms(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        "listeners": "A://127.0.0.1:0,B://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "listener.security.protocol.map": "A:SASL_PLAINTEXT,B:SASL_PLAINTEXT",
        "listener.name.a.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.b.connections.max.reauth.ms": "7000",
        "listener.name.b.scram-sha-256.connections.max.reauth.ms": "9000",
    }
    async with Broker(config(tmp_path, settings)) as broker:
        one, other, nothing = broker.node.services[Entrances].all
        assert one.login is not None
        assert other.login is not None
        assert nothing.login is None
        assert list(one.login.mechanisms) == ["SCRAM-SHA-256"]
        assert other.login.max_session_ms == {"SCRAM-SHA-512": 7000, "SCRAM-SHA-256": 9000}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sasl.enabled.mechanisms": ""}, "nobody could log in on IN"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "needs sasl.plain.users.location"),
        ({"sasl.enabled.mechanisms": "PLAIN", "sasl.plain.users.location": "/nowhere"}, "Cannot read /nowhere"),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "a list of PLAIN, SCRAM-SHA-256"),
    ],
)
@trio_test
async def test_what_could_let_nobody_in_does_not_start(tmp_path: Path, settings: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said):
        async with Broker(config(tmp_path, {**IN, **settings})):
            pass


@trio_test
async def test_a_file_of_users_that_has_changed_is_read_again(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(format_users({"alice": PasswordHash.of("one", os.urandom)}))
    settings = {**IN, "sasl.enabled.mechanisms": "PLAIN", "sasl.plain.users.location": str(users)}
    async with open_door(tmp_path / "data", dict(settings)) as door:
        assert (await plain_login(await door.connect(), "alice", "one")).error_code == 0
        users.write_text(format_users({"alice": PasswordHash.of("another", os.urandom)}))
        await door.broker.node.services[Entrances].reload()
        assert (await plain_login(await door.connect(), "alice", "one")).error_code != 0
        assert (await plain_login(await door.connect(), "alice", "another")).error_code == 0


@trio_test
async def test_one_file_that_fails_stops_neither_the_node_nor_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    users = tmp_path / "users"
    users.write_text(format_users({"alice": PasswordHash.of("one", os.urandom)}))
    keystore = written(tmp_path / "broker.pem", BROKER)
    settings = {
        "listeners": "IN://127.0.0.1:0,SSL://127.0.0.1:0",
        "listener.security.protocol.map": "IN:SASL_PLAINTEXT,SSL:SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.plain.users.location": str(users),
        "ssl.keystore.location": str(keystore),
    }
    async with open_door(tmp_path / "data", dict(settings)) as door:
        entrances = door.broker.node.services[Entrances]
        before = entrances.identities["SSL"].context

        def fail(_: object) -> None:
            raise RecursionError

        monkeypatch.setattr(PasswordFile, "load", fail)
        users.write_text("another")
        written(keystore, AUTHORITY.broker(["localhost", "127.0.0.1"]))
        await entrances.reload()
        assert "stays as it was read last: RecursionError" in caplog.text
        assert entrances.identities["SSL"].context is not before
        assert (await plain_login(await door.connect(), "alice", "one")).error_code == 0


@trio_test
async def test_who_has_logged_in_lately_does_not_wait_for_those_whose_passwords_are_checked(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(format_users({name: PasswordHash.of("one", os.urandom) for name in ("alice", "bob")}))
    settings = {**IN, "sasl.enabled.mechanisms": "PLAIN", "sasl.plain.users.location": str(users)}
    async with open_door(tmp_path / "data", dict(settings)) as door:
        assert (await plain_login(await door.connect(), "alice", "one")).error_code == 0
        async with door.broker.node.services[Entrances]._checking.held("10.0.0.7"):
            assert (await plain_login(await door.connect(), "alice", "one")).error_code == 0
            for name, password in (("alice", "another"), ("bob", "one")):
                with trio.move_on_after(0.1) as waiting:
                    await plain_login(await door.connect(), name, password)
                assert waiting.cancelled_caught


@trio_test
async def test_who_comes_from_elsewhere_does_not_wait_for_all_who_guess(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(format_users({"alice": PasswordHash.of("one", os.urandom)}))
    settings = {**IN, "sasl.enabled.mechanisms": "PLAIN", "sasl.plain.users.location": str(users)}
    answered: list[str] = []

    async def log_in(address: str, password: str) -> None:
        port = int(door.broker.kafka_address.rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port, local_address=address) as stream:
            answer = await plain_login(Client(stream), "alice", password)
            answered.append(f"{password} {answer.error_code}")

    async with open_door(tmp_path / "data", dict(settings)) as door, trio.open_nursery() as nursery:
        lock = door.broker.node.services[Entrances]._checking
        async with lock.held("10.0.0.7"):
            for _ in range(12):
                nursery.start_soon(log_in, "127.0.0.1", "guess")
            with trio.fail_after(20):
                while sum(map(len, lock._waiting.values())) < 12:  # noqa: ASYNC110
                    await trio.sleep(0.01)
                nursery.start_soon(log_in, "127.0.0.2", "one")
                while sum(map(len, lock._waiting.values())) < 13:  # noqa: ASYNC110
                    await trio.sleep(0.01)
    assert answered.index("one 0") < 4, answered
    assert answered.count("guess 58") == 12
