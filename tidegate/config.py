"""How the broker is configured: a TOML or JSON file, environment variables, `--set`, or a program's own mapping.

Kafka's names everywhere. In TOML both `"log.segment.bytes" = 1048576` and `[log]` with `segment.bytes =
1048576` are read. An environment variable is `TIDEGATE_` and the key in upper case with underscores for dots:
`TIDEGATE_LOG_SEGMENT_BYTES`. A file whose name ends in `.json` may also say `host`, `port` and `storage`
(`config_file.py`). What stands further right wins: default, file, environment, `--set`, program.
An unknown key or a bad value is refused with its name, where it was given and what would be right.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from attrs import field, frozen

from coordinators.cluster.defaults import cluster_keys
from coordinators.share.config import check_bounds
from engine.config.keys import Value
from engine.config.resolve import BrokerSettings
from engine.config.topic import TOPIC_KEYS
from engine.errors import InvalidConfig
from tidegate.config_file import Setting, file_settings
from tidegate.config_keys import BROKER_KEYS
from wire.kafka.listeners import (
    KEY_PREFIX,
    Listener,
    NodeWays,
    SecurityProtocol,
    listener_of_key,
    parse_listener,
    parse_protocol_map,
    scoped_key,
)

DOOR_NAME = "HTTP"
"""Of the operations door as a listener, in the names of keys."""
GRPC_DOOR_NAME = "GRPC"
"""The same of the gRPC door."""
TEXT_DOOR_NAME = "TEXT"
"""The same of the text door."""
REGISTRY_NAME = "REGISTRY"
"""The same of the schema registry."""
DOOR_NAMES = (DOOR_NAME, GRPC_DOOR_NAME, TEXT_DOOR_NAME, REGISTRY_NAME)
ENVIRONMENT_PREFIX = "TIDEGATE_"

# What Kubernetes puts into every container of a namespace with a service named "tidegate", and what the commands that
# talk to a broker read (tools/cli/profiles.py).
_NOT_OURS = re.compile(r"TIDEGATE_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\w+)?|CLI_\w+)")


@frozen
class BrokerConfig:
    """The broker's own configuration. `given` holds what was set, without defaults; `origins` tells where."""

    given: Mapping[str, Value] = field(repr=False)
    origins: Mapping[str, str]
    settings: BrokerSettings

    @classmethod
    def load(
        cls,
        *,
        file: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        assignments: Iterable[str] = (),
        values: Mapping[str, object] | None = None,
    ) -> "BrokerConfig":
        """Reads all places; `assignments` are the texts of `--set`, `values` a program's own."""
        settings: list[Setting] = []
        if file is not None:
            settings += file_settings(Path(file))
        settings += environment_settings(environment or {})
        settings += [_assignment(text) for text in assignments]
        settings += [Setting(name, value, "program") for name, value in (values or {}).items()]
        return cls.of(settings)

    @classmethod
    def of(cls, settings: Iterable[Setting]) -> "BrokerConfig":
        """From settings in rising strength; `InvalidConfig` for the first that cannot be."""
        given: dict[str, Value] = {}
        origins: dict[str, str] = {}
        for setting in settings:
            given[setting.name] = _checked(setting)
            origins[setting.name] = setting.origin
        _unite_node_id(given, origins)
        is_in_cluster = bool(given.get("etcd.endpoints"))
        keys = cluster_keys(BROKER_KEYS) if is_in_cluster else BROKER_KEYS
        own = {name: key for name in given if (key := scoped_key(name, keys)) is not None}
        layers = BrokerSettings(static=given, keys={**keys, **own} if own else keys)
        layers.check()
        check_bounds(layers)
        config = cls(given, origins, layers)
        config.check_listeners()
        return config

    def __getitem__(self, name: str) -> Value:
        return self.settings[name]

    @property
    def node_id(self) -> int:
        return self.settings.integer("node.id")

    @property
    def data_directory(self) -> Path:
        return Path(self.settings.items("log.dirs")[0])

    @property
    def listeners(self) -> tuple[Listener, ...]:
        return tuple(parse_listener(text) for text in self.settings.items("listeners"))

    @property
    def advertised_listeners(self) -> tuple[Listener, ...]:
        """What clients are told; empty if it is what `listeners` turn out to be."""
        return tuple(parse_listener(text) for text in self.settings.items("advertised.listeners"))

    def protocol(self, listener: Listener) -> SecurityProtocol:
        """How a listener is secured."""
        return parse_protocol_map(self.settings.items("listener.security.protocol.map"))[listener.name]

    def advertised(self, number: int) -> Listener | None:
        """What clients of the listener of this number are told; of several of one name each has its own."""
        listeners = self.listeners
        name = listeners[number].name
        told = [each for each in self.advertised_listeners if each.name == name]
        place = sum(each.name == name for each in listeners[:number])
        return told[place] if place < len(told) else None

    def check_listeners(self) -> None:
        """`InvalidConfig` where a name is used that no listener has, or that has no protocol."""
        names = {listener.name for listener in self.listeners}
        protocols = parse_protocol_map(self.settings.items("listener.security.protocol.map"))
        for name in sorted(names - protocols.keys()):
            raise InvalidConfig(
                f"The listener {name} has no protocol: add {name}:SASL_SSL, or another, to "
                f"listener.security.protocol.map"
            )
        for name in sorted({each.name for each in self.advertised_listeners} - names):
            raise InvalidConfig(f"advertised.listeners names {name}, and listeners has none of that name")
        self._check_node_ways(names)
        for key in self.given:
            if key.startswith(KEY_PREFIX) and listener_of_key(key) not in {*names, *DOOR_NAMES}:
                raise InvalidConfig(
                    f"{key} ({self.origins[key]}) is for a listener that there is not: listeners has "
                    f"{', '.join(sorted(names))}"
                )

    def _check_node_ways(self, names: Collection[str]) -> None:
        """What nodes of a cluster reach each other by."""
        ways = NodeWays.of(self.settings)
        if ways.name is not None and ways.protocol is not None:
            raise InvalidConfig(
                "inter.broker.listener.name and security.inter.broker.protocol are both set: leave out the second"
            )
        if ways.name is not None and ways.name not in names:
            raise InvalidConfig(f"inter.broker.listener.name is {ways.name}, and listeners has none of that name")
        told = [str(listener) for listener in self.listeners]
        if ways.protocol is not None and not ways.to(told):
            raise InvalidConfig(
                f"security.inter.broker.protocol is {ways.protocol.value}, and none of the listeners has that protocol"
            )


