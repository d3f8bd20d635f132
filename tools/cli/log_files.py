"""The files of a partition, read without a broker: segments, indexes, snapshots; and whether they are sound."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field

from engine.catalogue_records import TopicRecord
from engine.errors import BrokerError
from engine.files import OsFiles
from engine.index import ENTRY, ENTRY_SIZE, open_sealed
from engine.records import BatchHeader, record_section, walk_records
from engine.segment import scan_batches
from engine.snapshot import Snapshot
from tools.cli.errors import CliError, NotFound
from tools.cli.formats import field_of

CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
FOREVER_MS = 2**62
_TAIL = 65_536


@define
class Finding:
    """What is wrong in a file, and where."""

    file: str
    position: int
    problem: str


@define
class Verified:
    """What a look at many files has found."""

    segments: int = 0
    batches: int = 0
    records: int = 0
    size_bytes: int = 0
    indexes: int = 0
    snapshots: int = 0
    findings: list[Finding] = field(factory=list)


def files_under(place: Path) -> list[Path]:
    """Segments, indexes and snapshots: this file, or those in this folder and below."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise NotFound(f"there is no {place}", "name a data directory, a partition's folder, or a file in it")
    found = sorted(each for each in place.rglob("*") if each.suffix in (".log", ".index", ".snapshot"))
    if not found:
        raise NotFound(f"{place} holds no segments", "name a data directory, a partition's folder, or a file in it")
    return found


def topic_names(data_dir: Path) -> dict[str, str]:
    """Names by the folders that topics are in; empty where there is no catalogue."""
    catalogue = data_dir / "catalogue.sqlite"
    if not catalogue.is_file():
        return {}
    try:
        # A broker may be writing it: only read, and wait for nobody.
        with sqlite3.connect(f"{catalogue.absolute().as_uri()}?mode=ro", uri=True, timeout=1) as connection:
            rows = connection.execute("SELECT value FROM entries WHERE key LIKE 'topics/%'").fetchall()
    except sqlite3.Error:
        return {}
    names = {}
    for (value,) in rows:
        try:
            record = TopicRecord.decode(value)
            names[record.id.hex()] = record.name
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return names


def batches(path: Path) -> Iterator[tuple[int, BatchHeader, bool]]:
    """Position, header, and whether the checksum holds, of every batch of a segment."""
    file = _opened(path)
    try:
        yield from scan_batches(file, 0, file.size())
    finally:
        file.close()


