"""What looking for extension headers costs, batch by batch: `python -m tools.bench.sniff`.

No broker runs. Each line is one kind of batch without any such header: the search itself, what comes before it if the
batch is compressed, and beside it the checksum that every batch pays anyway. The last lines are batches that do carry
headers, whose records are opened and written anew. CPU time of the best of several rounds counts: noise only ever adds.
"""

import argparse
import json
import random
import string
import sys
from collections.abc import Callable, Iterator, Sequence

from attrs import frozen
from crc32c import crc32c

from engine.records.compression import CODECS, NONE, compress, decompress
from engine.records.layout import pack_record
from engine.stage.headers import HeaderRules, open_records, sniff
from engine.stage.repack import released_record
from tools.bench.best import best_us

BATCH_SIZES = (16 * 1024, 1024 * 1024)
RECORD_SIZES = (100, 1024)
COMPRESSED = ("lz4", "zstd", "snappy", "gzip")
NOW_MS = 1_800_000_000_000
RULES = HeaderRules(delay_max_ms=10_000_000, priority=True)
Header = tuple[bytes, bytes | None]


@frozen
class Line:
    """One kind of batch and its times in microseconds; None where there is nothing to do."""

    name: str
    payload: str
    record_bytes: int
    records: int
    section_bytes: int
    stored_bytes: int
    checksum_us: float
    decompress_us: float | None
    sniff_us: float

    @property
    def per_record_us(self) -> float:
        return ((self.decompress_us or 0.0) + self.sniff_us) / self.records


def random_payload(source: random.Random, size: int) -> bytes:
    """Bytes that no codec shrinks."""
    return source.randbytes(size)


def json_payload(source: random.Random, size: int) -> bytes:
    """An event as applications write them, filled up with words."""
    event = {"id": source.getrandbits(48), "time": NOW_MS + source.getrandbits(20), "state": "dispatched", "note": ""}
    room = size - len(json.dumps(event))
    words = ("".join(source.choices(string.ascii_lowercase, k=source.randint(2, 9))) for _ in range(1 + size // 3))
    event["note"] = " ".join(words)[: max(room, 0)]
    return json.dumps(event).encode()[:size]


PAYLOADS: dict[str, Callable[[random.Random, int], bytes]] = {"random": random_payload, "json": json_payload}


def section(payload: str, record_bytes: int, total: int, headers: Sequence[Header] = ()) -> tuple[bytes, int]:
    """Records of about `total` bytes together, and how many they are."""
    source = random.Random(f"{payload} {record_bytes} {total}")
    make = PAYLOADS[payload]
    records: list[bytes] = []
    size = 0
    while size < total:
        number = len(records)
        records.append(pack_record(number, number, b"key-%d" % number, make(source, record_bytes), headers))
        size += len(records[-1])
    return b"".join(records), len(records)


def measure(codec: str, payload: str, record_bytes: int, total: int, rounds: int) -> Line:
    """One line of the table."""
    plain, count = section(payload, record_bytes, total)
    if sniff(plain):
        raise SystemExit(f"{payload} payloads of {record_bytes} bytes happen to hold an extension header's prefix")
    number = CODECS[codec]
    stored = compress(number, plain)
    return Line(
        codec,
        payload,
        record_bytes,
        count,
        len(plain),
        len(stored),
        best_us(lambda: crc32c(stored), rounds),
        None if number == NONE else best_us(lambda: decompress(number, stored), rounds),
        best_us(lambda: sniff(plain), rounds),
    )


def lines(rounds: int) -> Iterator[Line]:
    """Every kind of batch that carries no extension header."""
    for codec in ("uncompressed", *COMPRESSED):
        for payload in PAYLOADS:
            for record_bytes in RECORD_SIZES:
                for total in BATCH_SIZES:
                    yield measure(codec, payload, record_bytes, total, rounds)


HEAD = (
    f"{'codec':<13}{'payload':<8}{'record':>7}{'records':>9}{'batch':>9}{'stored':>9}"
    f"{'crc us':>10}{'unpack us':>11}{'sniff us':>10}{'us/record':>11}"
)


def shown(line: Line) -> str:
    """A line of the table."""
    unpack = "-" if line.decompress_us is None else f"{line.decompress_us:,.1f}"
    return (
        f"{line.name:<13}{line.payload:<8}{line.record_bytes:>7}{line.records:>9}{line.section_bytes:>9}"
        f"{line.stored_bytes:>9}{line.checksum_us:>10,.2f}{unpack:>11}{line.sniff_us:>10,.2f}{line.per_record_us:>11.3f}"
    )


CARRIED: dict[str, Sequence[Header]] = {
    "none": (),
    "tide-priority, another": ((b"tide-priority", b"high"), (b"content-type", b"application/json")),
    "tide-delay, tide-schedule-id": ((b"tide-delay", b"5000"), (b"tide-schedule-id", b"job-4711")),
}


def opening(headers: Sequence[Header], record_bytes: int, rounds: int) -> tuple[float, float]:
    """Microseconds per record to open a batch, and to write a record anew for its release."""
    data, count = section("json", record_bytes, BATCH_SIZES[0], headers)
    opened = open_records(data, count, RULES, NOW_MS)
    records = [data[each.start : each.end] for each in opened]

    def release() -> None:
        for number, record in enumerate(records):
            released_record(record, number, -5000)

    open_us = best_us(lambda: open_records(data, count, RULES, NOW_MS), rounds)
    return open_us / count, best_us(release, rounds) / count


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.sniff", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="how often each is measured (default: 7)")
    options = parser.parse_args(arguments)
    print(HEAD)
    for line in lines(options.rounds):
        print(shown(line), flush=True)
    print(f"\n{'headers of each record':<32}{'record':>7}{'open us':>10}{'release us':>12}")
    for name, headers in CARRIED.items():
        for record_bytes in RECORD_SIZES:
            open_us, release_us = opening(headers, record_bytes, options.rounds)
            print(f"{name:<32}{record_bytes:>7}{open_us:>10.2f}{release_us:>12.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