def environment_settings(environment: Mapping[str, str]) -> Iterator[Setting]:
    """The settings among the environment variables; those without the prefix are nobody's business here."""
    names = {environment_name(name): name for name in (*TOPIC_KEYS, *BROKER_KEYS)}
    for variable, value in environment.items():
        if variable.startswith(ENVIRONMENT_PREFIX) and not _NOT_OURS.fullmatch(variable):
            unknown = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", ".")
            yield Setting(names.get(variable, unknown), value, f"environment variable {variable}")


def environment_name(key: str) -> str:
    """`log.segment.bytes` -> `TIDEGATE_LOG_SEGMENT_BYTES`."""
    return ENVIRONMENT_PREFIX + key.upper().replace(".", "_")


def _assignment(text: str) -> Setting:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidConfig(f"Cannot read '{text}' (--set): must be key=value")
    return Setting(name.strip(), value.strip(), "--set")


def _checked(setting: Setting) -> Value:
    key = BROKER_KEYS.get(setting.name) or scoped_key(setting.name, BROKER_KEYS)
    if key is None:
        raise InvalidConfig(f"Unknown configuration {setting.name} ({setting.origin}): {_suggestion(setting.name)}")
    try:
        return key.coerce(setting.value)
    except InvalidConfig as error:
        raise InvalidConfig(f"{error} ({setting.origin})") from None


def _suggestion(name: str) -> str:
    topic_key = TOPIC_KEYS.get(name)
    if topic_key is not None and topic_key.synonyms:
        return f"this is a topic's key; the broker's default for it is {topic_key.synonyms[0].name}"
    if topic_key is not None:
        return "this is a topic's key and can be set on topics alone"
    import difflib  # here: only who mistypes a key needs it

    close = difflib.get_close_matches(name, BROKER_KEYS, n=1)
    return f"did you mean {close[0]}?" if close else "docs/configuration.md lists the broker's keys"


def _unite_node_id(given: dict[str, Value], origins: dict[str, str]) -> None:
    """`broker.id` is the older name of `node.id`: both show the same number."""
    names = [name for name in ("node.id", "broker.id") if name in given]
    if len({given[name] for name in names}) > 1:
        raise InvalidConfig(
            f"Invalid value '{given['broker.id']}' for configuration broker.id: must be that of node.id, "
            f"which is {given['node.id']} ({origins['broker.id']}; {origins['node.id']})"
        )
    if names:
        for name in ("node.id", "broker.id"):
            given[name] = given[names[0]]
            origins.setdefault(name, origins[names[0]])
