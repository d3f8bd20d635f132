"""The way of a request through the code, counted: `python -m tools.request_paths [--list]`.

A broker runs in this process and is asked each request a few times until it is warm. Then every function of ours that
is entered, in any thread, from the moment the request is sent until its answer has arrived, is written down, several
times over; a function counts if it was entered every time, so that a timer that happened to fire does not. What the
codec compiles at first use is no file of ours and does not count. docs/architecture.md shows the figures.
"""

import argparse
import struct
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import trio
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from attrs import define, field

from tidegate.broker import Broker
from tidegate.config import BrokerConfig
from wire.kafka.codec import is_flexible, request_encoder, response_decoder
from wire.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.end_txn import EndTxnRequest
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

ROOT = Path(__file__).resolve().parent.parent
OURS = tuple(f"{ROOT}/{package}/" for package in ("coordinators", "engine", "tidegate", "wire"))
WARM_UP, TIMES = 10, 7
INLINE = ("<listcomp", "<genexpr", "<dictcomp", "<setcomp")
"""Functions to the interpreter alone."""
DELAY_MS = 40
RELEASED_WITHIN_S = 0.4
COORDINATOR_WITHIN_S = 10.0
ASK_AGAIN_S = 0.02
TRANSACTIONAL_ID, GROUP, PLAIN_TOPIC, DELAYED_TOPIC = "paths", "paths", "plain", "delayed"

Place = tuple[str, str]
"""A file below the project's root, and a function's name there."""
Way = dict[Place, None]
"""In the order in which the functions were first entered."""


