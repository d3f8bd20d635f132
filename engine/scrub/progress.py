"""How far the scrubber is, kept on disk: a restart goes on from there, and what it has found is not forgotten."""

import os

import msgspec
from crc32c import crc32c

from engine.damage import Damage
from engine.files.files import Files, read_whole, write_atomically

FILE_NAME = "scrub-checkpoint"


class ScrubPlace(msgspec.Struct, frozen=True, order=True):
    """A log, in the order in which they are read: by topic id, partition, then the stage."""

    topic_id: str
    partition: int
    stage: bool = False


class Cursor(msgspec.Struct, frozen=True):
    """Up to where a segment of a log was read."""

    place: ScrubPlace
    segment: int
    position: int = 0
    next_offset: int = 0


class KnownDamage(msgspec.Struct, frozen=True):
    """A damaged place; its file is relative to the data directory, which may be moved."""

    file: str
    position: int
    problem: str
    topic: str
    partition: int
    offset: int
    found_ms: int


class ScrubProgress(msgspec.Struct):
    """What is kept. `cursor` is None between two passes."""

    passes: int = 0
    started_ms: int = 0
    completed_ms: int = 0
    pass_bytes: int = 0
    is_running: bool = False
    cursor: Cursor | None = None
    damages: list[KnownDamage] = []

    def write(self, files: Files, data_dir: str) -> None:
        """[thread] Put it in the place of the one before."""
        body = msgspec.json.encode(self)
        write_atomically(files, os.path.join(data_dir, FILE_NAME), f"{crc32c(body):08x}\n".encode() + body)

    @classmethod
    def read(cls, files: Files, data_dir: str) -> "ScrubProgress":
        """[thread] What was kept; a beginning if there is nothing, or nothing of use."""
        checksum, _, body = (read_whole(files, os.path.join(data_dir, FILE_NAME)) or b"").partition(b"\n")
        if checksum != f"{crc32c(body):08x}".encode():
            return cls()
        try:
            return msgspec.json.decode(body, type=cls)
        except msgspec.DecodeError:
            return cls()


def kept(damage: Damage, data_dir: str) -> KnownDamage:
    """As it is kept on disk."""
    file = os.path.relpath(damage.file, data_dir)
    place = (damage.position, damage.problem, damage.topic, damage.partition, damage.offset, damage.found_ms)
    return KnownDamage(file, *place)


def known(damage: KnownDamage, data_dir: str) -> Damage:
    """As it is known to the broker."""
    file = os.path.join(data_dir, damage.file)
    place = (damage.position, damage.problem, damage.topic, damage.partition, damage.offset, damage.found_ms)
    return Damage(file, *place)
