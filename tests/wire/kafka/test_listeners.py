"""Listener addresses are read and written as Kafka writes them."""

import pytest

from engine.config.keys import ConfigKey, ConfigType
from engine.config.resolve import BrokerSettings
from wire.kafka.listeners import (
    Listener,
    ListenerSettings,
    NodeWays,
    SecurityProtocol,
    are_listeners,
    is_protocol_map,
    listener_of_key,
    parse_listener,
    parse_protocol_map,
    scoped_key,
)

KEYS = {
    "sasl.a": ConfigKey("sasl.a", ConfigType.INT, 1, "One.", per_listener=True),
    "sasl.b": ConfigKey("sasl.b", ConfigType.INT, 1, "Everybody's."),
}


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://127.0.0.1:9092", Listener("PLAINTEXT", "127.0.0.1", 9092)),
        ("plaintext://broker.example:0", Listener("PLAINTEXT", "broker.example", 0)),
        ("PLAINTEXT://[::1]:9092", Listener("PLAINTEXT", "::1", 9092)),
        ("outside://host:1", Listener("OUTSIDE", "host", 1)),
        ("PLAINTEXT://:9092", Listener("PLAINTEXT", "", 9092)),
    ],
)
def test_a_listener_is_read(text: str, listener: Listener) -> None:
    assert parse_listener(text) == listener


def test_a_listener_is_written_as_it_is_read() -> None:
    for text in ("PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://[::1]:9092"):
        assert str(parse_listener(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:9092",
        "PLAINTEXT://host",
        "PLAINTEXT://host:x",
        "PLAINTEXT://host:65536",
        "PLAINTEXT://host:-1",
        "PLAINTEXT://::1:9092",
        "://host:1",
        "A B://host:1",
    ],
)
def test_what_is_no_listener_is_refused(text: str) -> None:
    assert not are_listeners([text])


def test_two_listeners_on_one_address_are_refused() -> None:
    assert not are_listeners(["PLAINTEXT://a:1", "PLAINTEXT://a:1"])
    assert are_listeners(["PLAINTEXT://a:0", "PLAINTEXT://a:0", "PLAINTEXT://b:1"])


def test_protocols_stand_for_themselves_and_other_names_are_mapped() -> None:
    protocols = parse_protocol_map(["outside:sasl_ssl", "SSL:PLAINTEXT"])
    assert protocols["OUTSIDE"] is SecurityProtocol.SASL_SSL
    assert protocols["PLAINTEXT"] is SecurityProtocol.PLAINTEXT
    assert protocols["SSL"] is SecurityProtocol.PLAINTEXT, "a name may be given another protocol"


@pytest.mark.parametrize("item", ["A", "A:", "A:TLS", ":SSL", "A B:SSL"])
def test_what_is_no_protocol_map_is_refused(item: str) -> None:
    assert not is_protocol_map([item])


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("listener.name.outside.sasl.a", "sasl.a"),
        ("listener.name.outside.scram-sha-256.sasl.a", "sasl.a"),
        ("listener.name.outside.sasl.b", None),
        ("listener.name.outside.gssapi.sasl.a", None),
        ("listener.name.outside.unknown", None),
        ("sasl.a", None),
    ],
)
def test_keys_of_one_listener_are_known_by_the_key_behind_them(name: str, base: str | None) -> None:
    key = scoped_key(name, KEYS)
    assert (None if key is None else (key.name, key.documentation)) == (None if base is None else (name, "One."))


def test_a_listener_has_its_own_value_before_everybodys_and_a_mechanism_before_that() -> None:
    given = {"sasl.a": 2, "listener.name.in.sasl.a": 3, "listener.name.in.plain.sasl.a": 4}
    keys = {**KEYS, **{name: key for name in given if (key := scoped_key(name, KEYS)) is not None}}
    settings = BrokerSettings(static=given, keys=keys)
    inside, outside = ListenerSettings(settings, "IN"), ListenerSettings(settings, "OUT")
    assert (outside.integer("sasl.a"), inside.integer("sasl.a"), inside.integer("sasl.a", "PLAIN")) == (2, 3, 4)
    assert inside.integer("sasl.a", "SCRAM-SHA-256") == 3
    assert listener_of_key("listener.name.in.plain.sasl.a") == "IN"


def test_nodes_go_by_the_listener_that_is_named_or_of_a_protocol_or_by_any() -> None:
    listeners = ("CLIENTS://a:1", "NODES://b:2", "SSL://c:3")
    protocols = parse_protocol_map(("CLIENTS:SASL_SSL", "NODES:SSL"))
    assert [each.port for each in NodeWays(protocols=protocols).to(listeners)] == [1, 2, 3]
    assert [each.port for each in NodeWays("NODES", protocols=protocols).to(listeners)] == [2]
    by_protocol = NodeWays(protocol=SecurityProtocol.SSL, protocols=protocols)
    assert [each.port for each in by_protocol.to(listeners)] == [2, 3]
    assert NodeWays("OTHERS", protocols=protocols).to(listeners) == []


def test_whether_a_way_is_encrypted_is_told_by_the_map() -> None:
    ways = NodeWays(protocols=parse_protocol_map(("NODES:SSL", "CLIENTS:SASL_PLAINTEXT")))
    found = [ways.has_tls(parse_listener(f"{name}://a:1")) for name in ("NODES", "CLIENTS", "PLAINTEXT", "UNKNOWN")]
    assert found == [True, False, False, False]
