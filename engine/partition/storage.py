"""The room on the disk: how much there is, what is refused for lack of it, and a little that is kept for making more.

Whoever is refused something because the disk is full tells it here. It shows in `/health` and the metrics, and in the
log once a minute, until there is room again.

Deleting takes room itself: a start offset is written before segments go, a row of the catalogue before a topic's files.
A reserve is kept for that. While it is in use nothing is taken from clients, who would only fill it.
"""

import logging
import threading
from collections.abc import Callable

from attrs import define, field

from engine.clock import Clock
from engine.errors import StorageError
from engine.files.files import Files, Room
from engine.files.reserve import Reserve
from engine.workers import Workers

logger = logging.getLogger("tidegate.storage")

TELL_S = 60.0
CHECK_S = 5.0
LEAST_BYTES = 64 * 1024
ENOUGH_BYTES = 1024 * 1024
QUIET_S = 60.0
"""If nothing was refused for this long, there is room for what comes, even if little."""

CallLater = Callable[[float, Callable[[], object]], object]


@define(eq=False)
class Storage:
    """See the module. Belongs to the loop, but for what is marked [thread]."""

    files: Files
    directory: str
    clock: Clock
    workers: Workers
    call_later: CallLater
    reserve: Reserve
    on_refusal: Callable[[StorageError | None], object] = lambda _: None
    """[thread] Told why clients are to be refused, and when no more."""
    room: Room = field(factory=lambda: Room(0, 0))
    """As it was when last looked at."""
    refusals: int = field(default=0, init=False)
    """How often something was refused."""
    refusal: StorageError | None = field(default=None, init=False)
    """Why nothing is taken from clients while the reserve is in use."""
    _refused: dict[str, float] = field(factory=dict, init=False)
    """What was refused since the disk is full, and when last."""
    _told_at: float = field(default=float("-inf"), init=False)
    _told_refusals: int = field(default=0, init=False)
    _reserve_told_at: dict[str, float] = field(factory=dict, init=False)
    _checking: bool = field(default=False, init=False)
    _giving_up: threading.Lock = field(factory=threading.Lock, init=False)

    # -- what is refused

    @property
    def is_full(self) -> bool:
        """Whether something is refused for lack of room, or nothing was left when last looked at."""
        nothing_left = self.room.size_bytes > 0 and self.room.free_bytes < LEAST_BYTES
        return bool(self._refused) or self.refusal is not None or nothing_left

    @property
    def refused(self) -> str | None:
        """What is refused, for people."""
        if not self.is_full:
            return None
        return f"the disk is full: {' and '.join(self._refused) or 'records'} cannot be written"

    def note_full(self, what: str) -> None:
        """`what` (records, topics, ...) was refused because the disk is full."""
        self.refusals += 1
        self._refused[what] = self.clock.monotonic()
        self._tell()
        if not self._checking:
            self._checking = True
            self.call_later(CHECK_S, self._check)

    def look(self) -> None:
        """[thread] Ask the file system."""
        self.room = self.files.room(self.directory)

    def _check(self) -> None:
        def done(_: object, error: BaseException | None) -> None:
            if error is None and self._is_over():
                self._refused.clear()
            if self.is_full:
                self._tell()
                self.call_later(CHECK_S, self._check)
                return
            self._checking = False
            self._told_at = float("-inf")
            logger.warning("there is room on the disk again", extra={"free_bytes": self.room.free_bytes})

        self.workers.submit(self.look, done)

    def _is_over(self) -> bool:
        if self.refusal is not None:
            return False
        quiet_s = self.clock.monotonic() - max(self._refused.values(), default=float("-inf"))
        if self.room.free_bytes >= ENOUGH_BYTES:
            return quiet_s >= CHECK_S
        return self.room.free_bytes > 0 and quiet_s >= QUIET_S

    def _tell(self) -> None:
        now = self.clock.monotonic()
        if now - self._told_at < TELL_S:
            return
        since, self._told_refusals, self._told_at = self.refusals - self._told_refusals, self.refusals, now
        text = "%s. What is there can be read; delete topics or records, or make room on the disk"
        logger.error(text, self.refused, extra={"refused": since, "directory": self.directory})

    # -- room for making more

    def keep_reserve(self, size: int) -> None:
        """Keep so many bytes free from now on."""
        self.reserve.size = size
        self._lay_by()

    def make_room(self) -> bool:
        """[thread] Give the reserve up, for something that will free more; whether there was any."""
        with self._giving_up:
            if not self.reserve.give_up():
                return False
        refusal = StorageError("the disk is full; what is left is for deleting topics and records")
        self.on_refusal(refusal)
        self.refusal = refusal
        self.workers.submit(_nothing, lambda _result, _error: self._given_up())
        return True

    def tell_no_reserve(self, purpose: str, error: BaseException) -> None:
        """A reserve could not be laid by; that is tried again and again, and told once a minute."""
        now = self.clock.monotonic()
        if now - self._reserve_told_at.get(purpose, float("-inf")) >= TELL_S:
            self._reserve_told_at[purpose] = now
            logger.warning("no room can be kept free for %s: %s", purpose, error)

    def _given_up(self) -> None:
        logger.warning("the disk is full: a reserve is used to delete; clients are refused until it is there again")
        self.call_later(CHECK_S, self._lay_by)

    def _lay_by(self) -> None:
        def done(_: object, error: BaseException | None) -> None:
            if error is None:
                self.on_refusal(None)
                self.refusal = None
            else:
                self.tell_no_reserve("deletions", error)
                self.call_later(CHECK_S, self._lay_by)

        self.workers.submit(self.reserve.lay_by, done)


def _nothing() -> None:
    """What is handed to a thread so that its answer comes on the loop."""
