"""The checkpoint of a stage: its state at one offset of its log, so that opening it replays only what came after.

One file, written aside, synced and renamed once the stage is durable up to that offset. It is a shortcut where the
whole log is still there; once old segments were dropped it is what is known of them. A damaged one is refused, then.
"""

import json
import os
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from crc32c import crc32c

from engine.errors import StorageError
from engine.files.files import Buffer, Files, read_whole, replacing
from engine.stage.events import Intent
from engine.stage.fates import Fates
from engine.stage.lanes import LaneRules, Lanes, Piece
from engine.stage.pending import PendingRow, PendingTable
from engine.stage.state import OpenTransaction, StageState
from engine.stage.steady_clock import Anchor
from engine.stage.wheel import Wheel

FILE = "stage-checkpoint"
_MARK = b"TGSTAGE1"
_FIXED = struct.Struct(">8sqI")
_LENGTH = struct.Struct(">q")
_WRITE_BYTES = 1 << 20


def encode(state: StageState) -> Iterator[Buffer]:
    """The state as it is now, taken on the loop: it may change before all of this is consumed, in a thread."""
    small = {
        "intents": [[intent.first_offset, intent.released_ms, intent.pieces] for intent in state.intents],
        "intended": list(state.intended.items()),
        "transactions": {
            str(producer_id): [open_one.numbers, open_one.holds] for producer_id, open_one in state.transactions.items()
        },
        "held_by": {str(number): sorted(holders) for number, holders in state.held_by.items()},
        "dead_letters": list(state.dead_letters.items()),
        "dead_letter_producer": state.dead_letter_producer,
        "dead_letters_sent": state.dead_letters_sent,
        "prioritised": state.prioritised,
        "ahead_ms": state.ahead_ms,
        "codec": state.codec,
        "anchor": state.anchor,
    }
    content = json.dumps(small).encode()
    rest = [piece for part in (state.steady, state.wall, state.lanes, state.fates) for piece in part.encode()]
    # The table, by far the largest, is a snapshot that costs nothing until it is consumed.
    return chain((_LENGTH.pack(len(content)), content), state.table.encode(), rest)


def write(files: Files, directory: str, offset: int, pieces: Iterable[Buffer]) -> None:
    """[thread] Put it in the place of the one before; one at a time. Never holds all of it in memory."""
    with replacing(files, os.path.join(directory, FILE)) as file:
        checksum, position = crc32c(_LENGTH.pack(offset)), _FIXED.size
        for group in _grouped(pieces):
            for piece in group:
                checksum = crc32c(piece, checksum)
            file.write(group, position)
            position += sum(map(len, group))
        file.write([_FIXED.pack(_MARK, offset, checksum)], 0)


def _grouped(pieces: Iterable[Buffer]) -> Iterator[list[Buffer]]:
    """As many at a time as are worth a write."""
    group: list[Buffer] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece)
        if size >= _WRITE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def read(files: Files, directory: str, rules: LaneRules) -> tuple[int, StageState] | None:
    """[thread] The offset and the state there; None if there is no checkpoint."""
    path = os.path.join(directory, FILE)
    data = read_whole(files, path)
    if data is None:
        return None
    if len(data) < _FIXED.size:
        raise StorageError(f"{path} is damaged")
    mark, offset, checksum = _FIXED.unpack_from(data)
    if mark != _MARK or crc32c(memoryview(data)[_FIXED.size :], crc32c(_LENGTH.pack(offset))) != checksum:
        raise StorageError(f"{path} is damaged")
    try:
        return offset, _decode(data, rules)
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


def is_whole(files: Files, directory: str) -> bool:
    """[thread] Whether its checksum holds, found with little memory; also if there is none."""
    try:
        file = files.open(os.path.join(directory, FILE))
    except FileNotFoundError:
        return True
    try:
        fixed, position = file.pread(_FIXED.size, 0), _FIXED.size
        if len(fixed) < _FIXED.size:
            return False
        mark, offset, expected = _FIXED.unpack(fixed)
        checksum = crc32c(_LENGTH.pack(offset))
        while piece := file.pread(_WRITE_BYTES, position):
            checksum = crc32c(piece, checksum)
            position += len(piece)
        return bool(mark == _MARK and checksum == expected)
    finally:
        file.close()


def offset_on_disk(files: Files, directory: str) -> int | None:
    """The offset of the one that lies there; None if there is none."""
    try:
        file = files.open(os.path.join(directory, FILE))
    except FileNotFoundError:
        return None
    try:
        return offset_of(file.pread(_FIXED.size, 0))
    finally:
        file.close()


def offset_of(data: bytes) -> int | None:
    """The offset of a checkpoint, of which these are the first bytes; None if they are no such thing."""
    if len(data) < _FIXED.size or not data.startswith(_MARK):
        return None
    return int(_FIXED.unpack_from(data)[1])


def remove_beyond(files: Files, directory: str, offset: int) -> None:
    """[thread] Remove one that is of a later offset: the log is about to be cut there."""
    known = offset_on_disk(files, directory)
    if known is not None and known > offset:
        files.unlink(os.path.join(directory, FILE))
        files.sync_directory(directory)


def install(files: Files, directory: str, data: bytes) -> None:
    """[thread] Put another node's checkpoint in the place of the one that is there; a damaged one is refused."""
    offset = offset_of(data)
    if offset is None:
        raise StorageError("what was sent is no checkpoint of a stage")
    checksum = crc32c(memoryview(data)[_FIXED.size :], crc32c(_LENGTH.pack(offset)))
    if checksum != _FIXED.unpack_from(data)[2]:
        raise StorageError(f"the checkpoint of offset {offset} was damaged on its way")
    with replacing(files, os.path.join(directory, FILE)) as file:
        file.write([data], 0)


def _decode(data: bytes, rules: LaneRules) -> StageState:
    (length,) = _LENGTH.unpack_from(data, _FIXED.size)
    position = _FIXED.size + _LENGTH.size
    small: dict[str, Any] = json.loads(data[position : position + length])
    table, position = PendingTable.decode(data, position + length)
    steady, position = Wheel.decode(data, position)
    wall, position = Wheel.decode(data, position)
    lanes, position = Lanes.decode(data, position, rules)
    fates, position = Fates.decode(data, position)
    if position != len(data):
        raise ValueError(f"{len(data) - position} bytes follow")
    return StageState(
        steady=steady,
        wall=wall,
        lanes=lanes,
        table=table,
        fates=fates,
        intents=deque(_intent(*fields) for fields in small["intents"]),
        intended={number: PendingRow(*fields) for number, fields in small["intended"]},
        transactions={
            int(producer_id): OpenTransaction([(number, key) for number, key in numbers], holds)
            for producer_id, (numbers, holds) in small["transactions"].items()
        },
        held_by={int(number): set(holders) for number, holders in small["held_by"].items()},
        dead_letters=dict(small["dead_letters"]),
        dead_letter_producer=small["dead_letter_producer"],
        dead_letters_sent=small["dead_letters_sent"],
        prioritised=small["prioritised"],
        ahead_ms=small["ahead_ms"],
        codec=small.get("codec", 0),
        anchor=Anchor(*small["anchor"]) if small.get("anchor") else None,
    )


def _intent(first_offset: int, released_ms: int, pieces: list[list[int]]) -> Intent:
    return Intent(first_offset, released_ms, tuple(Piece(*piece) for piece in pieces))
