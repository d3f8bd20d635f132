"""The segments and indexes of a partition, read without a broker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.errors import BrokerError
from engine.files.files import OsFiles
from engine.log.index import ENTRY, ENTRY_SIZE, open_sealed
from engine.log.leader_epochs import FILE_NAME as EPOCHS_FILE
from engine.log.recovery import START_FILE
from engine.log.segment import scan_batches
from engine.records.layout import BatchHeader, record_section
from engine.stage.checkpoint import FILE as CHECKPOINT_FILE
from tools.cli.errors import CliError, NotFound
from tools.cli.formats import field_of
from tools.cli.log_meanings import meanings

CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
SUFFIXES = (".log", ".index", ".snapshot")
SMALL_FILES = (CHECKPOINT_FILE, START_FILE, EPOCHS_FILE)


def files_under(place: Path) -> list[Path]:
    """Segments, indexes and snapshots: this file, or those in this folder and below."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise NotFound(f"there is no {place}", "name a data directory, a partition's folder, or a file in it")
    found = sorted(each for each in place.rglob("*") if each.suffix in SUFFIXES or each.name in SMALL_FILES)
    if not found:
        raise NotFound(f"{place} holds no segments", "name a data directory, a partition's folder, or a file in it")
    return found


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


def record_rows(path: Path, position: int, header: BatchHeader, topic: str = "") -> Iterator[dict[str, Any]]:
    """The records of a batch in plain values; `meaning` is what the broker's own say."""
    file = _opened(path)
    try:
        batch = memoryview(file.pread(header.size, position))
    finally:
        file.close()
    try:
        for span, said in meanings(topic, header, record_section(header, batch)):
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
                "meaning": said,
            }
    except BrokerError as error:
        raise CliError(
            f"{path} at byte {position}: {error}", f"'tidegate log verify {path}' looks at all of it"
        ) from None


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
