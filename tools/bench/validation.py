"""What holding records against schemas costs a produce: instructions of the broker for each record.

    python -m tools.bench.validation
    python -m tools.bench.validation --only avro-lz4

Batches of 64 records of 1 KiB, JSON and Avro, plain and in lz4, to topics whose `schema.validation` is `none`, `id` and
`full`. Instructions are counted with callgrind, which noise does not touch; where there is no Valgrind, processor time
is taken, in microseconds. `times` is against `none`. It ends by itself.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import trio

from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.names import checked
from coordinators.schemas.registering import Registering, WantedSchema
from coordinators.schemas.rows import SchemaContent
from engine.records.compression import CODECS, NONE, compress
from engine.records.layout import MAGIC, NO_PRODUCER_ID, BatchHeader, pack_record, seal_batch
from tidegate.broker import Broker
from tidegate.config import BrokerConfig
from tools.bench import callgrind
from tools.bench.replay import PRODUCE_VERSION, Load, Measured, Work, pump
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from wire.registry.changing import with_changes

MODULE = "tools.bench.validation"
RECORDS, LINES = 64, {"json": 23, "avro": 54}
LEVELS = ("none", "id", "full")
CODECS_TRIED = ("plain", "lz4")
PIECES, LENGTH, WARM_UP, TURNS = 5, 5, 20, 7
PATIENCE_S = 900.0
LINE_FIELDS = (("sku", "string"), ("n", "long"), ("price", "double"))
LINE = {"type": "record", "name": "Line", "fields": [{"name": name, "type": kind} for name, kind in LINE_FIELDS]}
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
    ],
}
JSON = {
    "type": "object",
    "required": ["id", "lines"],
    "properties": {
        "id": {"type": "integer"},
        "note": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["sku", "n"],
                "properties": {"sku": {"type": "string"}, "n": {"type": "integer"}, "price": {"type": "number"}},
            },
        },
    },
}
SCHEMAS = {"json": SchemaContent("JSON", json.dumps(JSON)), "avro": SchemaContent("AVRO", json.dumps(AVRO))}


def payloads(kind: str) -> list[bytes]:
    """Of some 1 KiB each, no two the same."""
    found = []
    for number in range(RECORDS):
        lines = LINES[kind]
        value = {
            "id": number,
            "note": f"order number {number}",
            "lines": [{"sku": f"part-{number}-{line}", "n": line, "price": 0.25 * line} for line in range(lines)],
        }
        if kind == "avro":
            value["note"] = {"string": value["note"]}
            found.append(FORMAT.parse(json.dumps(AVRO)).from_json(value))
        else:
            found.append(json.dumps(value).encode())
    return found


def cases(only: str = "") -> list[tuple[str, str, str]]:
    """Kind, codec and level of each."""
    every = [(kind, codec, level) for kind in SCHEMAS for codec in CODECS_TRIED for level in LEVELS]
    return [each for each in every if only in "-".join(each)]


async def run(measured: Measured, only: str) -> None:
    """A broker with topics and schemas, warm; then `measured` with each load."""
    with tempfile.TemporaryDirectory(prefix="tidegate-validation-") as directory:
        values: dict[str, object] = {"listeners": "PLAINTEXT://127.0.0.1:0", "http.port": 0, "log.dirs": directory}
        values["log.trace.sample.per.second"] = 0
        async with Broker(BrokerConfig.load(values=values)) as broker:
            registering = with_changes(broker.node.services)[Registering]
            host, _, port = broker.kafka_address.rpartition(":")
            stream = await trio.open_tcp_stream(host, int(port))
            for kind, codec, level in cases(only):
                name = "-".join((kind, codec, level))
                configs = [CreatableTopicConfig("schema.validation", level)]
                made = CreateTopicsRequest(topics=[CreatableTopic(name, 1, 1, configs=configs)], timeout_ms=60_000)
                await pump(stream, Load("create", made, 5, 1), 1)
                found = await registering.register(WantedSchema(checked(f"{name}-value"), SCHEMAS[kind]))
                load = _load(name, payloads(kind), codec, found.schema.id)
                await pump(stream, load, WARM_UP)
                await measured(name, partial(pump, stream, load))
            await stream.aclose()


def _load(name: str, values: Sequence[bytes], codec: str, schema_id: int) -> Load:
    framing, now_ms = b"\0" + schema_id.to_bytes(4, "big"), time.time_ns() // 1_000_000
    section = b"".join(pack_record(number, 0, None, framing + value) for number, value in enumerate(values))
    number, last = CODECS.get(codec, NONE), len(values) - 1
    header = BatchHeader(0, 0, -1, MAGIC, 0, number, last, now_ms, now_ms, NO_PRODUCER_ID, -1, -1, len(values))
    batch = seal_batch(header, compress(number, section) if number else section)
    data = TopicProduceData(name=name, partition_data=[PartitionProduceData(0, batch)])
    return Load(name, ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data]), PRODUCE_VERSION, 1)


async def counted(only: str) -> None:
    """[under callgrind] A dump before each load, and one after each piece of it."""
    counter = callgrind.Counter()
    counter.start()

    async def measured(name: str, work: Work) -> None:  # noqa: ARG001 - counts are told apart by their order
        counter.dump()
        for _ in range(PIECES):
            await work(LENGTH)
            counter.dump()

    await run(measured, only)


async def timed(only: str) -> dict[str, float]:
    """Microseconds of processor time for each record: the least of several turns."""
    found: dict[str, float] = {}

    async def measured(name: str, work: Work) -> None:
        for _ in range(TURNS):
            began = time.process_time()
            await work(LENGTH)
            spent = (time.process_time() - began) * 1e6 / LENGTH / RECORDS
            found[name] = min(found.get(name, math.inf), spent)

    await run(measured, only)
    return found


def count(only: str) -> dict[str, float]:
    """Instructions for each record, by load."""
    with tempfile.TemporaryDirectory(prefix="tidegate-callgrind-") as directory:
        out = Path(directory) / "counts"
        program = (sys.executable, "-m", MODULE, "--only", only, "--counted")
        subprocess.run(callgrind.command(out, program), check=True, timeout=PATIENCE_S)
        counts = callgrind.counts(out)
    # A load begins with the dump that ends what came before it.
    every, names = PIECES + 1, ["-".join(case) for case in cases(only)]
    pieces = (counts[every * place + 1 : every * (place + 1)] for place in range(len(names)))
    return {name: median(each) / LENGTH / RECORDS for name, each in zip(names, pieces, strict=True)}


def table(costs: dict[str, float]) -> dict[str, dict[str, float]]:
    """Each cost, and as a multiple of the same without validation."""
    found = {}
    for name, cost in costs.items():
        none = costs.get(f"{name.rpartition('-')[0]}-none", math.nan)
        found[name] = {"cost": round(cost, 1), "times": round(cost / none, 2)}
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="loads whose names have this, like json-lz4")
    parser.add_argument("--counted", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.counted:
        trio.run(counted, given.only)
        return 0
    is_counted = callgrind.available()
    costs = count(given.only) if is_counted else trio.run(timed, given.only)
    print(json.dumps({"instructions" if is_counted else "cpu_us": table(costs)}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
