"""Whether the files of a broker are sound: checksums, framing, rising offsets, indexes that point at batches."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field

from engine.index import ENTRY_SIZE
from engine.leader_epochs import FILE_NAME as EPOCHS_FILE
from engine.records import BatchHeader
from engine.recovery import START_FILE
from engine.stage.checkpoint import FILE as CHECKPOINT_FILE
from tools.cli.errors import CliError
from tools.cli.log_files import batches, index_rows, record_rows
from tools.cli.log_meanings import UNREADABLE
from tools.cli.log_places import STAGE
from tools.cli.log_state import checkpoint_data, epochs_data, snapshot_data, start_offset_data

_TAIL = 65_536
_SMALL: dict[str, Callable[[Path], Any]] = {
    CHECKPOINT_FILE: checkpoint_data,
    START_FILE: start_offset_data,
    EPOCHS_FILE: epochs_data,
}


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
        elif path.name in _SMALL:
            try:
                _SMALL[path.name](path)
            except CliError as error:
                seen.findings.append(Finding(str(path), 0, str(error)))


def _verify_segment(path: Path, seen: Verified) -> None:
    places: dict[int, int] = {}
    end, last_offset = 0, int(path.stem) - 1 if path.stem.isdecimal() else -1
    is_stage = path.parent.name == STAGE
    for position, header, sound in batches(path):
        if not sound:
            seen.findings.append(Finding(str(path), position, "the checksum of this batch does not hold"))
        if header.base_offset <= last_offset:
            text = f"offset {header.base_offset} comes after {last_offset}"
            seen.findings.append(Finding(str(path), position, text))
        elif sound and is_stage and header.is_control:
            _verify_events(path, position, header, seen)
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


def _verify_events(path: Path, position: int, header: BatchHeader, seen: Verified) -> None:
    """What a stage notes must be readable: a broker that cannot read it does not open the partition."""
    try:
        for row in record_rows(path, position, header):
            if str(row["meaning"]).startswith(UNREADABLE):
                seen.findings.append(Finding(str(path), position, f"an event {row['meaning']}"))
    except CliError as error:
        seen.findings.append(Finding(str(path), position, str(error)))


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
