"""One staged record by its id: where it is, and what became of it.

An id is the record's `tide-schedule-id`, or `#` and its number in the stage for a record without one; the `#` may be
left out, where no schedule id is that number. A record with a schedule id may be named by its number too, as long as it
is pending; what became of it is kept under its id alone. What open transactions have staged is not seen.
"""

import re
from typing import NamedTuple

from coordinators.release.pending_records import Fate, FateName, StateName
from engine.errors import InvalidRequest
from engine.stage.fates import FateKind, id_hash
from engine.stage.pending import PendingRow
from engine.stage.stage import Stage
from engine.stage.state import HELD, HOLE, NONE, READY, WAITING, StageState

FATES: dict[FateKind, FateName] = {
    FateKind.DELIVERED: "DELIVERED",
    FateKind.CANCELLED: "CANCELLED",
    FateKind.EXPIRED: "EXPIRED",
}
_STATES: dict[int, StateName] = {WAITING: "waiting", HELD: "held", READY: "ready"}
_NUMBER = re.compile(r"#?([0-9]{1,18})")


class NoSuchRecord(InvalidRequest):
    """Nothing is pending under this id, nor is it remembered."""


class TooLate(InvalidRequest):
    """The record is no longer, or not now, one that can be cancelled or moved to another time."""


class FoundRecord(NamedTuple):
    """A pending record. `number` is its own, which may lie inside the row of a run."""

    number: int
    row: PendingRow
    state: StateName


def state_of(row: PendingRow) -> StateName | None:
    """The state that callers are told; None for a row that they do not see."""
    if row.state == WAITING and row.due_ms == NONE:
        return "releasing"
    return _STATES.get(row.state)


def is_delayed(row: PendingRow) -> bool:
    """Whether it waits for its time, and everybody may know."""
    return row.state in (WAITING, HELD) and row.due_ms != NONE


def find(state: StageState, record_id: str) -> FoundRecord | None:
    """The pending record of this id. A schedule id goes before a number: it may look like one."""
    key = id_hash(record_id.encode())
    number = state.table.by_id(key)
    if number is not None and (found := _in_table(state, number)) is not None:
        return found
    for row in state.intended.values():
        if row.id_hash == key:
            return FoundRecord(row.number, row, "releasing")
    matched = _NUMBER.fullmatch(record_id)
    return None if matched is None else _by_number(state, int(matched[1]))


def _by_number(state: StageState, number: int) -> FoundRecord | None:
    for intent in state.intents:
        for piece in intent.pieces:
            if piece.number <= number < piece.number + piece.count and piece.lane < HOLE:
                return FoundRecord(number, state.intended[piece.number], "releasing")
    return _in_table(state, number)


def _in_table(state: StageState, number: int) -> FoundRecord | None:
    row = state.table.get(number)
    if row is None or number < row.number + row.skip:
        return None
    name = state_of(row)
    return None if name is None else FoundRecord(number, row, name)


def fate(stage: Stage, record_id: str) -> Fate:
    """What became, or is to become, of the record of this id."""
    if find(stage.state, record_id) is not None:
        return Fate("PENDING")
    known = stage.state.fates.get(id_hash(record_id.encode()))
    if known is None and record_id.isdecimal():
        known = stage.state.fates.get(id_hash(f"#{record_id}".encode()))
    if known is None:
        return Fate("UNKNOWN")
    offset = None if known.offset == NONE else known.offset
    return Fate(FATES[known.kind], offset, known.at_ms + ahead_ms(stage))


def to_change(stage: Stage, record_id: str) -> PendingRow:
    """The row of a record that waits; NoSuchRecord or TooLate say why there is none."""
    found = find(stage.state, record_id)
    if found is None:
        raise _gone(stage, record_id)
    if found.state == "held":
        raise TooLate(
            f"the record {record_id!r} is held by a transaction that replaces or cancels it; wait for its end"
        )
    if found.state != "waiting":
        raise TooLate(f"the record {record_id!r} is {found.state}: its time has come, and it cannot be taken back")
    return found.row


def _gone(stage: Stage, record_id: str) -> InvalidRequest:
    known = fate(stage, record_id)
    if known.fate == "UNKNOWN":
        return NoSuchRecord(f"no record {record_id!r} is pending here, and none is remembered")
    where = "" if known.offset is None else f" at offset {known.offset}"
    return TooLate(f"the record {record_id!r} is already {known.fate}{where}")


def ahead_ms(stage: Stage) -> int:
    """By how much the wall clock is ahead of the stage's own time. As long as it was not set, always the same: what is
    told of a record must not change from call to call by a millisecond of rounding."""
    known_ms = stage.state.ahead_ms
    stepped_ms = stage.clock.stepped(known_ms)
    return known_ms if stepped_ms is None else stepped_ms


def due_wall_ms(row: PendingRow, ahead: int) -> int:
    """When a row is due, by the wall clock as it stands now."""
    return row.due_ms + ahead if row.relative else row.due_ms
