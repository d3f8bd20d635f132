"""What a partition remembers beside its log, in plain values: snapshots, a stage's checkpoint, where it begins."""

from pathlib import Path
from typing import Any

from engine.errors import StorageError
from engine.files.files import OsFiles
from engine.log.leader_epochs import LeaderEpochs
from engine.log.recovery import read_start_offset
from engine.log.snapshot import Snapshot
from engine.stage import checkpoint
from engine.stage.turns import LaneRules
from tools.cli.asked import PRIORITIES
from tools.cli.errors import CliError

FOREVER_MS = 2**62


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


STATES = ("uncommitted", "waiting", "held", "ready", "expired", "expired")
"""Of a row of a stage, by number."""


def checkpoint_data(path: Path) -> dict[str, Any]:
    """The checkpoint of a stage in plain values: what waited when it was written."""
    try:
        found = checkpoint.read(OsFiles(), str(path.parent), LaneRules())
    except StorageError as error:
        raise CliError(str(error), "the broker replays the stage instead, as long as all of it is there") from None
    assert found is not None
    offset, state = found
    return {
        "stage_offset": offset,
        "prioritised": state.prioritised,
        "pending": len(state.table),
        "open_transactions": sorted(state.transactions),
        "intents": [
            {"first_offset": each.first_offset, "end_offset": each.end_offset, "released_ms": each.released_ms}
            for each in state.intents
        ],
        "rows": [
            {
                "number": row.number,
                "records": row.count - row.skip,
                "state": STATES[row.state],
                "priority": PRIORITIES[row.lane],
                # A delay is kept in the steady time of the stage.
                "due_ms": row.due_ms + state.ahead_ms if row.relative else row.due_ms,
                "created_ms": row.created_ms,
                "size_bytes": row.size,
            }
            for row in state.table.rows()
        ],
    }


def start_offset_data(path: Path) -> dict[str, Any]:
    """Where a partition begins, if records were deleted."""
    try:
        return {"start_offset": read_start_offset(OsFiles(), str(path.parent))}
    except StorageError as error:
        raise CliError(str(error), "the broker refuses it, too") from None


def epochs_data(path: Path) -> list[dict[str, int]]:
    """Leader epochs, and the offsets at which they began."""
    found = LeaderEpochs.read(OsFiles(), str(path.parent))
    if found is None:
        raise CliError(f"{path} is damaged", "the broker rebuilds it out of the log")
    return [{"epoch": epoch, "start_offset": start} for epoch, start in found.entries]
