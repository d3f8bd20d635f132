"""Few large files instead of many small ones: an hour's files are written anew as one, in one commit."""

import time
from collections import defaultdict
from typing import Any

from tools.pipelines.archive.append import Layout, with_columns
from tools.pipelines.archive.entries import Entry, File, State
from tools.pipelines.archive.files import describe, laid_out, write
from tools.pipelines.archive.log import ArchiveLog
from tools.pipelines.options import PipelineError

MEBIBYTE = 2**20


def due(state: State, least_files: int, small_bytes: int) -> list[list[File]]:
    """The folders that have at least so many small files, each with those files."""
    folders: dict[str, list[File]] = defaultdict(list)
    for file in state.files.values():
        if file.bytes < small_bytes:
            folders[file.folder].append(file)
    return [files for _, files in sorted(folders.items()) if len(files) >= max(2, least_files)]


def compact(spark: Any, log: ArchiveLog, files: list[File], layout: Layout) -> Entry:
    """Replaces files of one folder by as few as may be; refused if not every record is there again."""
    from tools.pipelines.archive.files import read

    number = log.state.number + 1
    records = read(spark, log, [file.path for file in files])
    records = with_columns(spark, log.storage, records, files[0].topic, layout)
    write(laid_out(records), log.storage.path(log.staging(number)), layout.files_per_hour, layout.max_records_per_file)
    added = describe(spark, log, number)
    if content(added) != content(files):
        log.storage.delete(log.staging(number))
        raise PipelineError(
            f"the files in {files[0].folder} do not hold what the archive's log says and are left alone: run audit"
        )
    entry = Entry(
        number=number,
        kind="compact",
        run=log.run,
        time_ms=int(time.time() * 1000),
        add=added,
        remove=tuple(file.path for file in files),
    )
    log.commit(entry)
    return entry


def content(files: Any) -> dict[int, tuple[int, int, int, int]]:
    """What files hold per partition: first and last offset, rows, and a checksum that no order changes."""
    found: dict[int, tuple[int, int, int, int]] = {}
    for file in files:
        for number, part in file.parts.items():
            first, last, rows, checksum = found.get(number, (part.first, part.last, 0, 0))
            found[number] = (
                min(first, part.first),
                max(last, part.last),
                rows + part.rows,
                checksum ^ int(part.checksum, 16),
            )
    return found
