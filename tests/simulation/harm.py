"""What a cut of power does to indexes. They are short cuts only, never synced before an answer: a node that comes back
may find any of them gone, cut short or damaged, and has to make it anew from the records themselves."""

import random
from collections.abc import Callable

from engine.files.memory import MemoryFiles

INDEX_SUFFIX = ".index"
HARMED = 0.3
"""The share of indexes that do not come through."""


def harm_indexes(files: MemoryFiles, chance: random.Random, directory: str) -> None:
    """Some of all indexes below the directory, always the same for the same chance."""
    for name, size in sorted(files.list(directory).items()):
        if name.endswith(INDEX_SUFFIX) and chance.random() < HARMED:
            chance.choice(HARMS)(files, chance, f"{directory}/{name}", size)
    files.sync_directory(directory)
    for name in files.list_directories(directory):
        harm_indexes(files, chance, f"{directory}/{name}")


def _lose(files: MemoryFiles, _chance: random.Random, path: str, _size: int) -> None:
    files.unlink(path)


def _cut_short(files: MemoryFiles, chance: random.Random, path: str, size: int) -> None:
    file = files.open(path)
    file.truncate(chance.randrange(size + 1))
    file.sync()


def _damage(files: MemoryFiles, chance: random.Random, path: str, size: int) -> None:
    if size:
        files.flip_bit(path, chance.randrange(size), chance.randrange(8))


HARMS: tuple[Callable[[MemoryFiles, random.Random, str, int], None], ...] = (_lose, _cut_short, _damage)
