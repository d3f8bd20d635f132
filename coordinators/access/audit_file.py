"""The audit log as a file: lines are added to it in a thread, which is never waited for.

Whoever keeps the file in bounds moves it away: it is opened anew for every write.
"""

import logging
from collections.abc import Sequence

from attrs import define, field

from engine.workers import Workers

logger = logging.getLogger("tidegate.audit")

WAITING_LINES_MAX = 20_000
"""Past so many the disk is too slow: what comes then is dropped."""


@define(eq=False)
class AuditFile:
    """See the module."""

    path: str
    workers: Workers
    dropped: int = field(default=0, init=False)
    _waiting: list[bytes] = field(factory=list, init=False)
    _is_writing: bool = field(default=False, init=False)

    def write(self, lines: Sequence[bytes]) -> None:
        """Add them soon."""
        if len(self._waiting) + len(lines) > WAITING_LINES_MAX:
            self.dropped += len(lines)
            return
        self._waiting += lines
        if not self._is_writing:
            self._begin()

    def _begin(self) -> None:
        lines, self._waiting = self._waiting, []
        self._is_writing = True
        self.workers.submit(lambda: self._append(lines), lambda _, error: self._done(len(lines), error))

    def _append(self, lines: Sequence[bytes]) -> None:
        """[thread]"""
        with open(self.path, "ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    def _done(self, count: int, error: BaseException | None) -> None:
        self._is_writing = False
        if error is not None:
            self.dropped += count
            logger.error("%d lines of the audit log cannot be written: %s", count, error)
        if self._waiting:
            self._begin()

    def close(self) -> None:
        """What waits is written at once."""
        if self._waiting:
            self._append(self._waiting)
            self._waiting = []
