"""The Kafka door: reads requests, runs handlers, sends answers.

One task per connection reads and handles; answers are sent from wherever they become ready, without a switch
of tasks, and a second task exists only while a transport is full. Backpressure: a connection whose requests or answers
pile up is not read from until they are gone.

Fairness: a connection's turn takes some milliseconds, however much it has sent; then the others have theirs. A single
request that takes longer is worked through in steps (`steps.py`).
"""

import logging
import math
import socket
from collections import Counter
from collections.abc import Awaitable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from types import CoroutineType, GeneratorType
from typing import Any

import trio

from coordinators.access.callers import Caller
from coordinators.access.quotas.quotas import Quotas
from coordinators.tracing.tracing import Tracing
from engine.clock import Clock
from engine.metrics import Histogram
from engine.partition.sync import SyncRounds
from engine.workers import Workers
from wire.acceptor import Acceptor
from wire.kafka.apis import registered
from wire.kafka.codec import Part, WireError, decode_request_header
from wire.kafka.config import Limits
from wire.kafka.connection import FrameBuffer, Outbox, OutboxPlace
from wire.kafka.connection_limits import ConnectionEntry
from wire.kafka.cork import Cork
from wire.kafka.entrance import Arrival, Entrance, arrive
from wire.kafka.large_requests import EXEMPT_BYTES, LargeRequests
from wire.kafka.request import Context, Deferred, Endpoint, Peer
from wire.kafka.sasl.again import EXPIRED_S, guarded, sent_at_last
from wire.kafka.served_apis import ServedApi, ServedApis
from wire.kafka.steps import Steps, TooLarge, Work, awaited
from wire.kafka.tenancy.door import TenantDoor
from wire.kafka.throttling import Throttling
from wire.kafka.transmit import Pumped, Transmitter
from wire.services import Services
from wire.transport import Transport

logger = logging.getLogger("tidegate.kafka")

RECEIVE_BUFFER_BYTES = 256 * 1024
API_VERSIONS_KEY = 18
READS_PER_TURN = 8
TURN_S = 0.005
LATE_REQUESTS = 16
"""So many more are handled when a turn is over: requests that came together are synced together, though the processor
is slow or was somebody else's for a while."""
CONTROL_WEIGHT = 10
"""A request other than Produce takes so many times its size once it is decoded, or more."""
IDLE_CHECK_LEAST_S = 0.02


