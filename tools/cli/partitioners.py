"""Which partition a record goes to that names none: as Java's clients do it, as librdkafka's, in turn, or by chance."""

import random
import zlib
from collections.abc import Callable
from enum import StrEnum
from itertools import count

Choose = Callable[[bytes | None, list[int], list[int]], int]


class Partitioner(StrEnum):
    """Records without a key go anywhere, whichever it is."""

    KEY = "key"
    CRC32 = "crc32"
    ROUND_ROBIN = "round-robin"
    RANDOM = "random"


def chooser(kind: Partitioner) -> Choose:
    """A partitioner as aiokafka's producer takes it: key, all partitions, those that have a leader."""
    if kind is Partitioner.KEY:
        from aiokafka.partitioner import DefaultPartitioner

        by_murmur2: Choose = DefaultPartitioner()
        return by_murmur2
    if kind is Partitioner.CRC32:
        return _by_crc32
    turns = count()

    def choose(_key: bytes | None, everyone: list[int], available: list[int]) -> int:
        among = sorted(available or everyone)
        return random.choice(among) if kind is Partitioner.RANDOM else among[next(turns) % len(among)]

    return choose


def _by_crc32(key: bytes | None, everyone: list[int], available: list[int]) -> int:
    """librdkafka's `consistent_random`, its default: kcat and confluent-kafka put a key there."""
    if not key:
        return random.choice(available or everyone)
    return sorted(everyone)[zlib.crc32(key) % len(everyone)]
