"""What a handler is given and what it may return.

A handler is a plain function `handle(request, context, ...)`; what follows `context` are the services that it uses,
which the door gives it by the types of their annotations (`wire/services.py`). It returns its response; or a `Deferred`
when the answer waits for something (a sync, new records) while later requests of the connection go on; or a coroutine
(it is an `async def`, or calls one), or a generator that yields wherever it may pause (`steps.py`), and then the
connection handles no further request before that has returned one of the others.
It returns None for a request that has no answer (Produce with acks=0).
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, field, frozen

from coordinators.access.callers import ANONYMOUS, Caller, plain_address
from engine.deferred import Deferred as Deferred
from engine.records.batch import Publisher
from wire.kafka.nodes.trust import NodeLink

if TYPE_CHECKING:
    from wire.kafka.sasl.login import Login

T = TypeVar("T")
Later = Deferred[T] | Coroutine[Any, Any, T]
"""An answer that waits for something."""


@frozen
class Endpoint:
    """Where clients of a listener are told to connect."""

    host: str
    port: int


def _told(peer: "Peer", _: Any, caller: Caller) -> Caller:
    if peer.on_caller is not None:
        peer.on_caller(caller)
    return caller


@define
class Peer:
    """Who is at the other end of a connection, and by which of our addresses it came."""

    address: str
    port: int
    endpoint: Endpoint
    connection_id: int
    software_name: str = ""
    software_version: str = ""
    gone: bool = False
    listener: int = 0
    """The number of the listener that it came by."""
    listener_name: str = "PLAINTEXT"
    """And its name, in capitals."""
    login: "Login | None" = field(default=None, init=False)
    """By which it shows who it is, where its listener asks for that."""
    caller: Caller = field(init=False, on_setattr=_told)
    """Whose requests these are; nobody's in particular before it has shown who it is."""
    mute: Callable[[float], object] | None = field(default=None, init=False)
    """Has nothing read from it for so many seconds."""
    on_caller: Callable[[Caller], object] | None = field(default=None, init=False)
    """Told when it has shown who it is."""
    answer: Callable[[int, int, int, Any], object] | None = field(default=None, init=False)
    """Answers a request that its handler has not answered: by API key, version and correlation id."""
    tenant: str | None = field(default=None, init=False)
    """The tenant whose namespace its requests are served in; None if it is nobody's."""
    was_tenants: bool = field(default=False, init=False)
    """Whether they ever were in one: then they are never served outside of all."""
    reader: tuple[str, str] | None = None
    """What tracing knows it by, once it has sent a Fetch."""
    node_id: int | None = field(default=None, init=False)
    """Which node of the cluster it is, if it has shown that it is one."""
    link: NodeLink | None = field(default=None, init=False)
    """Which of that node's connections it is."""
    exchange: object | None = field(default=None, init=False)
    """By which it is about to show that (wire/kafka/nodes/trust.py)."""
    _gone_listeners: dict[Callable[["Peer"], object], None] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.caller = Caller(ANONYMOUS, plain_address(self.address))

    def served_by(
        self,
        mute: Callable[[float], object],
        on_caller: Callable[[Caller], object],
        answer: Callable[[int, int, int, Any], object] | None = None,
    ) -> None:
        """By whom it is muted, who is told when it has shown who it is, and who answers out of turn."""
        self.mute, self.on_caller, self.answer = mute, on_caller, answer

    def shows(self, caller: Caller) -> None:
        """It has shown who it is."""
        self.caller = caller

    def when_gone(self, listener: Callable[["Peer"], object]) -> None:
        """Tell `listener`, once, when the connection has ended."""
        self._gone_listeners[listener] = None

    def leave(self) -> None:
        """The connection has ended."""
        self.gone = True
        listeners, self._gone_listeners = self._gone_listeners, {}
        for listener in listeners:
            listener(self)
        # Who served it knows it, too: such circles are left to the collector, which stops everything for a while.
        self.login = self.mute = self.on_caller = self.answer = None


@define
class Context:
    """One request's surroundings."""

    peer: Peer
    version: int
    client_id: str | None
    publisher: Publisher = field(init=False)
    """Whoever sends it, as one who publishes."""

    def __attrs_post_init__(self) -> None:
        self.publisher = Publisher(self.client_id, self.peer.address)

    @property
    def caller(self) -> Caller:
        """Whose request it is."""
        return self.peer.caller