class KafkaConnection:
    """One client: its transport, its frames, its answers."""

    def __init__(self, server: "KafkaServer", transport: Transport, peer: Peer, arrival: Arrival | None = None) -> None:
        self.peer = peer
        self._arrival = arrival
        if peer.login is not None:
            self._handle = guarded(peer.login, self._handle, self._end_login)  # type: ignore[method-assign]
        self.last_active = server.clock.monotonic()
        self._server = server
        self._now = server.clock.monotonic
        self._rounds = server.rounds
        self._cork = server.cork
        self._context = Context(peer, -1, None)
        self._served: Mapping[tuple[int, int], ServedApi | None] = server.served
        peer.served_by(self.mute, self.bind, self.answer_apart)
        self._transport = transport
        self._limits = server.limits
        self._frames = FrameBuffer(self._limits.max_frame_bytes, self._limits.max_control_frame_bytes)
        self._outbox = Outbox()
        self._transmitter = Transmitter(transport, server.workers, self.flush)
        self._scope = trio.CancelScope()
        self._sending = False
        self._muted_until = 0.0
        # Whether nothing is read now, for either of these reasons.
        self._held = False
        self._handling = self._is_busy = False
        self._began = self.last_active
        self._turn_ends = self.last_active
        self._resume: trio.Event | None = None
        self._nursery: trio.Nursery | None = None

    # -- reading

    async def run(self) -> None:
        """Serve until either side ends it."""
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    self._nursery = nursery
                    if self._arrival is None or await self._server.entry.arrive(self._arrival, self.peer):
                        self.bind(self.peer.caller)
                        await self._read_requests()
                    nursery.cancel_scope.cancel()
        except* WireError as errors:
            self._complain(errors.exceptions[0])
        except* OSError:
            pass  # the client is gone
        finally:
            self._nursery = None
            self.peer.gone = True
            self._outbox.abandon()
            self._transmitter.abandon()
            self.__dict__.pop("_handle", None)
            self._server.large_requests.release(self)
            self._server.tenancy.unbind(self.peer)
            self.peer.leave()
            if self.peer.reader is not None:
                self._server.tracing.stops_reading(self.peer.reader)
            # The acceptor knows only what lies below it, where nobody says that this was the end.
            self._transport.close()

    def close(self, reason: str) -> None:
        """End the connection from outside."""
        self._server.ended["idle"] += 1
        logger.info("connection closed: %s", reason, extra=self._address())
        self._scope.cancel()

    def bind(self, caller: Caller) -> None:
        """Have its requests served as to the tenant that the caller is now known to belong to."""
        served = self._server.tenancy.bind(self.peer, caller)
        self._served = self._server.served if served is None else served

    async def _read_requests(self) -> None:
        frames, shared, large_requests = self._frames, self._server.receive_buffer, self._server.large_requests
        readable, receive_into = self._transport.readable, self._transport.receive_into
        while True:
            await readable()
            if self._held:
                await self._wait_until_sent()
            self.last_active = now = self._now()
            self._turn_ends = now + TURN_S
            for _ in range(READS_PER_TURN):
                if frames.is_larger_than(EXEMPT_BYTES):
                    await self._wait_for_memory()
                space = frames.space(shared)
                try:
                    count = receive_into(space)
                except (BlockingIOError, InterruptedError):
                    break
                if count == 0:
                    return
                arrived = frames.received(space, count)
                waiting = self._handle_until_waiting(arrived)
                if waiting is not None:
                    await self._handle_rest(waiting, arrived)
                if large_requests.held_bytes and not frames.is_larger_than(EXEMPT_BYTES):
                    large_requests.release(self)
                if self._is_backed_up():
                    await self._wait_until_sent()
                if count < len(space):
                    break

    async def _handle_rest(self, waiting: Awaitable[None] | None, frames: Iterator[memoryview]) -> None:
        """Handle what has arrived behind a request whose handler needs the task."""
        self._is_busy = True
        while waiting is not None:
            # The shared buffer is another connection's as soon as this task sleeps.
            self._frames.keep_rest()
            await waiting
            if self._is_backed_up():
                await self._wait_until_sent()
            self._turn_ends = self._now() + TURN_S
            waiting = self._handle_until_waiting(frames)
        self._is_busy = False

    async def _give_way(self) -> None:
        """The others have their turn, then it is this connection's again."""
        await trio.lowlevel.checkpoint()
        self._turn_ends = self._now() + TURN_S

    async def _wait_for_memory(self) -> None:
        """Before more of a large request is read."""
        requests, size = self._server.large_requests, self._frames.next_buffered_bytes
        while not requests.take(self, size, self._now()):
            self.last_active = math.inf  # it is we who keep the client waiting
            await requests.wait()
            self.last_active = self._now()

    def _handle_until_waiting(self, frames: Iterator[memoryview]) -> Awaitable[None] | None:
        """Handle frames up to one whose handler needs the task, or until answers have piled up: what they wrote is
        synced together, what they answer is sent together."""
        rounds = self._rounds
        self._handling = True
        rounds.hold()
        waiting = None
        grace = LATE_REQUESTS
        try:
            for frame in frames:
                waiting = self._handle(frame)
                if waiting is None:
                    if self._is_backed_up():
                        waiting = self._wait_until_sent()
                    elif self._began > self._turn_ends:
                        grace -= 1
                        if grace == 0:
                            waiting = self._give_way()
                if waiting is not None:
                    break
        finally:
            self._handling = False
            rounds.release()
            self.flush()
        return waiting

    def _is_backed_up(self) -> bool:
        limits = self._limits
        return (
            len(self._outbox) >= limits.max_requests_in_flight
            or self._outbox.held_bytes > limits.max_bytes_in_flight
            or self._held
        )

    def mute(self, wait_s: float) -> None:
        """Read nothing for so long: its client was told to wait."""
        self._muted_until = max(self._muted_until, self._now() + wait_s)
        self._held = True
        if self._resume is not None:
            # The reader waits for answers to go out; from now on it waits for the time to pass first.
            self._resume.set()
            self._resume = None

    def is_muted(self, now: float) -> bool:
        """Whether the client was told to wait, and still is."""
        return self._muted_until > now

    async def _stay_muted(self) -> None:
        # It may be told again meanwhile, for a request that was answered late.
        while (rest_s := self._muted_until - self._now()) > 0:  # noqa: ASYNC110
            await trio.sleep(rest_s)
        self._muted_until = 0.0
        self._held = self._sending
        self.last_active = self._now()

    async def _wait_until_sent(self) -> None:
        while True:
            if self._muted_until:
                await self._stay_muted()
            if not self._is_backed_up():
                break
            self._resume = trio.Event()
            await self._resume.wait()
        if self._began > self._turn_ends:
            await self._give_way()

    # -- handling

    def _handle(self, frame: memoryview, request: Any = None) -> Awaitable[None] | None:
        """Run one request, which is decoded already if it is given; an awaitable if the handler needs the task."""
        api_key, version, correlation_id, client_id, position = decode_request_header(frame, 0)
        server = self._server
        api = self._served[api_key, version]
        if api is None:
            self._refuse(api_key, version, correlation_id)
            return None
        size = len(frame)
        if request is None:
            server.received_bytes += size
            if size > api.whole_bytes:
                return self._handle_large(api, bytes(frame), position)
            request = api.decode(frame, position)
        else:
            size *= CONTROL_WEIGHT
        self._began = began = self._now()
        server.requests[api_key] += 1
        if server.quotas.is_metering and self.peer.node_id is None:
            context = self._context_of(version, client_id)
            response = server.throttling.handle(api.handle, api_key, request, context, len(frame), self.mute)
        else:
            response = api.handle(request, self._context_of(version, client_id))
        if response is None:
            api.latencies.observe(self._now() - began)
            return None
        place = self._outbox.reserve(api, correlation_id, began, size)
        kind = type(response)
        if kind is Deferred:
            self._defer(place, response)
        elif api.encodes_at_once and kind is not GeneratorType and kind is not CoroutineType:
            self._fulfil(place, response)
        else:
            return self._settle(place, response)
        return None

    async def _end_login(self) -> None:
        """A login that was to be done again has failed."""
        self.flush()
        await sent_at_last(lambda: not (self._outbox or self._transmitter))
        self._scope.cancel()

    async def _handle_large(self, api: ServedApi, frame: bytes, position: int) -> None:
        request = await Work(api.decode_in_steps(frame, position), self._now).finish()
        rest = self._handle(memoryview(frame), request)
        if rest is not None:
            await rest

    def _context_of(self, version: int, client_id: str | None) -> Context:
        """The request's surroundings, mostly those of the one before."""
        context = self._context
        if context.version != version or context.client_id != client_id:
            context = self._context = Context(self.peer, version, client_id)
        return context

    async def _answer_later(self, place: OutboxPlace, response: Awaitable[Any]) -> None:
        answer = await response
        if answer is None:
            # Nothing is sent, but those behind it may be.
            self._outbox.fulfil(place, [], 0)
            place.api.latencies.observe(self._now() - place.began)
            self._cork.flush(self)
            return
        rest = self._settle(place, answer)
        if rest is not None:
            await rest

    def _settle(self, place: OutboxPlace, response: Any) -> Coroutine[Any, Any, None] | None:
        """Take what a handler returned; a coroutine if there is more to do."""
        kind = type(response)
        if kind is Deferred:
            self._defer(place, response)
            return None
        return self._answer_later(place, response) if kind is CoroutineType else self._answer(place, response)

    def _defer(self, place: OutboxPlace, response: Deferred[Any]) -> None:
        place.waits_for = response
        # A refusal that no handler made a response of is a bug too.
        failed = partial(self._fail, place.api)
        # What most requests come to is handed out without another call.
        answer = self._fulfil if place.api.encodes_at_once else self._answer_deferred
        response.when_settled(partial(answer, place), failed, failed)

    def _refuse(self, api_key: int, version: int, correlation_id: int) -> None:
        """Answer ApiVersions of an unknown version in version 0 (KIP-511); end the connection for all else."""
        api = self._served[api_key, 0]
        if api_key != API_VERSIONS_KEY or api is None:
            raise WireError(f"API key {api_key} version {version} is not served")
        response = api.handle(None, Context(self.peer, version, None))
        self._answer(self._outbox.reserve(api, correlation_id, self._now()), response)

    def _fail(self, api: ServedApi, error: Exception) -> None:
        if isinstance(error, TooLarge):
            most = self._limits.max_response_bytes
            reason = f"the answer to API key {api.api_key} is larger than socket.response.max.bytes={most}"
            self._complain(WireError(reason))
            self._scope.cancel()
            return
        self._server.ended["failed"] += 1
        logger.error("answering API %d version %d failed", api.api_key, api.version, exc_info=error)
        self._scope.cancel()

    # -- answering

    def _answer_deferred(self, place: OutboxPlace, message: Any) -> None:
        rest = self._answer(place, message)
        if rest is not None and self._nursery is not None:
            try:
                self._nursery.start_soon(awaited, rest)
            except RuntimeError:
                rest.close()  # the connection is just ending

    def answer_apart(self, api_key: int, version: int, correlation_id: int, message: Any) -> None:
        """Answer what its handler has left unanswered, out of turn: those behind it did not wait."""
        self._fulfil(self._outbox.reserve(self._served[api_key, version], correlation_id, self._now()), message)

    def _answer(self, place: OutboxPlace, message: Any) -> Coroutine[Any, Any, None] | None:
        """Encode an answer and send it when its turn has come; a coroutine if that takes longer than a moment."""
        if self.peer.gone:
            return None
        api: ServedApi = place.api
        try:
            if type(message) is GeneratorType:
                return self._work(place, message)
            if not api.encodes_at_once:
                return self._encode(place, message)
            self._fulfil(place, message)
        except Exception as error:
            self._fail(api, error)
        return None

    def _work(self, place: OutboxPlace, steps: Steps[Any]) -> Coroutine[Any, Any, None] | None:
        """Go through a handler's steps; what they return is answered."""
        work = Work(steps, self._now)
        return self._worked(place, work.result) if work.advance() else self._work_on(place, work)

    def _worked(self, place: OutboxPlace, answer: Any) -> Coroutine[Any, Any, None] | None:
        is_whole = type(answer) not in (Deferred, CoroutineType)
        return self._encode(place, answer) if is_whole else self._settle(place, answer)

    async def _work_on(self, place: OutboxPlace, work: Work[Any]) -> None:
        try:
            rest = self._worked(place, await work.finish())
            if rest is not None:
                await rest
        except Exception as error:
            self._fail(place.api, error)

    def _encode(self, place: OutboxPlace, message: Any) -> Coroutine[Any, Any, None] | None:
        work = Work(place.api.encode_in_steps(message), self._now, self._limits.max_response_bytes)
        if not work.advance():
            return self._encode_on(place, work)
        self._fulfil(place, message, work.result)
        return None

    async def _encode_on(self, place: OutboxPlace, work: Work[list[Part]]) -> None:
        try:
            self._fulfil(place, None, await work.finish())
        except Exception as error:
            self._fail(place.api, error)

    def _fulfil(self, place: OutboxPlace, message: Any, parts: list[Part] | None = None) -> None:
        """Hand out an answer, encoded now unless its parts are there."""
        api: ServedApi = place.api
        if self.peer.gone:
            return
        if type(message) is GeneratorType:
            self._answer_deferred(place, message)
            return
        try:
            if parts is None:
                parts = api.encode(message)
            first = parts[0]
            assert isinstance(first, bytes), "a response begins with bytes"
            size = api.header_bytes + len(first)
            if len(parts) > 1:
                size += sum(len(p) if isinstance(p, bytes) else p.size for p in parts[1:])
            parts[0] = api.pack_start(size, place.correlation_id) + first
            self._outbox.fulfil(place, parts, size)
            self._server.sent_bytes += size
            api.latencies.observe(self._now() - place.began)
            self._cork.flush(self)
        except Exception as error:
            self._fail(api, error)

    def flush(self) -> None:
        """Send what may be sent, without waiting."""
        if self._sending or self._handling or self.peer.gone or not (self._transmitter or self._outbox.has_ready()):
            return
        try:
            self._transmitter.push(self._outbox.pop_ready())
            pumped = self._transmitter.pump()
        except OSError:
            self._scope.cancel()
            return
        if pumped is Pumped.TRANSPORT_FULL and self._nursery is not None:
            self._sending = self._held = True
            try:
                self._nursery.start_soon(self._send_rest)
            except RuntimeError:
                return  # the connection is just ending
        self._wake_reader()

    async def _send_rest(self) -> None:
        while True:
            await self._transport.writable()
            self.last_active = self._now()
            try:
                self._transmitter.push(self._outbox.pop_ready())
                if self._transmitter.pump() is not Pumped.TRANSPORT_FULL:
                    break
            except OSError:
                self._scope.cancel()
                return
        self._sending = False
        self._held = self._muted_until > 0.0
        self.flush()
        self._wake_reader()

    def _wake_reader(self) -> None:
        if self._resume is not None and not self._is_backed_up():
            self._resume.set()
            self._resume = None

    def is_stuck(self, now: float, patience_s: float) -> bool:
        """Whether the client has begun a request and does not go on with it."""
        if self._is_busy or self._resume is not None or self.last_active == math.inf or self.is_muted(now):
            self._frames.reset_progress()
            return False
        return self._frames.is_stuck(now, patience_s)

    def _complain(self, error: BaseException) -> None:
        self._server.ended[getattr(error, "counted_as", "malformed")] += 1
        logger.warning("connection closed: %s", error, extra=self._address())

    def _address(self) -> dict[str, object]:
        return {"address": self.peer.address, "port": self.peer.port}

    def under_way(self) -> tuple[int, int, int]:
        """Requests not yet answered, bytes of answers not yet sent, bytes of a request that is not whole."""
        return len(self._outbox), self._outbox.unsent_bytes, self._frames.buffered_bytes

    def statistics(self) -> dict[str, int]:
        """Requests not yet answered, parts of answers not yet sent, bytes of a request that is not whole."""
        return {
            "unanswered": len(self._outbox),
            "unsent_parts": len(self._transmitter),
            "buffered_bytes": self._frames.buffered_bytes,
        }


