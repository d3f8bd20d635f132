"""The sockets that the broker listens on: bound before anything is recovered, so that a port in use is told at once."""

import errno
import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Protocol

from attrs import frozen

from engine.config.keys import Value
from tidegate.config import BrokerConfig
from wire.http.config import OPERATOR, Access, parse_principal
from wire.kafka.listeners import Listener, ListenerSettings
from wire.kafka.request import Endpoint
from wire.kafka.server import KafkaServer
from wire.socket_options import begin_unpaced

logger = logging.getLogger("tidegate.access")

BACKLOG = 1024
IN_CLEAR = ("PLAIN", "OAUTHBEARER")
"""Mechanisms by which a secret itself goes over the wire."""
DOOR_KEY = "http.advertised.url"
DOOR_WORDS = {"http": "operations", "grpc": "gRPC", "text": "text", "registry": "registry's"}
WILDCARDS = ("", "0.0.0.0", "::")


class CannotListen(Exception):
    """An address that cannot be listened on; `is_configuration`: not now nor later, unless the settings change."""

    def __init__(self, message: str, *, is_configuration: bool = False) -> None:
        super().__init__(message)
        self.is_configuration = is_configuration


@frozen
class Options:
    """What chooses an address, in words for a message."""

    host: str
    port: str


KAFKA_OPTIONS = Options("--host (or listeners)", "--kafka-port")
HTTP_OPTIONS = Options("--set http.host", "--http-port, or 0 for none")
GRPC_OPTIONS = Options("--set grpc.host", "--grpc-port, or 0 for none")
TEXT_OPTIONS = Options("--set text.host", "--text-port, or 0 for none")
REGISTRY_OPTIONS = Options("--set registry.host", "--registry-port, or 0 for none")


class Listening(Protocol):
    """An address by which clients reach the node: a socket of this machine, or what a simulation has for one."""

    @property
    def told(self) -> str:
        """What others tell clients of it."""

    def listen(self) -> None:
        """Let clients connect."""

    async def serve(self, server: KafkaServer, number: int) -> None:
        """Serve who connects, for ever; it is the listener of this number."""


@frozen
class BoundListener:
    """A bound socket and what its clients are told; None where they are told the address they came by."""

    socket: socket.socket
    endpoint: Endpoint | None
    name: str = "PLAINTEXT"

    @property
    def address(self) -> str:
        """Host and port as bound."""
        return _address(self.socket)

    @property
    def told(self) -> str:
        """What others tell clients of it; the address as bound, where its own are told the one by which they came."""
        host, port = self.socket.getsockname()[:2]
        endpoint = self.endpoint or Endpoint(host, port)
        return str(Listener(self.name, endpoint.host, endpoint.port))

    def listen(self) -> None:
        """Let clients connect."""
        begin_unpaced(self.socket)
        self.socket.listen(BACKLOG)

    async def serve(self, server: KafkaServer, number: int) -> None:
        """Serve who connects, for ever; it is the listener of this number."""
        await server.serve(self.socket, self.endpoint, number)


@frozen
class BoundDoor:
    """The bound socket of a door other than Kafka's, and who may call it."""

    socket: socket.socket
    access: Access
    has_tls: bool = False
    takes_passwords: bool = False
    takes_tokens: bool = False

    @property
    def address(self) -> str:
        """Host and port as bound."""
        return _address(self.socket)


@frozen
class BoundDoors:
    """The doors beside Kafka's; None where one is switched off."""

    http: BoundDoor | None = None
    grpc: BoundDoor | None = None
    text: BoundDoor | None = None
    registry: BoundDoor | None = None


@contextmanager
def bind_doors(config: BrokerConfig) -> Iterator[BoundDoors]:
    """Bind the doors that are not switched off; they are closed at the end of the block."""
    with (
        _bind_door(config, "http", HTTP_OPTIONS) as http,
        _bind_door(config, "grpc", GRPC_OPTIONS) as grpc,
        _bind_door(config, "text", TEXT_OPTIONS) as text,
        _bind_door(config, "registry", REGISTRY_OPTIONS) as registry,
    ):
        yield BoundDoors(http, grpc, text, registry)


@contextmanager
def _bind_door(config: BrokerConfig, door: str, options: Options) -> Iterator[BoundDoor | None]:
    """`door` is what the names of its keys begin with, and in capitals its name as a listener."""
    host, port = config.settings.text(f"{door}.host"), config.settings.integer(f"{door}.port")
    if port == 0:
        yield None
        return
    with _bind(Listener(door.upper(), host, max(port, 0)), options) as sock:
        access = _access(config, door, host, sock.getsockname()[0])
        mechanisms = config.settings.items(f"{door}.enabled.mechanisms")
        yield BoundDoor(sock, access, _has_tls(config, door), "BASIC" in mechanisms, "OAUTHBEARER" in mechanisms)


def with_door(given: Mapping[str, Value], bound: BoundDoor | None) -> Mapping[str, Value]:
    """The settings with where the door is: only now is it known which port a free one has become."""
    if bound is None or given.get(DOOR_KEY):
        return given
    return {**given, DOOR_KEY: f"{'https' if bound.has_tls else 'http'}://{bound.address}"}


