"""Listeners as Kafka writes them: `PLAINTEXT://127.0.0.1:9092`, several with commas between.

What stands before the `://` is the listener's name. How it is secured is told by `listener.security.protocol.map`, in
which the names of the protocols stand for themselves; and by keys of its own, `listener.name.<name>.<key>`.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum

from attrs import evolve, field, frozen

from engine.config.keys import ConfigKey, Value
from engine.config.resolve import BrokerSettings

KEY_PREFIX = "listener.name."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class SecurityProtocol(Enum):
    """What a listener asks for."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


PROTOCOLS = tuple(each.value for each in SecurityProtocol)
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""By which clients can show who they are."""


@frozen
class Listener:
    """Where the broker listens, or where clients are told to connect. Port 0 is any free port."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listener(text: str) -> Listener:
    """`ValueError` if it is not `NAME://host:port`; an IPv6 host stands in brackets."""
    name, separator, address = text.strip().partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon or not _NAME.fullmatch(name):
        raise ValueError(text)
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise ValueError(text)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(text)
    return Listener(name.upper(), host, int(port))


def are_listeners(items: Sequence[str]) -> bool:
    """Whether each item is a listener and no two share an address."""
    try:
        listeners = [parse_listener(item) for item in items]
    except ValueError:
        return False
    fixed = [(each.host, each.port) for each in listeners if each.port]
    return len(set(fixed)) == len(fixed)


def parse_protocol_map(items: Sequence[str]) -> dict[str, SecurityProtocol]:
    """Names of listeners with their protocols; `ValueError` for what is none."""
    protocols = {each.value: each for each in SecurityProtocol}
    for item in items:
        name, colon, protocol = item.partition(":")
        if not colon or not _NAME.fullmatch(name) or protocol.upper() not in PROTOCOLS:
            raise ValueError(item)
        protocols[name.upper()] = SecurityProtocol(protocol.upper())
    return protocols


def is_protocol_map(items: Sequence[str]) -> bool:
    """Whether it is one."""
    try:
        parse_protocol_map(items)
    except ValueError:
        return False
    return True


# -- between nodes


@frozen
class NodeWays:
    """By which of its listeners another node is reached: the named ones, or those of a protocol, or any."""

    name: str | None = None
    protocol: SecurityProtocol | None = None
    protocols: Mapping[str, SecurityProtocol] = field(factory=lambda: parse_protocol_map(()))
    """How listeners are secured, by name; the same on all nodes."""

    @classmethod
    def of(cls, settings: BrokerSettings) -> "NodeWays":
        name, protocol = settings["inter.broker.listener.name"], settings["security.inter.broker.protocol"]
        return cls(
            str(name).upper() if name else None,
            SecurityProtocol(protocol) if protocol else None,
            parse_protocol_map(settings.items("listener.security.protocol.map")),
        )

    def to(self, listeners: Sequence[str]) -> list[Listener]:
        """Those of a node's listeners that may be tried, in their order."""
        return [each for each in map(parse_listener, listeners) if self._may(each)]

    def _may(self, listener: Listener) -> bool:
        if self.name is not None:
            return listener.name == self.name
        return self.protocol is None or self.protocols.get(listener.name) is self.protocol

    def has_tls(self, listener: Listener) -> bool:
        """Whether it is encrypted. A name that this node has no protocol for is taken for one that is not."""
        protocol = self.protocols.get(listener.name)
        return protocol is not None and protocol.has_tls


# -- keys of one listener


def scoped_key(name: str, keys: Mapping[str, ConfigKey]) -> ConfigKey | None:
    """The key for one listener, or for one mechanism of it, that such a name stands for."""
    if not name.startswith(KEY_PREFIX):
        return None
    rest = name.removeprefix(KEY_PREFIX).partition(".")[2]
    mechanism, _, behind = rest.partition(".")
    if mechanism.upper() in MECHANISMS:
        rest = behind
    key = keys.get(rest)
    return evolve(key, name=name, default=None) if key is not None and key.per_listener else None


def listener_of_key(name: str) -> str:
    """Which listener a key is for, as `listeners` names it."""
    return name.removeprefix(KEY_PREFIX).partition(".")[0].upper()


@frozen
class ListenerSettings:
    """The broker's settings as they are for one listener: its own, else everybody's."""

    settings: BrokerSettings
    name: str

    def get(self, key: str, mechanism: str = "") -> Value:
        """The value in force."""
        own = f"{KEY_PREFIX}{self.name.lower()}."
        for name in (f"{own}{mechanism.lower()}.{key}" if mechanism else "", f"{own}{key}"):
            if name in self.settings.keys and self.settings.is_set(name):
                return self.settings[name]
        return self.settings[key]

    def text(self, key: str, mechanism: str = "") -> str | None:
        """The same of a text that may be missing."""
        value = self.get(key, mechanism)
        assert value is None or isinstance(value, str), f"{key} is not text"
        return value

    def integer(self, key: str, mechanism: str = "") -> int:
        value = self.get(key, mechanism)
        assert isinstance(value, int), f"{key} is not a number"
        return value

    def flag(self, key: str) -> bool:
        value = self.get(key)
        assert isinstance(value, bool), f"{key} is not true or false"
        return value

    def items(self, key: str, mechanism: str = "") -> tuple[str, ...]:
        value = self.get(key, mechanism)
        assert isinstance(value, tuple), f"{key} is not a list"
        return value
