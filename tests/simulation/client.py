"""A client of simulated nodes, by our own codec. Where its connection breaks it makes a new one.

With several nodes it finds the leader of a partition and the coordinator of a key as Kafka's clients do: by asking any
node, and asking again when it was told wrong. It never goes back to a leader of an earlier epoch than it has seen.
"""

import random
import struct
from collections.abc import Sequence
from typing import Any

import trio
from attrs import define, field, frozen

from tests.simulation.history import Place
from tests.simulation.network import Network
from tests.simulation.running import sleep
from wire.kafka.codec import is_flexible, request_encoder, response_decoder, response_start
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.transport import TransportStream

LONGEST_WAY_S = 0.003
CONNECT_S = 0.5
ANSWER_S = 3.0
AGAIN_S = 0.02
AGAIN_IN_CLUSTER_S = 0.3
METADATA, FIND_COORDINATOR = 3, 10
GROUP, TRANSACTION = 0, 1


class Disconnected(Exception):
    """The node went away before it answered: whether it did what it was asked is unknown."""


@frozen
class Coordinator:
    """Of a group or a transactional id."""

    key_type: int
    key: str


Target = Place | Coordinator | None
"""The leader of a partition, a coordinator, or any node."""


@frozen
class _Found:
    host: str
    epoch: int = -1


@define(eq=False)
class SimulatedClient:
    """One request or one window of them at a time."""

    network: Network
    host: str
    chance: random.Random
    others: Sequence[str] = ()
    """The other nodes that there are, where there are several."""
    name: str = "client"
    _streams: dict[str, TransportStream] = field(factory=dict, init=False)
    _correlation: int = field(default=0, init=False)
    _found: dict[Target, _Found] = field(factory=dict, init=False)
    _epochs: dict[Place, int] = field(factory=dict, init=False)
    """The highest that it was told of."""

    async def ask(self, api_key: int, version: int, message: Any, target: Target = None) -> Any:
        """The answer, or `Disconnected`."""
        (answer,) = await self.ask_all(api_key, version, [message], target)
        return answer

    async def ask_all(self, api_key: int, version: int, messages: Sequence[Any], target: Target = None) -> list[Any]:
        """The answers to requests that are sent without waiting in between, or `Disconnected`."""
        if not self.others:
            return await self._exchange(self.host, api_key, version, messages)
        try:
            found = await self.find(target)
            with trio.fail_after(ANSWER_S):
                return await self._exchange(found.host, api_key, version, messages)
        except (Disconnected, OSError, trio.TooSlowError):
            await self.again(target)
            raise Disconnected from None

    async def again(self, target: Target, pause_s: float = AGAIN_S) -> None:
        """Wait a little, and ask anew who is the one to ask."""
        found = self._found.pop(target, None)
        if self.others and found is not None and self.chance.random() < 0.5:
            await self._close(found.host)
        await sleep(self.chance.random() * AGAIN_IN_CLUSTER_S if self.others else pause_s)

    # -- who is to be asked

    async def epoch_of(self, place: Place) -> int:
        """Of the leader that would be asked; -1 where that does not matter. `Disconnected` if nobody knows."""
        if not self.others:
            return -1
        try:
            return (await self.find(place)).epoch
        except (Disconnected, OSError, trio.TooSlowError):
            await self.again(place)
            raise Disconnected from None

    async def find(self, target: Target) -> _Found:
        """Whom to ask."""
        found = self._found.get(target)
        if found is None:
            with trio.fail_after(ANSWER_S):
                found = await self._look_up(target)
            self._found[target] = found
        return found

    async def _look_up(self, target: Target) -> _Found:
        anybody = self.chance.choice((self.host, *self.others))
        if target is None:
            return _Found(anybody)
        if isinstance(target, Coordinator):
            request = FindCoordinatorRequest(key=target.key, key_type=target.key_type)
            (answer,) = await self._exchange(anybody, FIND_COORDINATOR, 2, [request])
            if answer.error_code:
                raise Disconnected
            return _Found(answer.host)
        return await self._leader(anybody, target)

    async def _leader(self, anybody: str, place: Place) -> _Found:
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=place[0])], allow_auto_topic_creation=False)
        (answer,) = await self._exchange(anybody, METADATA, 9, [wanted])
        hosts = {broker.node_id: broker.host for broker in answer.brokers}
        for partition in answer.topics[0].partitions:
            if partition.partition_index == place[1] and partition.leader_epoch >= self._epochs.get(place, -1):
                self._epochs[place] = partition.leader_epoch
                if partition.leader_id in hosts:
                    return _Found(hosts[partition.leader_id], partition.leader_epoch)
        raise Disconnected

    # -- bytes

    async def _exchange(self, host: str, api_key: int, version: int, messages: Sequence[Any]) -> list[Any]:
        try:
            stream = self._streams.get(host) or await self._connect(host)
            await self._take_time()
            await stream.send_all(b"".join(self._frame(api_key, version, message) for message in messages))
            frames = [await _receive(stream) for _ in messages]
            await self._take_time()
        except (trio.BrokenResourceError, trio.ClosedResourceError, EOFError):
            await self._close(host)
            raise Disconnected from None
        except trio.Cancelled:
            # Its answer must not be taken for that of another request.
            with trio.CancelScope(shield=True):
                await self._close(host)
            raise
        start = response_start(api_key, version).size - 4
        return [response_decoder(api_key, version)(frame, start) for frame in frames]

    async def _connect(self, host: str) -> TransportStream:
        if self.others:
            with trio.fail_after(CONNECT_S):
                stream = await self.network.dial(host, self.name)
        else:
            stream = await self.network.connect(host, self.name)
        self._streams[host] = stream
        return stream

    def _frame(self, api_key: int, version: int, message: Any) -> bytes:
        self._correlation += 1
        header = struct.pack(">hhih", api_key, version, self._correlation, -1)
        tags = b"\x00" if is_flexible(api_key, version) else b""
        parts: list[Any] = request_encoder(api_key, version)(message)
        body = header + tags + b"".join(parts)
        return struct.pack(">i", len(body)) + body

    async def close(self) -> None:
        for host in tuple(self._streams):
            await self._close(host)

    async def _close(self, host: str) -> None:
        stream = self._streams.pop(host, None)
        if stream is not None:
            await trio.aclose_forcefully(stream)

    async def _take_time(self) -> None:
        await sleep(self.chance.random() * LONGEST_WAY_S)


async def _receive(stream: TransportStream) -> bytes:
    (size,) = struct.unpack(">i", await _exactly(stream, 4))
    return await _exactly(stream, size)


async def _exactly(stream: TransportStream, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = await stream.receive_some(size - len(received))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)