def _opened(path: Path) -> Any:
    try:
        return OsFiles().open(str(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}") from None


def batch_row(position: int, header: BatchHeader, sound: bool) -> dict[str, Any]:
    """A batch in plain values."""
    return {
        "position": position,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "size_bytes": header.size,
        "max_timestamp_ms": header.max_timestamp,
        "codec": CODECS.get(header.codec, str(header.codec)),
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "kind": "control" if header.is_control else "transactional" if header.is_transactional else "plain",
        "sound": sound,
    }


def record_rows(path: Path, position: int, header: BatchHeader) -> Iterator[dict[str, Any]]:
    """The records of a batch in plain values."""
    file = _opened(path)
    try:
        batch = memoryview(file.pread(header.size, position))
    finally:
        file.close()
    try:
        for span in walk_records(record_section(header, batch), header.record_count):
            headers = [(str(name, "utf-8", "backslashreplace"), value) for name, value in span.headers]
            yield {
                "offset": header.base_offset + span.offset_delta,
                "timestamp_ms": header.base_timestamp + span.timestamp_delta,
                **field_of("key", None if span.key is None else bytes(span.key)),
                **field_of("value", None if span.value is None else bytes(span.value)),
                "headers": [
                    {"name": name, **field_of("value", None if value is None else bytes(value))}
                    for name, value in headers
                ],
            }
    except BrokerError as error:
        raise CliError(f"{path} at byte {position}: {error}", "'tidegate log verify' looks at all of it") from None


def index_rows(path: Path) -> list[dict[str, int]]:
    """The entries of an index, sealed or still growing."""
    entries, base = _entries(path), int(path.stem)
    return [
        {"offset": base + relative, "position": position, "max_timestamp_before_ms": time_ms}
        for relative, position, time_ms in ENTRY.iter_unpack(entries)
    ]


def _entries(path: Path) -> bytes:
    data = path.read_bytes()
    segment = path.with_suffix(".log")
    size = segment.stat().st_size if segment.exists() else -1
    sealed = open_sealed(data, size)
    return bytes(sealed[0].entries) if sealed is not None else data[: len(data) // ENTRY_SIZE * ENTRY_SIZE]


def snapshot_data(path: Path) -> dict[str, Any] | None:
    """A snapshot in plain values: the log's end, leader epochs, producers; None if it is damaged."""
    snapshot = Snapshot.decode(path.read_bytes())
    if snapshot is None:
        return None
    return {
        "end_offset": snapshot.end.offset,
        "segment": snapshot.end.segment,
        "position": snapshot.end.position,
        "index_entries": snapshot.index_entries,
        "max_timestamp_ms": snapshot.max_timestamp,
        "leader_epochs": [{"epoch": epoch, "start_offset": start} for epoch, start in snapshot.epochs.entries],
        "producers": [
            {
                "producer_id": each.producer_id,
                "epoch": each.epoch,
                "last_sequence": each.last_sequence,
                "last_timestamp_ms": each.last_timestamp_ms,
                "transaction_start_offset": each.transaction_start_offset,
            }
            for each in snapshot.producer_state(FOREVER_MS).describe()
        ],
    }


def verify(paths: list[Path], on_file: Callable[[], None] = lambda: None) -> Verified:
    """Look at every file: checksums and framing of batches, rising offsets, indexes that point at batches."""
    seen = Verified()
    for path in paths:
        # A broker that runs replaces and removes files while they are looked at.
        if path.exists():
            _verify_one(path, seen)
        on_file()
    return seen


def _verify_one(path: Path, seen: Verified) -> None:
    with suppress(FileNotFoundError):
        if path.suffix == ".log":
            _verify_segment(path, seen)
        elif path.suffix == ".snapshot":
            is_whole = snapshot_data(path) is not None
            seen.snapshots += 1
            if not is_whole:
                seen.findings.append(Finding(str(path), 0, "this snapshot is damaged"))


def _verify_segment(path: Path, seen: Verified) -> None:
    places: dict[int, int] = {}
    end, last_offset = 0, int(path.stem) - 1 if path.stem.isdecimal() else -1
    for position, header, sound in batches(path):
        if not sound:
            seen.findings.append(Finding(str(path), position, "the checksum of this batch does not hold"))
        if header.base_offset <= last_offset:
            text = f"offset {header.base_offset} comes after {last_offset}"
            seen.findings.append(Finding(str(path), position, text))
        places[position] = header.base_offset
        end, last_offset = position + header.size, header.last_offset
        seen.batches += 1
        seen.records += header.record_count
    seen.segments += 1
    seen.size_bytes += end
    size = path.stat().st_size
    if end < size and not _is_blank(path, end, size):
        seen.findings.append(Finding(str(path), end, f"no batch begins here; {size - end} bytes are left"))
    index = path.with_suffix(".index")
    if index.exists():
        seen.indexes += 1
        _verify_index(index, places, end, seen)


def _is_blank(path: Path, start: int, end: int) -> bool:
    with path.open("rb") as file:
        file.seek(start)
        while chunk := file.read(min(_TAIL, end - start)):
            if chunk.strip(b"\0"):
                return False
    return True


def _verify_index(path: Path, places: dict[int, int], end: int, seen: Verified) -> None:
    for number, row in enumerate(index_rows(path)):
        position, offset = row["position"], row["offset"]
        if position not in places and position < end:
            text = f"entry {number} points at byte {position}, where no batch begins"
        elif position in places and places[position] != offset:
            text = f"entry {number} has offset {offset} for the batch of {places[position]}"
        else:
            continue
        seen.findings.append(Finding(str(path), number * ENTRY_SIZE, text))


def place_name(path: Path, names: dict[str, str]) -> str:
    """A file's place in words: topic and partition where they are known."""
    parts = path.parts
    for number in range(len(parts) - 2):
        if parts[number] in names:
            return os.path.join(f"{names[parts[number]]}-{parts[number + 1]}", *parts[number + 2 :])
    return str(path)
