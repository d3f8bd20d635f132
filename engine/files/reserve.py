"""Room that is kept free on the disk for what must always be possible: a file of zeros, given up when the disk is full.

A client was told that its record is staged, so the record must be released when it is due, on a full disk too. The
reserve is given up for that; until it can be made again, nothing new is taken from clients.
"""

import errno
import sqlite3

from attrs import define, field

from engine.files.files import Buffer, Files

_PIECE = bytes(1 << 20)
FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that the disk has no room."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            return True
        error = error.__cause__
    return False


@define(eq=False)
class Reserve:
    """See the module. `size` 0 keeps nothing."""

    files: Files
    path: str
    size: int
    held: bool = field(default=False, init=False)

    def lay_by(self) -> None:
        """[thread] Take the room; OSError if there is none."""
        if self.size <= 0:
            return
        file = self.files.open(self.path, create=True)
        try:
            if self.files.room(self.path).free_bytes < self.size - file.size():
                # Trying would leave others without any for a moment.
                raise OSError(errno.ENOSPC, f"no space left for {self.size} bytes", self.path)
            for position in range(file.size(), self.size, len(_PIECE)):
                piece: Buffer = memoryview(_PIECE)[: self.size - position]
                file.write([piece], position)
            file.sync()
        except OSError:
            self.files.unlink(self.path)
            raise
        finally:
            file.close()
        self.held = True

    def give_up(self) -> bool:
        """Free the room; whether there was any."""
        if not self.held:
            return False
        self.held = False
        self.files.unlink(self.path)
        return True
