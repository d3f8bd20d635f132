"""Whether the files of a broker are sound: checksums, framing, rising offsets, indexes that point at batches."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from engine.files.files import OsFiles
from engine.log.index import ENTRY_SIZE
from engine.log.replacement import GAPS_FILE
from engine.records.layout import BatchHeader
from engine.scrub.segment_check import SegmentCheck
from engine.scrub.small_files import is_small_file, small_file_problem
from tools.cli.errors import CliError
from tools.cli.log_files import index_rows, record_rows
from tools.cli.log_meanings import UNREADABLE
from tools.cli.log_places import STAGE

_TAIL = 65_536
_CHUNK = 1024 * 1024


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
        elif is_small_file(path.name):
            seen.snapshots += path.suffix == ".snapshot"
            problem = small_file_problem(OsFiles(), str(path.parent), path.name)
            if problem is not None:
                seen.findings.append(Finding(str(path), 0, problem))


def _verify_segment(path: Path, seen: Verified) -> None:
    places: dict[int, int] = {}
    events: list[tuple[int, BatchHeader]] = []
    is_stage = path.parent.name == STAGE

    def on_batch(position: int, header: BatchHeader, sound: bool) -> None:
        places[position] = header.base_offset
        if sound and is_stage and header.is_control:
            events.append((position, header))

    size = path.stat().st_size
    check = SegmentCheck(int(path.stem) if path.stem.isdecimal() else 0, gaps_allowed=_may_have_gaps(path))
    file = OsFiles().open(str(path))
    try:
        while check.position < size and not check.is_broken:
            for problem in check.look(file, size, _CHUNK, on_batch):
                # A broker lays no file out beforehand, but a file system may leave zeros where a crash came.
                if not check.is_broken or not _is_blank(path, check.position, size):
                    seen.findings.append(Finding(str(path), problem.position, problem.text))
    finally:
        file.close()
    for position, header in events:
        _verify_events(path, position, header, seen)
    seen.segments += 1
    seen.batches += check.batches
    seen.records += check.records
    seen.size_bytes += check.position
    index = path.with_suffix(".index")
    if index.exists():
        seen.indexes += 1
        _verify_index(index, places, check.position, seen)


def _may_have_gaps(path: Path) -> bool:
    """Compaction leaves some, and a mark that it was there; another's logs may have them without."""
    folder = path.parent
    is_ours = folder.name == STAGE or folder.name.isdecimal()
    return not is_ours or (folder / GAPS_FILE).exists()


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
