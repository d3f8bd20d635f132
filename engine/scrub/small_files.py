"""Whether the small files beside a log's segments are sound; each carries a checksum of its own."""

import os

from engine.errors import StorageError
from engine.files.files import Files, read_whole
from engine.log.leader_epochs import FILE_NAME as EPOCHS_FILE
from engine.log.leader_epochs import LeaderEpochs
from engine.log.recovery import (
    JOURNAL_BIRTH_FILE,
    JOURNAL_FLOOR_FILE,
    START_FILE,
    read_journal_floor,
    read_start_offset,
)
from engine.log.snapshot import SUFFIX as SNAPSHOT_SUFFIX
from engine.log.snapshot import Snapshot
from engine.scrub.segment_check import FileFault
from engine.stage import checkpoint

SNAPSHOT_PROBLEM = "this snapshot is damaged"
CHECKPOINT_PROBLEM = "the stage's checkpoint is damaged"
EPOCHS_PROBLEM = "the list of leader epochs is damaged"


def is_small_file(name: str) -> bool:
    """Whether it is one of them."""
    return name.endswith(SNAPSHOT_SUFFIX) or name in (
        checkpoint.FILE,
        START_FILE,
        JOURNAL_FLOOR_FILE,
        JOURNAL_BIRTH_FILE,
        EPOCHS_FILE,
    )


def small_file_problem(files: Files, directory: str, name: str) -> str | None:
    """[thread] What is wrong with it; None if nothing is, or if it has gone meanwhile."""
    path = os.path.join(directory, name)
    try:
        if name.endswith(SNAPSHOT_SUFFIX):
            data = read_whole(files, path)
            return SNAPSHOT_PROBLEM if data is not None and Snapshot.decode(data) is None else None
        if name == checkpoint.FILE:
            return None if checkpoint.is_whole(files, directory) else CHECKPOINT_PROBLEM
        if name == START_FILE:
            read_start_offset(files, directory)
        elif name in (JOURNAL_FLOOR_FILE, JOURNAL_BIRTH_FILE):
            read_journal_floor(files, directory)
        elif LeaderEpochs.read(files, directory) is None and name in files.list(directory):
            return EPOCHS_PROBLEM
    except StorageError as error:
        return str(error)
    except (ValueError, OSError) as error:
        return f"it cannot be read: {error}"
    return None


def small_file_problems(files: Files, directory: str) -> dict[str, FileFault]:
    """[thread] Of all there are, by path."""
    found: dict[str, FileFault] = {}
    for name in files.list(directory):
        problem = small_file_problem(files, directory, name) if is_small_file(name) else None
        if problem is not None:
            found[os.path.join(directory, name)] = FileFault(0, -1, problem)
    return found