class KafkaServer:
    """The listener and its connections."""

    def __init__(
        self,
        services: Services,
        limits: Limits,
        clock: Clock,
        workers: Workers,
        rounds: SyncRounds,
        cork: Cork,
        tracing: Tracing,
        entrances: Sequence[Entrance] = (),
    ) -> None:
        self.limits = limits
        self.entrances = entrances
        """What each listener asks, by its number; one that has none asks nothing."""
        self.clock = clock
        self.workers = workers
        self.rounds = rounds
        self.cork = cork
        self.tracing = tracing
        self.quotas = services[Quotas]
        self.throttling = Throttling(self.quotas, clock)
        self.apis = {key: api.bound(services) for key, api in registered().items()}
        self.requests: Counter[int] = Counter()
        # From when a request was decoded to when its answer is handed out, by API.
        self.latencies = {key: Histogram() for key in self.apis}
        self.served = ServedApis(self.apis, self.latencies, limits.request)
        self.tenancy = TenantDoor.of(services, self.apis, self.latencies, clock, limits.request)
        self.received_bytes = 0
        self.sent_bytes = 0
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.large_requests = LargeRequests(limits.max_large_request_bytes)
        self.entry = ConnectionEntry(limits.entry, self.quotas, clock)
        self._acceptor: Acceptor[KafkaConnection] = Acceptor(limits.connections, logger)
        self.connections, self.ended = self._acceptor.connections, self._acceptor.ended
        self.tenancy.begin(self.connections)

    async def serve(self, listener: socket.socket, endpoint: Endpoint | None, number: int = 0) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking, and the one of this number.

        Clients are told to connect to `endpoint`, or where it is None to the address by which they came.
        """
        asks = number < len(self.entrances) and self.entrances[number].asks
        gate = self.entry.listener(number, asks=asks)
        await self._acceptor.serve(listener, partial(self._connect, endpoint, number), gate)

    def admit(self, transport: Transport, endpoint: Endpoint, nursery: trio.Nursery) -> None:
        """Serve a connection that came by no listener, in the nursery."""
        self._acceptor.admit(transport, partial(self._connect, endpoint, 0), nursery)

    def _connect(self, endpoint: Endpoint | None, listener: int, transport: Transport, number: int) -> KafkaConnection:
        if endpoint is None:
            endpoint = Endpoint(*transport.local_address)
        peer = Peer(*transport.address, endpoint, number, listener=listener)
        arrival = arrive(self.entrances, transport, peer, self.served)
        return KafkaConnection(self, transport if arrival is None else arrival.transport, peer, arrival)

    async def close_idle(self) -> None:
        """End connections on which nothing happens, or nothing goes on, for ever."""
        limits = self.limits
        idle_s = limits.max_idle_ms / 1000 if limits.max_idle_ms >= 0 else math.inf
        patience_s = limits.request_progress_timeout_ms / 1000
        while True:
            await trio.sleep(max(min(idle_s, patience_s, 10) / 2, IDLE_CHECK_LEAST_S))
            now = self.clock.monotonic()
            for connection in tuple(self.connections.values()):
                if connection.is_muted(now):
                    continue
                if connection.last_active < now - idle_s:
                    connection.close(f"idle for connections.max.idle.ms={limits.max_idle_ms}")
                elif connection.is_stuck(now, patience_s):
                    connection.close("its request does not arrive (socket.request.progress.timeout.ms)")
                elif (login := connection.peer.login) is not None and login.expires_at < now - EXPIRED_S:
                    connection.close("its login has ended")
            for holder in self.large_requests.overdue(now - idle_s):
                assert isinstance(holder, KafkaConnection)
                holder.close("its request has not arrived whole for connections.max.idle.ms, and others wait")

    def under_way(self) -> tuple[int, int, int]:
        """As each connection tells it, over all of them."""
        each = [connection.under_way() for connection in self.connections.values()]
        unanswered, unsent, buffered = (sum(column) for column in zip(*each, strict=True)) if each else (0, 0, 0)
        return unanswered, unsent, buffered

    def statistics(self) -> dict[str, int]:
        """Connections and requests."""
        return {**self._acceptor.statistics(), "requests": self.requests.total()}