def _access(config: BrokerConfig, door: str, host: str, bound: str) -> Access:
    token = config[f"{door}.token"]
    assert token is None or isinstance(token, str)
    principal = parse_principal(config.settings.text(f"{door}.token.principal")) or OPERATOR
    origins = frozenset(config.settings.items("http.cors.allowed.origins"))
    read_only = door == "http" and config.settings.flag("http.read.only")
    if _is_loopback(bound):
        hosts = frozenset({"localhost", "127.0.0.1", "::1", bound, host.lower()})
        return Access(token, hosts, principal, origins, read_only)
    mechanisms = config.settings.items(f"{door}.enabled.mechanisms")
    if mechanisms and not _has_tls(config, door):
        raise CannotListen(
            f"{door}.host={host} is not loopback, so passwords and tokens ({door}.enabled.mechanisms) could be read on "
            f"their way: set {door}.security.protocol=SSL",
            is_configuration=True,
        )
    if token is None and not mechanisms and not _asks_for_certificates(config, door):
        raise CannotListen(
            f"{door}.host={host} is not loopback, so others could reach the {DOOR_WORDS[door]} door: set {door}.token "
            f"to a secret that callers must send, {door}.enabled.mechanisms=BASIC with {door}.security.protocol=SSL to "
            f"ask for passwords, or {door}.port=0 to switch it off",
            is_configuration=True,
        )
    return Access(token, token_principal=principal, origins=origins, read_only=read_only)


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def _refuse_strangers(config: BrokerConfig, listener: Listener, bound: str) -> None:
    """A listener that others reach asks who they are, unless its owner says that it need not."""
    settings, protocol = ListenerSettings(config.settings, listener.name), config.protocol(listener)
    is_asked = protocol.has_sasl or (protocol.has_tls and settings.get("ssl.client.auth") == "required")
    if is_asked or _is_loopback(bound) or settings.flag("listener.allow.anonymous"):
        return
    way = "set ssl.client.auth=required, or make it SASL_SSL" if protocol.has_tls else "make it SASL_SSL"
    raise CannotListen(
        f"{listener} is not loopback and asks nobody who they are ({protocol.value}), so everybody who reaches it "
        f"could do everything: {way} (docs/security.md), or say that it is meant "
        f"with --allow-anonymous (listener.allow.anonymous=true)",
        is_configuration=True,
    )


def _warn_of_secrets(config: BrokerConfig, listener: Listener, bound: str) -> None:
    """Of passwords and tokens that others could read on their way."""
    protocol = config.protocol(listener)
    if protocol.has_tls or not protocol.has_sasl or _is_loopback(bound):
        return
    mechanisms = ListenerSettings(config.settings, listener.name).items("sasl.enabled.mechanisms")
    if told := [name for name in mechanisms if name in IN_CLEAR]:
        logger.warning(
            "%s is not loopback and not encrypted (%s), and by %s (sasl.enabled.mechanisms) secrets could be read on "
            "their way: make it SASL_SSL with listener.security.protocol.map, or leave them to SCRAM",
            listener,
            protocol.value,
            " and ".join(told),
        )


def _has_tls(config: BrokerConfig, door: str) -> bool:
    return config.settings.text(f"{door}.security.protocol") == "SSL"


def _asks_for_certificates(config: BrokerConfig, door: str) -> bool:
    settings = ListenerSettings(config.settings, door.upper())
    return _has_tls(config, door) and settings.text("ssl.client.auth") != "none"


def _address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def bind_all(config: BrokerConfig) -> Iterator[list[BoundListener]]:
    """Bind every listener of the configuration; they are closed at the end of the block."""
    with ExitStack() as stack:
        bound = []
        for number, listener in enumerate(config.listeners):
            sock = stack.enter_context(_bind(listener, KAFKA_OPTIONS))
            _refuse_strangers(config, listener, sock.getsockname()[0])
            _warn_of_secrets(config, listener, sock.getsockname()[0])
            bound.append(BoundListener(sock, _endpoint(listener, config.advertised(number), sock), listener.name))
        yield bound


def _bind(listener: Listener, options: Options) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            listener.host or None, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise CannotListen(
            f"cannot listen on {listener}: nothing is known of the host {listener.host} ({error.strerror}); "
            f"choose another with {options.host}",
            is_configuration=True,
        ) from error
    try:
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"cannot listen on {listener}: {error.strerror}") from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise _refusal(listener, options, error) from error
    return sock


def _refusal(listener: Listener, options: Options, error: OSError) -> CannotListen:
    """Why an address cannot be had, and what to do."""
    if error.errno == errno.EADDRINUSE:
        reason = (
            f"address already in use, perhaps by another broker; stop that, or choose another port with {options.port}"
        )
    elif error.errno == errno.EADDRNOTAVAIL:
        reason = f"this machine has no address {listener.host}; choose another with {options.host}"
    elif error.errno == errno.EACCES:
        reason = f"this user may not have port {listener.port}; choose one from 1024 on with {options.port}"
    else:
        reason = f"{error.strerror}; choose another address with {options.host} and {options.port}"
    return CannotListen(f"cannot listen on {listener}: {reason}", is_configuration=error.errno != errno.EADDRINUSE)


def _endpoint(listener: Listener, told: Listener | None, sock: socket.socket) -> Endpoint | None:
    port = sock.getsockname()[1]
    if told is not None:
        return Endpoint(told.host, told.port or port)
    if listener.host in WILDCARDS:
        return None
    return Endpoint(listener.host, port)
