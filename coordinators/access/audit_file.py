"""The audit log as a file: lines are added to it in a thread, which is never waited for.

When it is full it is kept as `audit.log.1`, what was that as `audit.log.2`, and so on; the oldest goes. It is opened
anew for every write, so that others may move it away as well.
"""

import logging
import os
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
    max_bytes: int = 2**63
    kept: int = 0
    """How many full ones there are beside it at most."""
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
        data = b"".join(line + b"\n" for line in lines)
        if os.path.exists(self.path) and 0 < os.path.getsize(self.path) > self.max_bytes - len(data):
            self._turn_over()
        with open(self.path, "ab") as file:
            file.write(data)

    def _turn_over(self) -> None:
        """[thread] It is full: begin another."""
        names = [self.path, *(f"{self.path}.{number}" for number in range(1, self.kept + 1))]
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            if os.path.exists(newer):
                os.replace(newer, older)
        if not self.kept:
            os.unlink(self.path)

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
