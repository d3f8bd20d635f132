"""A fixed load on a broker inside this process, for `instructions.py`: `python -m tools.bench.replay counted|timed`.

A client sends frames that were encoded beforehand over a connection, some at a time, and counts the answers, so that
nearly all of the work is the broker's. It begins warm: what a first request costs is in none of the figures. Each load
is run in pieces of the same length, of which the middle one counts, so that a timer or a collection of garbage that
falls into one of them does not matter. `counted` runs under callgrind, which writes down a count after each piece;
`timed` prints CPU seconds. With `ruled` behind either the broker has an authorizer and a thousand rules, by which the
client may do all of it.
"""

import json
import math
import re
import struct
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import trio
from attrs import frozen

from coordinators.access.access import AccessControl
from coordinators.access.authorizer import Rules
from coordinators.access.callers import ANONYMOUS
from engine.catalogue.records import AclRecord
from engine.records.layout import build_batch
from tidegate.broker import Broker
from tidegate.config import BrokerConfig
from tools.bench.callgrind import Counter
from wire.kafka.codec import is_flexible, request_encoder, response_decoder
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PRODUCE_VERSION, FETCH_VERSION = 9, 11
PIECES = 12
LENGTH = 50
WARM_UP = 200
TIMED_FACTOR, TURNS = 20, 9
RULES = 1_000
RULED = "ruled"
CALIBRATION = "calibration"
CALIBRATION_WORDS = tuple(f"word-{number}" for number in range(50))


Work = Callable[[int], Awaitable[None]]
Measured = Callable[[str, Work], Awaitable[None]]


@frozen
class Load:
    """A request that is sent again and again, so many in flight."""

    name: str
    request: Any
    version: int
    together: int

    def frame(self) -> bytes:
        """The request as it goes over the wire."""
        name, key = b"replay", self.request.API_KEY
        header = struct.pack(">hhih", key, self.version, 1, len(name)) + name
        if is_flexible(key, self.version):
            header += b"\0"
        whole = header + b"".join(
            part for part in request_encoder(key, self.version)(self.request) if isinstance(part, bytes)
        )
        return struct.pack(">i", len(whole)) + whole

    def check(self, answer: bytes) -> None:
        """An answer that is an error would make the load another one."""
        key = self.request.API_KEY
        message = response_decoder(key, self.version)(memoryview(answer), 9 if is_flexible(key, self.version) else 8)
        shown = repr(message)
        if any(code != "0" for code in re.findall(r"error_code=(-?\d+)", shown)):
            raise ValueError(f"{self.name} was refused: {shown[:300]}")


CREATE = Load("create", CreateTopicsRequest(topics=[CreatableTopic("load", 1, 1)], timeout_ms=60_000), 5, 1)


def loads() -> tuple[Load, ...]:
    """Produce with acks=all, small and as large as Kafka's default batch, and Fetch of such a batch."""
    return (
        Load("produce-small", _produce(_batch(1, 100)), PRODUCE_VERSION, 10),
        Load("produce-batch", _produce(_batch(16, 1000)), PRODUCE_VERSION, 5),
        Load("fetch-batch", _fetch(), FETCH_VERSION, 5),
    )


def calibrate(rounds: int) -> int:
    """Work of the kind a broker's code does, for comparing one build of Python with another."""
    seen: dict[str, int] = {}
    for number in range(rounds):
        for word in CALIBRATION_WORDS:
            seen[word] = seen.get(word, 0) + len(struct.pack(">iq", number, len(word)))
        seen = dict(sorted(seen.items()))
    return sum(seen.values())


