"""The journal: one file for all logs, in which a sync round becomes durable by a single write.

Syncing a file for each partition that was written is what makes small produce requests slow. So a round writes all of
its new bytes a second time, as one frame (engine/journal/format.py), into a file that lies on the disk already; then
its records are acknowledged. The logs' own files are synced later. When a slot of the journal is full, the logs that
have bytes in it are synced in the background, and then the slot may be written again. After a crash, recovery gives
each log back what its own files have lost.

Sometimes the journal cannot take a round: no slot is ready, the round is too large, a segment was begun, the disk does
not allow it. Then the round's files are synced, as they would be without a journal. That is always enough.

Invariants:
 1. A slot is written again only when every log in it is synced as far as its bytes in the slot reach, or removed.
 2. A frame is written only after the one before it is durable. So what is read back has no holes.
 3. After a failed write this process never writes the slot again: what it holds stays as it is.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import define, field

from engine.files.files import Files
from engine.files.reserve import is_full
from engine.journal.device import Device, Slot, Written
from engine.journal.format import (
    BLOCK,
    SALT_BYTES,
    SLOT_SUFFIX,
    Journaled,
    JournalPiece,
    Lap,
    SlotExtent,
    frame_size,
    padded,
    place,
    read_journal,
    slot_paths,
    slot_sequence,
    write_frame,
)
from engine.workers import Workers

logger = logging.getLogger("tidegate.journal")

DIRECTORY = "journal"
ROUNDS_WITHOUT = 1000
"""After how many rounds another file is tried again, once the disk was too full for one."""


Owner: TypeAlias = object
"""What has bytes in the journal, and must be synced before they go."""

Settle = Callable[[Sequence[Owner], Callable[[Sequence[Owner]], object]], object]
"""Syncs the files of these, then tells which of them could not be."""


NEVER_WRITTEN = Lap(0, b"")


@define(eq=False)
class _Slot:
    device: Slot
    path: str = ""
    lap: Lap = NEVER_WRITTEN
    frames: int = 0
    position: int = 0
    owners: dict[Owner, None] = field(factory=dict)


class Journal:
    """See the module. Belongs to the loop, but for what is marked [thread]. Without a device it is only read."""

    def __init__(
        self,
        root: str,
        files: Files,
        device: Device | None,
        workers: Workers,
        random_bytes: Callable[[int], bytes],
        *,
        slot_bytes: int,
        slot_count: int,
    ) -> None:
        self._root = root
        self._directory = os.path.join(root, DIRECTORY)
        self._files = files
        self._device = device
        self._workers = workers
        self._random_bytes = random_bytes
        self._slot_bytes = slot_bytes
        self._slot_count = slot_count
        self._largest = min(len(device.buffer), slot_bytes) // BLOCK * BLOCK if device is not None else 0
        self._read: dict[str, list[Journaled]] | None = None
        self._surplus: list[str] = []
        self._sequence = 0
        self._active: _Slot | None = None
        self._ready: deque[_Slot] = deque()
        self._full: list[_Slot] = []
        self._laid_out = 0
        self._laying_out = self._settling = self._running = False
        self._rounds_without = 0
        self._place = 0
        self._frames = self._bytes = self._settled = 0
        self._settle: Settle | None = None

    # --- after a crash ----------------------------------------------------------------------------------

    def open(self, now_ms: int, *, clean: bool) -> None:
        """[thread] Reads what the last broker left, unless it had closed its logs."""
        paths = slot_paths(self._files, self._directory)
        used = {self._path(number) for number in range(self._slot_count if self._device is not None else 0)}
        self._surplus = [path for path in paths if path not in used]
        sequences = [slot_sequence(self._files.open(path)) for path in paths]
        # By the clock as well: the numbers rise even if somebody has removed the files.
        self._sequence = max([now_ms, *sequences])
        self._place = place(self._sequence + 1, 0)
        self._read = {} if clean else read_journal(self._files, self._directory, self._root)

    def tail(self, directory: str) -> Sequence[Journaled]:
        """[thread] What the journal holds of a log."""
        found = self._read
        if found is None:
            found = read_journal(self._files, self._directory, self._root)
        return found.get(directory, ())

    def left(self, directory: str) -> bool:
        """[thread] Whether the last broker left something of a log in it, before it is started."""
        return self._read is not None and directory in self._read

    @property
    def place(self) -> int:
        """[thread] All that is journaled so far has a lower place, what is under way included."""
        return self._place

    def start(self, settle: Settle) -> None:
        """All logs have got back what is theirs, and are synced: the slots may be written again, and again after
        `settle` has synced the logs that are in them."""
        self._read = None
        self._settle = settle
        self._running = True
        if self._surplus:
            self._workers.submit(self._remove_surplus, self._surplus_removed)

    def _remove_surplus(self) -> None:
        """[thread] Slots that are not used any more: nobody needs what they hold."""
        for path in self._surplus:
            self._files.unlink(path)

    def _surplus_removed(self, _: object, error: BaseException | None) -> None:
        if error is not None:
            logger.warning("files of the journal that are not used any more cannot be removed: %s", error)

    # --- writing ----------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Something is written that the journal cannot take: more will come."""
        if self._running and not self._laid_out:
            self._lay_out()

    def take(self, owners: Sequence[Owner], pieces: Sequence[JournalPiece], taken: Written) -> bool:
        """Make these durable by one write, then call `taken`; False if the journal cannot, and nothing was done."""
        size = padded(frame_size(self._root, pieces))
        device = self._device
        if not self._running or device is None or size > self._largest:
            return False
        slot = self._slot_for(size)
        if slot is None:
            return False
        try:
            write_frame(device.buffer, self._root, pieces, slot.lap, slot.frames)
        except OSError as error:
            logger.error("the journal cannot read what it is to hold: %s", error)
            return False
        for owner in owners:
            slot.owners[owner] = None

        def written(error: OSError | None) -> None:
            if error is None:
                slot.frames += 1
                slot.position += size
                self._frames += 1
                self._bytes += size
            else:
                self._give_up(error)
            taken(error)

        self._place = place(slot.lap.sequence, slot.frames) + 1
        slot.device.write(size, slot.position, written)
        return True

    def _slot_for(self, size: int) -> _Slot | None:
        """The slot to write to, if there is one with so much room."""
        slot = self._active
        if slot is not None and slot.position + size <= self._slot_bytes:
            if slot.position > self._slot_bytes // 2 and not self._ready:
                self._lay_out()
            return slot
        if slot is not None:
            self._full.append(slot)
            self._active = None
        if self._full:
            self._free()
        if not self._ready:
            self._lay_out()
            return None
        slot = self._active = self._ready.popleft()
        self._sequence += 1
        slot.lap, slot.frames, slot.position = Lap(self._sequence, self._random_bytes(SALT_BYTES)), 0, 0
        return slot

    def _give_up(self, error: OSError) -> None:
        """Invariant 3: the files are synced from now on, as if there were no journal."""
        logger.error("the journal cannot be written any more, logs are synced file by file: %s", error)
        self._running = False

    def _lay_out(self) -> None:
        """Make another slot, in the background."""
        device = self._device
        if self._laying_out or self._laid_out == self._slot_count or device is None:
            return
        if self._rounds_without:
            self._rounds_without -= 1
            return
        self._laying_out = True
        path = self._path(self._laid_out)

        def lay_out() -> Slot:
            self._files.make_directories(self._directory)
            return device.lay_out(path, self._slot_bytes)

        def done(slot: Slot, error: BaseException | None) -> None:
            self._laying_out = False
            if is_full(error):
                # Rounds go on without; some of them later there may be room.
                self._rounds_without = ROUNDS_WITHOUT
                return
            if error is not None:
                logger.warning("no file can be made for the journal, logs are synced more often: %s", error)
                self._laid_out = self._slot_count
                return
            self._laid_out += 1
            self._ready.append(_Slot(slot, path))

        self._workers.submit(lay_out, done)

    def _path(self, number: int) -> str:
        return os.path.join(self._directory, f"{number}{SLOT_SUFFIX}")

    def _free(self) -> None:
        """Sync what full slots hold, in the background; they are ready after it (invariant 1)."""
        if self._settling:
            return
        self._settling = True
        full = self._full
        owners = list({owner: None for slot in full for owner in slot.owners})
        self._full = []

        def done(failed: Sequence[Owner]) -> None:
            self._settling = False
            left = dict.fromkeys(failed)
            for slot in full:
                slot.owners = {owner: None for owner in slot.owners if owner in left}
                self._settled += not slot.owners
                (self._full if slot.owners else self._ready).append(slot)

        assert self._settle is not None, "slots are filled by a journal that was started"
        self._settle(owners, done)

    # --- the rest ---------------------------------------------------------------------------------------

    def forget(self, owner: Owner) -> None:
        """It was removed: its bytes are nobody's, and its files must not be kept open until the slot is full."""
        active = [] if self._active is None else [self._active]
        for slot in (*self._full, *active):
            slot.owners.pop(owner, None)

    def needed_slots(self) -> list[SlotExtent]:
        """What a recovery would read now: the slots whose bytes are not all in their logs' files."""
        active = [] if self._active is None else [self._active]
        return [SlotExtent(slot.path, slot.lap, slot.frames) for slot in (*self._full, *active) if slot.frames]

    def idle(self) -> bool:
        """Whether nothing of it is under way in the background."""
        return not (self._laying_out or self._settling)

    def statistics(self) -> dict[str, int]:
        """What was written, and what the slots hold."""
        active = self._active
        return {
            "frames": self._frames,
            "bytes": self._bytes,
            "settled": self._settled,
            "slots": self._laid_out,
            "active_bytes": active.position if active is not None else 0,
        }

    def close(self) -> None:
        """Nothing is written any more."""
        self._running = False
        slots = [*self._full, *self._ready] + ([self._active] if self._active is not None else [])
        for slot in slots:
            slot.device.close()
        self._full, self._active = [], None
        self._ready.clear()
