"""Opening a stage: its checkpoint, and the replay of what its log holds beyond."""

import logging
import os
from collections.abc import Iterator

from engine.errors import StorageError
from engine.files.files import Files
from engine.log.log import Log
from engine.log.replay import replayed_batches
from engine.log.types import LogConfig, LogPosition
from engine.records.layout import HEADER_SIZE
from engine.stage import checkpoint
from engine.stage.lanes import LaneRules
from engine.stage.state import Placed, StageState

logger = logging.getLogger("tidegate.stage")

SEGMENT_BYTES = 128 * 1024 * 1024
MAX_BATCH_BYTES = 2**31 - 1


def stage_log_config(producer_id_expiration_ms: int, segment_bytes: int = SEGMENT_BYTES) -> LogConfig:
    """How a stage's log is kept: as it is written, nothing ages."""
    return LogConfig(
        segment_bytes=segment_bytes,
        segment_ms=2**62,
        max_message_bytes=MAX_BATCH_BYTES,
        cleanup_delete=False,
        producer_id_expiration_ms=producer_id_expiration_ms,
    )


def load_state(log: Log, files: Files, rules: LaneRules, steady_ms: int, wall_ms: int) -> StageState:
    """[thread] What the stage holds."""
    found = _checkpoint(log, files, rules)
    if found is None:
        offset, state = log.start_offset, StageState.empty(steady_ms, wall_ms, rules)
    else:
        offset, state = found
    state.replayed_from = offset
    replayed = 0
    for batch in _batches(log, offset):
        state.replay(batch)
        replayed += 1
    if replayed:
        logger.info("%s: %d batches of the stage replayed from %d", log.name, replayed, offset)
    return state


def _checkpoint(log: Log, files: Files, rules: LaneRules) -> tuple[int, StageState] | None:
    """The checkpoint, unless the log can do without it and it is of no use."""
    is_whole = log.start_offset == 0
    try:
        found = checkpoint.read(files, log.directory, rules)
    except StorageError:
        if is_whole:
            logger.warning("%s: the stage's checkpoint is damaged; its log is replayed whole", log.name)
            return None
        raise
    if found is None or log.start_offset <= found[0] <= log.end_offset:
        if found is None and not is_whole:
            raise StorageError(f"{log.name}: the stage's checkpoint is missing, its log begins at {log.start_offset}")
        return found
    if is_whole:
        # Once the log has grown past it again, it would be taken for a state of what was never written.
        files.unlink(os.path.join(log.directory, checkpoint.FILE))
        files.sync_directory(log.directory)
        return None
    raise StorageError(f"{log.name}: the stage's checkpoint is of {found[0]}, its log ends at {log.end_offset}")


def _batches(log: Log, offset: int) -> Iterator[Placed]:
    """Each is vouched for: the state that comes of them decides what clients are given, and when."""
    at = log.position_of(offset)
    start = LogPosition(offset, at.segment, at.position)
    for header, batch, segment, position in replayed_batches(log.segments, start, log.end, gaps_allowed=False):
        yield Placed(header, bytes(batch[HEADER_SIZE:]), segment, position + HEADER_SIZE)
