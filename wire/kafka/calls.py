"""Requests that come by no connection of their own: those of the broker's other doors, and those that another node
carries here for its doors.

They are served as a Kafka client's are: by the same handlers, with the rights, quotas and tenant of whoever asks, and
counted with the others. A *guest* is somebody who asks so; to a handler it is a peer like any other. A guest that
belongs to no tenant has its messages handed over as they are; a tenant's are written and read, so that names are
translated where they always are (`wire/kafka/tenancy/codec.py`).
"""

from collections.abc import Callable, Mapping
from itertools import count
from types import CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any

from attrs import define, field

from coordinators.access.callers import Caller, always
from coordinators.waiting import in_worker, result_of
from engine.deferred import Deferred
from engine.errors import UnsupportedVersion
from engine.files.files import FileRegion
from engine.files.page_cache import read_resident
from engine.records.batch import Publisher
from engine.workers import Workers
from wire.kafka.codec import Part, request_encoder, response_decoder
from wire.kafka.connection import PRODUCE_KEY
from wire.kafka.request import Context, Endpoint, Peer
from wire.kafka.served_apis import ServedApi
from wire.kafka.steps import Work
from wire.kafka.tenancy.charges import produced_bytes
from wire.kafka.tenancy.served import TenantServedApi, TenantServedApis

if TYPE_CHECKING:
    from wire.kafka.server import KafkaServer

NO_LISTENER = -1
NOWHERE = Endpoint("", 0)
AT_ONCE_BYTES = 256 * 1024
"""What is in memory is read at once up to this size; more takes a thread."""


@define(eq=False)
class Guest:
    """Somebody who asks by no connection of its own."""

    peer: Peer
    client_id: str
    door: str
    """By which of the broker's doors it came."""
    stays: bool = False
    """Whether it asks more than once, and has something here in between: sessions."""
    counts: Callable[[], bool] = always
    """Whether what it has shown counts still."""
    nodes: set[int] = field(factory=set, init=False)
    """The other nodes that know of it, if it stays."""
    _wait_s: float = field(default=0.0, init=False)

    @property
    def caller(self) -> Caller:
        """Whose requests these are."""
        return self.peer.caller

    @property
    def number(self) -> int:
        """Which guest it is among those of this node."""
        return -self.peer.connection_id

    def renew(self, caller: Caller) -> None:
        """It has shown anew who it is: that counts from now on."""
        self.counts = caller.counts

    def mute(self, wait_s: float) -> None:
        """It has used too much: what it is answered next comes so much later."""
        self._wait_s = max(self._wait_s, wait_s)

    def taken_wait_s(self) -> float:
        """How long it has to wait now; asked once."""
        wait_s, self._wait_s = self._wait_s, 0.0
        return wait_s