class Footprints:
    """Which functions of ours are entered while `watching`, in all threads that begin after `install`."""

    def __init__(self) -> None:
        self.watching = False
        self._entered: dict[CodeType, None] = {}

    def install(self) -> None:
        """Watch this thread and those that it starts."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def remove(self) -> None:
        """Watch no more."""
        sys.setprofile(None)
        threading.setprofile(None)

    def take(self) -> Way:
        """What was entered since the last time."""
        entered, self._entered = self._entered, {}
        places = ((code.co_filename, code.co_qualname) for code in entered)
        return {(_short(name), function): None for name, function in places}

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.watching and event == "call":
            code = frame.f_code
            if code.co_filename.startswith(OURS) and not code.co_name.startswith(INLINE):
                self._entered[code] = None


def _short(name: str) -> str:
    return name.removeprefix(f"{ROOT}/")


@define(eq=False)
class Conversation:
    """A client, and the record of what its requests did."""

    stream: trio.SocketStream
    footprints: Footprints
    member_id: str = ""
    _buffer: bytes = field(default=b"", init=False)

    async def ask(self, version: int, request: Any) -> Any:
        """One request and its answer."""
        answer, _ = await self.watched(version, request)
        return answer

    async def watched(self, version: int, request: Any, then_wait_s: float = 0.0) -> tuple[Any, Way]:
        """The answer, and what it took."""
        key = request.API_KEY
        header = struct.pack(">hhih", key, version, 1, 5) + b"paths" + (b"\0" if is_flexible(key, version) else b"")
        parts = request_encoder(key, version)(request)
        whole = header + b"".join(part for part in parts if isinstance(part, bytes))
        self.footprints.take()
        self.footprints.watching = True
        await self.stream.send_all(struct.pack(">i", len(whole)) + whole)
        answer = await self._receive()
        if then_wait_s:
            await trio.sleep(then_wait_s)
        self.footprints.watching = False
        way = self.footprints.take()
        return response_decoder(key, version)(memoryview(answer), 9 if is_flexible(key, version) else 8), way

    async def _receive(self) -> bytes:
        while len(self._buffer) < 4 or len(self._buffer) < (end := 4 + int.from_bytes(self._buffer[:4], "big")):
            self._buffer += await self.stream.receive_some(1 << 20)
        answer, self._buffer = self._buffer[:end], self._buffer[end:]
        return answer


async def _plain_produce(client: Conversation, _turn: int) -> Way:
    answer, way = await client.watched(9, _produce(PLAIN_TOPIC))
    _check(answer.responses[0].partition_responses[0].error_code)
    return way


async def _delayed_produce(client: Conversation, _turn: int) -> Way:
    """Until the record is in the log, which is some time after the answer."""
    delayed = _produce(DELAYED_TOPIC, [("tide-delay", b"%d" % DELAY_MS)])
    answer, way = await client.watched(9, delayed, RELEASED_WITHIN_S)
    _check(answer.responses[0].partition_responses[0].error_code)
    return way


async def _fetch(client: Conversation, turn: int) -> Way:
    wanted = FetchPartition(partition=0, fetch_offset=turn, partition_max_bytes=1024)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=2**20, topics=[FetchTopic(topic=PLAIN_TOPIC)])
    request.topics[0].partitions = [wanted]
    answer, way = await client.watched(11, request)
    _check(answer.responses[0].partitions[0].error_code)
    return way


async def _join_group(client: Conversation, turn: int) -> Way:
    """Of the only member, in a group that has been used before."""
    request = JoinGroupRequest(
        group_id=GROUP, session_timeout_ms=30_000, rebalance_timeout_ms=30_000, protocol_type="consumer"
    )
    request.protocols = [JoinGroupRequestProtocol(name="range", metadata=b"x")]
    if not client.member_id:
        client.member_id = (await client.ask(5, request)).member_id
    request.member_id = client.member_id
    # A member that asks for the same again is answered without a new round.
    request.protocols[0].metadata = b"%d" % turn
    answer, way = await client.watched(5, request)
    _check(answer.error_code)
    return way


async def _end_txn(client: Conversation, _turn: int) -> Way:
    """A commit of what was written to one partition."""
    producer = await client.ask(1, InitProducerIdRequest(TRANSACTIONAL_ID, 60_000))
    _check(producer.error_code)
    identity = (producer.producer_id, producer.producer_epoch)
    topics = [AddPartitionsToTxnTopic(PLAIN_TOPIC, [0])]
    await client.ask(3, AddPartitionsToTxnRequest([], TRANSACTIONAL_ID, *identity, topics))
    await client.ask(9, _produce(PLAIN_TOPIC, producer=identity))
    answer, way = await client.watched(3, EndTxnRequest(TRANSACTIONAL_ID, *identity, committed=True))
    _check(answer.error_code)
    return way


REQUESTS: dict[str, Callable[[Conversation, int], Awaitable[Way]]] = {
    "plain produce": _plain_produce,
    "delayed produce": _delayed_produce,
    "fetch": _fetch,
    "JoinGroup": _join_group,
    "EndTxn": _end_txn,
}


def _produce(
    topic: str, headers: Sequence[tuple[str, bytes]] = (), producer: tuple[int, int] | None = None
) -> ProduceRequest:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=producer is not None,
        producer_id=producer[0] if producer else -1,
        producer_epoch=producer[1] if producer else -1,
        base_sequence=0 if producer else -1,
        batch_size=1 << 20,
    )
    builder.append(0, 1_700_000_000_000, None, b"x" * 100, list(headers))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, bytes(builder.build()))])
    named = TRANSACTIONAL_ID if producer else None
    return ProduceRequest(transactional_id=named, acks=-1, timeout_ms=60_000, topic_data=[data])


def _check(error_code: int) -> None:
    if error_code:
        raise RuntimeError(f"a request was refused with error {error_code}")


async def _prepare(client: Conversation) -> None:
    """Topics with something to read; the internal ones are made when they are first asked for."""
    topics = [CreatableTopic(name, 1, 1) for name in (PLAIN_TOPIC, DELAYED_TOPIC)]
    await client.ask(5, CreateTopicsRequest(topics=topics, timeout_ms=60_000))
    for _ in range(WARM_UP + TIMES):
        await client.ask(9, _produce(PLAIN_TOPIC))
    with trio.fail_after(COORDINATOR_WITHIN_S):
        for key_type, name in ((0, GROUP), (1, TRANSACTIONAL_ID)):
            await _until_served(client, 2, FindCoordinatorRequest(key=name, key_type=key_type))
        await _until_served(client, 1, InitProducerIdRequest(TRANSACTIONAL_ID, 60_000))


async def _until_served(client: Conversation, version: int, request: Any) -> None:
    while True:
        if (await client.ask(version, request)).error_code == 0:
            return
        await trio.sleep(ASK_AGAIN_S)


async def ways(names: Sequence[str] = tuple(REQUESTS)) -> dict[str, Way]:
    """By request, the functions that it enters every time."""
    footprints = Footprints()
    footprints.install()
    try:
        with tempfile.TemporaryDirectory(prefix="tidegate-paths-") as directory:
            values: dict[str, object] = {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "http.port": 0,
                "log.dirs": directory,
                "group.initial.rebalance.delay.ms": 0,
                "log.trace.sample.per.second": 0,
            }
            async with Broker(BrokerConfig.load(values=values)) as broker:
                host, _, port = broker.kafka_address.rpartition(":")
                async with await trio.open_tcp_stream(host, int(port)) as stream:
                    client = Conversation(stream, footprints)
                    await _prepare(client)
                    return {name: await _way(client, name) for name in names}
    finally:
        footprints.remove()


async def _way(client: Conversation, name: str) -> Way:
    ask = REQUESTS[name]
    seen = [await ask(client, turn) for turn in range(WARM_UP + TIMES)][WARM_UP:]
    return {place: None for place in seen[0] if all(place in way for way in seen)}


def counts(way: Way) -> tuple[int, int]:
    """How many functions, in how many files."""
    return len(way), len({name for name, _ in way})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.request_paths", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--list", action="store_true", help="the functions too, by file, in the order of their calls")
    options = parser.parse_args(arguments)
    for name, way in trio.run(ways).items():
        functions, files = counts(way)
        print(f"{name}: {functions} functions in {files} files")
        if options.list:
            by_file: dict[str, list[str]] = {}
            for file, function in way:
                by_file.setdefault(file, []).append(function)
            for file, entered in by_file.items():
                print(f"  {file}: {', '.join(entered)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