def lay_down(rules: Rules) -> None:
    """So many that a caller may do what the loads do, and a thousand about others and others' topics."""
    mine = f"User:{ANONYMOUS.name}"
    acls = [AclRecord(2, "load", 3, mine, "*", operation, 3) for operation in (3, 4, 5, 10)]
    for number in range(RULES // 4):
        acls += [
            AclRecord(2, f"topic-{number}", 3, mine, "*", 3, 3),
            AclRecord(2, f"prefix-{number}", 4, mine, "*", 4, 3),
            AclRecord(2, "load", 3, f"User:user-{number}", "*", 4, 3),
            AclRecord(3, f"group-{number}", 3, f"User:user-{number}", "*", 3, 2),
        ]
    rules.put({acl.key: acl.encode() for acl in acls})


async def replay(measured: Measured, *, ruled: bool = False) -> None:
    """Run everything once to warm up, then `measured` with the name of each piece and a function that does it."""
    with tempfile.TemporaryDirectory(prefix="tidegate-replay-") as directory:
        values: dict[str, object] = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "http.port": 0,
            "log.dirs": directory,
            # So many per second are more per request, the slower it goes.
            "log.trace.sample.per.second": 0,
        }
        if ruled:
            values["authorizer.enable"] = "true"
        async with Broker(BrokerConfig.load(values=values)) as broker:
            rules = broker.node.services[AccessControl].rules
            if rules is not None:
                lay_down(rules)
            host, _, port = broker.kafka_address.rpartition(":")
            stream = await trio.open_tcp_stream(host, int(port))
            prepared = loads()
            await pump(stream, CREATE, 1)
            await _calibration(WARM_UP)
            for load in prepared:
                await pump(stream, load, WARM_UP)
            await measured(CALIBRATION, _calibration)
            for load in prepared:
                await measured(load.name, partial(pump, stream, load))
            await stream.aclose()


async def _calibration(count: int) -> None:
    calibrate(count)
    await trio.lowlevel.checkpoint()


async def pump(stream: trio.SocketStream, load: Load, count: int) -> None:
    """Send `count` requests, some at a time, and read as many answers; the last one is looked at."""
    buffer = last = b""
    together = load.frame() * load.together
    for _ in range(max(1, count // load.together)):
        await stream.send_all(together)
        missing = load.together
        while missing:
            buffer += await stream.receive_some(1 << 20)
            while len(buffer) >= 4 and len(buffer) >= (end := 4 + int.from_bytes(buffer[:4], "big")):
                last, buffer = buffer[:end], buffer[end:]
                missing -= 1
    load.check(last)


async def counted(*, ruled: bool = False) -> None:
    """Under callgrind: for each piece a dump before it and one after each part of it."""
    counter = Counter()

    async def measured(name: str, work: Work) -> None:
        if name == CALIBRATION:
            counter.start()
        counter.dump()
        for _ in range(PIECES):
            await work(LENGTH)
            counter.dump()

    await replay(measured, ruled=ruled)


async def timed(*, ruled: bool = False) -> dict[str, float]:
    """CPU seconds per request: the least of several turns, for noise only adds.

    The calibration loop takes turns with every load: a processor that is slow for a while is slow for both.
    """
    found: dict[str, float] = {}
    count = LENGTH * TIMED_FACTOR

    async def timing(name: str, work: Work) -> None:
        began = time.process_time()
        await work(count)
        found[name] = min(found.get(name, math.inf), (time.process_time() - began) / count)

    async def measured(name: str, work: Work) -> None:
        for _ in range(TURNS):
            await timing(CALIBRATION, _calibration)
            await timing(name, work)

    await replay(measured, ruled=ruled)
    return found


def _batch(count: int, size: int) -> bytes:
    return build_batch([(None, b"x" * size)] * count, timestamp_ms=time.time_ns() // 1_000_000)


def _produce(records: bytes) -> ProduceRequest:
    data = TopicProduceData(name="load", partition_data=[PartitionProduceData(0, records)])
    return ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data])


def _fetch() -> FetchRequest:
    # Behind the small batches of the warm-up lie the larger ones.
    wanted = FetchPartition(partition=0, fetch_offset=WARM_UP, partition_max_bytes=16 * 1024)
    topic = FetchTopic(topic="load", partitions=[wanted])
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=2**20, topics=[topic])


def main(arguments: Sequence[str]) -> int:
    """What the arguments say."""
    wanted, ruled = list(arguments[:1]), list(arguments[1:]) == [RULED]
    if wanted == ["counted"]:
        trio.run(partial(counted, ruled=ruled))
    elif wanted == ["timed"]:
        print(json.dumps(trio.run(partial(timed, ruled=ruled))))
    else:
        sys.exit("usage: python -m tools.bench.replay counted|timed [ruled]")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