@define(eq=False)
class Calls:
    """See the module. Serves nobody before it was told which server's handlers to call."""

    workers: Workers
    _server: "KafkaServer | None" = field(default=None, init=False)
    _numbers: "count[int]" = field(factory=lambda: count(1), init=False)

    @property
    def server(self) -> "KafkaServer":
        """Whose handlers are called."""
        assert self._server is not None, "calls are made when the Kafka door is there"
        return self._server

    def serve_by(self, server: "KafkaServer") -> None:
        """Call its handlers from now on."""
        self._server = server

    # -- guests

    def welcome(self, caller: Caller, door: str, client_id: str | None = None, *, stays: bool = False) -> Guest:
        """A guest; it must `leave` in the end."""
        # Connections have numbers above zero.
        peer = Peer(caller.host, 0, NOWHERE, -next(self._numbers), listener=NO_LISTENER)
        guest = Guest(peer, client_id or door, door, stays, caller.counts)
        peer.served_by(guest.mute, lambda _: None)
        peer.shows(caller)
        return guest

    def leave(self, guest: Guest) -> None:
        """It asks no more: what it had here ends."""
        peer, server = guest.peer, self.server
        server.tenancy.unbind(peer)
        peer.leave()
        if peer.reader is not None:
            server.tracing.stops_reading(peer.reader)

    def broker_name(self, guest: Guest, name: str) -> str:
        """What the broker calls what the guest calls so."""
        served = self._served_to(guest)
        return (served.view.name_read(name) or name) if isinstance(served, TenantServedApis) else name

    def _served_to(self, guest: Guest) -> Mapping[tuple[int, int], ServedApi | None]:
        # Each time: whose it is may have changed.
        served = self.server.tenancy.bind(guest.peer, guest.caller)
        return self.server.served if served is None else served

    # -- calls

    async def call(self, guest: Guest, message: Any, version: int, *, chosen: bool = False) -> Any:
        """The answer to a request; None if it has none. `chosen` says that the door has chosen the partitions."""
        key: int = message.API_KEY
        api = self._api(guest, key, version)
        if not isinstance(api, TenantServedApi):
            return await self._handled(guest, api, message, chosen=chosen)
        body = written(message, version)
        answer = await self._carried_out(guest, api, body, 0, chosen=chosen)
        return None if answer is None else response_decoder(key, version)(memoryview(answer), 0)

    async def call_written(
        self, guest: Guest, key: int, version: int, frame: bytes, position: int, *, chosen: bool = False
    ) -> bytes | None:
        """The same for a request as it is written, from `position` on in the frame; so is the answer."""
        return await self._carried_out(guest, self._api(guest, key, version), frame, position, chosen=chosen)

    def _api(self, guest: Guest, key: int, version: int) -> ServedApi:
        api = self._served_to(guest)[key, version]
        if api is None:
            raise UnsupportedVersion(f"API key {key} version {version} is not served to {guest.caller.principal}")
        return api

    async def _carried_out(
        self, guest: Guest, api: ServedApi, frame: bytes, position: int, *, chosen: bool
    ) -> bytes | None:
        server, now = self.server, self.server.clock.monotonic
        if len(frame) > api.whole_bytes:
            request = await Work(api.decode_in_steps(frame, position), now).finish()
        else:
            request = api.decode(memoryview(frame), position)
        answer = await self._handled(guest, api, request, chosen=chosen)
        if answer is None:
            return None
        if api.encodes_at_once:
            parts = api.encode(answer)
        else:
            parts = await Work(api.encode_in_steps(answer), now, server.limits.max_response_bytes).finish()
        return await gathered(parts, self.workers)

    async def _handled(self, guest: Guest, api: ServedApi, request: Any, *, chosen: bool) -> Any:
        server, peer = self.server, guest.peer
        context = Context(peer, api.version, guest.client_id)
        if chosen:
            context.publisher = Publisher(guest.client_id, peer.address, guest.door)
        began = server.clock.monotonic()
        server.requests[api.api_key] += 1
        server.rounds.hold()
        try:
            response = self._begin(guest, api, request, context)
        finally:
            server.rounds.release()
        answer = await self._settled(response)
        api.latencies.observe(server.clock.monotonic() - began)
        return answer

    def _begin(self, guest: Guest, api: ServedApi, request: Any, context: Context) -> Any:
        server = self.server
        if not server.quotas.is_metering:
            return api.handle(request, context)
        size = produced_bytes(request) if api.api_key == PRODUCE_KEY else 0
        return server.throttling.handle(api.handle, api.api_key, request, context, size, guest.mute)

    async def _settled(self, response: Any) -> Any:
        """What a handler has returned, in whichever way it is given."""
        while True:
            kind = type(response)
            if kind is Deferred:
                try:
                    response = await result_of(response)
                except BaseException:
                    response.abandon()
                    raise
            elif kind is CoroutineType:
                response = await response
            elif kind is GeneratorType:
                response = await Work(response, self.server.clock.monotonic).finish()
            else:
                return response


def written(message: Any, version: int) -> bytes:
    """A request without its header."""
    parts: list[Any] = request_encoder(message.API_KEY, version)(message)
    return b"".join(parts)


async def gathered(parts: list[Part], workers: Workers) -> bytes:
    """The bytes of an answer, those that lie in files too; the loop waits for no disk."""
    return b"".join([part if isinstance(part, bytes) else await region_bytes(part, workers) for part in parts])


async def region_bytes(region: Any, workers: Workers) -> bytes:
    """What a region of a file holds."""
    if not isinstance(region, FileRegion):
        return bytes(region)
    descriptor = region.fileno()
    if descriptor is None:
        return region.read()
    data = read_resident(descriptor, region.position, region.size) if region.size <= AT_ONCE_BYTES else None
    return await in_worker(workers, region.read) if data is None else data
