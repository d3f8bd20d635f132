"""A small disk for one node, which can be filled: a tmpfs as its data directory. Needs root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = "768m"
FILLER = "filler-of-the-chaos-run"
PIECE = 1024 * 1024


class SmallDisk:
    """Where a node's data lies."""

    def __init__(self, directory: Path) -> None:
        self._filler = directory / FILLER

    def fill(self) -> None:
        """Until nothing fits any more."""
        with self._filler.open("wb", buffering=0) as file:
            size = PIECE
            while size:
                try:
                    file.write(b"\0" * size)
                except OSError:
                    size //= 2

    def empty(self) -> None:
        """There is room again."""
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(directory: Path) -> Iterator[SmallDisk | None]:
    """Where it can be mounted; None otherwise."""
    directory.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0 or shutil.which("mount") is None:
        yield None
        return
    mounted = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(directory)), check=False
    )
    if mounted.returncode:
        yield None
        return
    try:
        yield SmallDisk(directory)
    finally:
        subprocess.run(("umount", "-l", str(directory)), check=False)
