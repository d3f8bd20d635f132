"""Kafka's own console producer and consumer: the Java client behind a line-based face."""

from collections.abc import Sequence

from compat_tests.clients.base import Consumed, Header, Record
from tools.reference.java import java_tool

NULL = "<null>"


class Java:
    """Lines of text only: no partition to choose, no timestamp, and headers without null values."""

    name = "java"

    def produce(self, bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none") -> None:
        properties = ["parse.key=true", "parse.headers=true", f"null.marker={NULL}"]
        done = java_tool(
            "ConsoleProducer",
            *("--bootstrap-server", bootstrap, "--topic", topic, "--compression-codec", codec),
            *_each("--reader-property", properties),
            stdin="".join(_line(record) for record in records),
        )
        assert done.returncode == 0, done.stderr
        assert "ERROR" not in done.stderr, done.stderr

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Consumed]:
        shown = ("timestamp", "partition", "offset", "headers", "key", "value")
        properties = [f"print.{name}=true" for name in shown] + [f"null.literal={NULL}"]
        done = java_tool(
            "ConsoleConsumer",
            *("--bootstrap-server", bootstrap, "--topic", topic, "--partition", str(partition)),
            *("--offset", str(offset), "--max-messages", str(count), "--timeout-ms", "20000"),
            *_each("--formatter-property", properties),
        )
        assert done.returncode == 0, done.stderr
        return [_parse(line) for line in done.stdout.splitlines()]


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _line(record: Record) -> str:
    headers = ",".join(f"{name}:{(value or b'').decode()}" for name, value in record.headers)
    return f"{headers or NULL}\t{_text(record.key)}\t{_text(record.value)}\n"


def _text(value: bytes | None) -> str:
    return NULL if value is None else value.decode()


def _parse(line: str) -> Consumed:
    timestamp, partition, offset, headers, key, value = line.split("\t", 5)
    return Consumed(
        offset=int(offset.removeprefix("Offset:")),
        key=_bytes(key),
        value=_bytes(value),
        headers=_headers(headers),
        timestamp_ms=int(timestamp.split(":")[1]),
        partition=int(partition.removeprefix("Partition:")),
    )


def _bytes(text: str) -> bytes | None:
    return None if text == NULL else text.encode()


def _headers(text: str) -> tuple[Header, ...]:
    if text in ("NO_HEADERS", NULL):
        return ()
    pairs = [pair.split(":", 1) for pair in text.split(",")]
    return tuple((name, _bytes(value)) for name, value in pairs)
