"""`tidegate bench`: how fast this broker takes records and gives them back, from here."""

import asyncio
import os
import time
from typing import Annotated, Any

import typer

from tools.cli.commands.produce import Acks, Compression
from tools.cli.errors import CliError, UsageMistake
from tools.cli.framework import Session, session
from tools.cli.kafka import check, client_options, connected, reaching, run
from tools.cli.output import Column, size_text
from tools.cli.progress import Progress, progress
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

EXAMPLES = (
    "tidegate bench",
    "tidegate bench --records 100000 --size 1024 --partitions 6",
    "tidegate bench --acks 1 --compression zstd -o json",
)
PREFIX = "tidegate-bench-"
SILENCE_S = 30.0
COLUMNS = (
    Column("load"),
    Column("records", right=True),
    Column("seconds", right=True),
    Column("records_per_second", "records/s", lambda value: f"{value:,.0f}", right=True),
    Column("bytes_per_second", "throughput", lambda value: f"{size_text(value)}/s", right=True),
    Column("p50_ms", "p50 ms", right=True),
    Column("p99_ms", "p99 ms", right=True),
)


def bench(
    context: typer.Context,
    records: Annotated[int, typer.Option("--records", "-n", min=1, help="How many.")] = 20_000,
    size: Annotated[int, typer.Option("--size", min=1, max=900_000, help="Bytes of each.")] = 200,
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1, help="Of the topic.")] = 3,
    acks: Annotated[Acks, typer.Option("--acks", help="Who must have a record.")] = Acks.ALL,
    compression: Annotated[Compression, typer.Option("--compression", "-z", help="Of batches.")] = Compression.NONE,
    pings: Annotated[int, typer.Option("--pings", min=1, help="Records sent one at a time, for latency.")] = 200,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the topic.")] = False,
) -> None:
    """How fast a broker takes records and gives them back, from here.

    Sends records to a new topic and reads them back; the topic is deleted afterwards.
    The client is Python and often the bound; 'make bench' in a checkout measures with faster ones."""
    at = session(context)
    if acks is Acks.NONE:
        raise UsageMistake("with --acks 0 nobody says when a record has arrived", "give --acks 1 or all")
    options = {
        "acks": "all" if acks is Acks.ALL else int(acks.value),
        "compression_type": None if compression is Compression.NONE else compression.value,
        "max_batch_size": 262_144,
        "linger_ms": 5,
    }
    topic = f"{PREFIX}{os.getpid()}-{time.time_ns() // 1_000_000}"
    rows = run(_measure(at, topic, records, size, partitions, pings, options, keep=keep), waits=False)
    at.output.rows(rows, COLUMNS)


async def _measure(
    at: Session,
    topic: str,
    records: int,
    size: int,
    partitions: int,
    pings: int,
    options: dict[str, Any],
    *,
    keep: bool,
) -> list[dict[str, Any]]:
    async with connected(at.profile) as kafka:
        wanted = CreateTopicsRequest(topics=[CreatableTopic(topic, partitions, -1)], timeout_ms=30_000)
        for each in (await kafka.call(wanted)).topics:
            check(each.error_code, topic, each.error_message)
        try:
            with progress("records", 2 * records + pings) as shown:
                async with reaching(at.profile):
                    sent = await _produce(at, topic, records, size, options, shown)
                    read = await _consume(at, topic, records, size, shown)
                    pinged = await _ping(at, topic, pings, size, options, shown)
        finally:
            if not keep:
                gone = DeleteTopicsRequest([DeleteTopicState(name=topic)], 30_000, [topic])
                await kafka.call(gone)
    return [sent, read, pinged]


def _figures(load: str, records: int, size: int, seconds: float, times_ms: list[float] | None = None) -> dict[str, Any]:
    row = {
        "load": load,
        "records": records,
        "seconds": round(seconds, 3),
        "records_per_second": round(records / seconds, 1),
        "bytes_per_second": round(records * size / seconds),
        "p50_ms": None,
        "p99_ms": None,
    }
    if times_ms:
        ordered = sorted(times_ms)
        row["p50_ms"] = round(ordered[len(ordered) // 2], 3)
        row["p99_ms"] = round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 3)
    return row


async def _produce(
    at: Session, topic: str, records: int, size: int, options: dict[str, Any], shown: Progress
) -> dict[str, Any]:
    from aiokafka import AIOKafkaProducer

    value = os.urandom(size)
    producer = AIOKafkaProducer(**client_options(at.profile), **options)
    try:
        await producer.start()
        await producer.partitions_for(topic)
        begun = time.perf_counter()
        waiting = []
        for _ in range(records):
            waiting.append(await producer.send(topic, value))
            if len(waiting) == 1_000:
                await asyncio.gather(*waiting)
                shown.advance(len(waiting))
                waiting.clear()
        await asyncio.gather(*waiting)
        shown.advance(len(waiting))
        return _figures("produce", records, size, time.perf_counter() - begun)
    finally:
        await producer.stop()


async def _consume(at: Session, topic: str, records: int, size: int, shown: Progress) -> dict[str, Any]:
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(topic, **client_options(at.profile), auto_offset_reset="earliest")
    try:
        begun = last = time.perf_counter()
        await consumer.start()
        seen = 0
        while seen < records:
            found = await consumer.getmany(timeout_ms=1_000)
            count = sum(map(len, found.values()))
            seen += count
            shown.advance(count)
            last = time.perf_counter() if count else last
            if time.perf_counter() - last > SILENCE_S:
                raise CliError(f"only {seen} of {records} records came back", "look at the broker's log")
        return _figures("consume", records, size, time.perf_counter() - begun)
    finally:
        await consumer.stop()


async def _ping(
    at: Session, topic: str, pings: int, size: int, options: dict[str, Any], shown: Progress
) -> dict[str, Any]:
    from aiokafka import AIOKafkaProducer

    value = os.urandom(size)
    producer = AIOKafkaProducer(**client_options(at.profile), **{**options, "linger_ms": 0})
    try:
        await producer.start()
        await producer.send_and_wait(topic, value)
        times_ms, begun = [], time.perf_counter()
        for _ in range(pings):
            sent = time.perf_counter()
            await producer.send_and_wait(topic, value)
            times_ms.append((time.perf_counter() - sent) * 1_000)
            shown.advance()
        return _figures("one at a time", pings, size, time.perf_counter() - begun, times_ms)
    finally:
        await producer.stop()
