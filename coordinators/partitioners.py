"""Which partition a record goes to, as clients decide it: the tools and other doors do the same.

`murmur2` is what the Java client does, kafka-python, aiokafka, and librdkafka if told so: records of one key
lie where those clients put them. A hash becomes a partition by dropping its sign bit and taking the
remainder, except FNV-1a, where librdkafka and Sarama take the absolute value.
"""

from collections.abc import Callable
from itertools import count
from typing import Protocol

import mmh3
from attrs import define, field, frozen

_POSITIVE = 0x7FFFFFFF
_UNSIGNED = 0xFFFFFFFF
_MURMUR2_SEED = 0x9747B28C
_MURMUR2_FACTOR = 0x5BD1E995
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193

Hash = Callable[[bytes], int]


class Partitioner(Protocol):
    """Chooses a partition of `partition_count` for a record's key."""

    def partition(self, key: bytes | None, partition_count: int) -> int: ...


def murmur2(data: bytes) -> int:
    """Kafka's murmur2, 32 bits without sign."""
    whole = len(data) & ~3
    result = _MURMUR2_SEED ^ len(data)
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little") * _MURMUR2_FACTOR & _UNSIGNED
        word = (word ^ word >> 24) * _MURMUR2_FACTOR & _UNSIGNED
        result = result * _MURMUR2_FACTOR & _UNSIGNED ^ word
    if whole < len(data):
        result = (result ^ int.from_bytes(data[whole:], "little")) * _MURMUR2_FACTOR & _UNSIGNED
    result = (result ^ result >> 13) * _MURMUR2_FACTOR & _UNSIGNED
    return result ^ result >> 15


def murmur3(data: bytes) -> int:
    """MurmurHash3, 32 bits without sign, seed 0."""
    return mmh3.hash(data, 0, signed=False)


def fnv1a(data: bytes) -> int:
    """FNV-1a of 32 bits, without sign."""
    result = _FNV_OFFSET
    for byte in data:
        result = (result ^ byte) * _FNV_PRIME & _UNSIGNED
    return result


def positive(hashed: int) -> int:
    """The hash without its sign bit."""
    return hashed & _POSITIVE


def absolute(hashed: int) -> int:
    """The hash read as a signed number, without its sign."""
    return hashed if hashed <= _POSITIVE else (1 << 32) - hashed


@define
class RoundRobinPartitioner:
    """One after the other, whatever the key."""

    _numbers: "count[int]" = field(factory=count, init=False)

    def partition(self, key: bytes | None, partition_count: int) -> int:  # noqa: ARG002
        return next(self._numbers) % partition_count


@frozen
class HashPartitioner:
    """Records of one key to one partition; those without a key in turn."""

    hash: Hash
    to_number: Callable[[int], int] = positive
    _keyless: RoundRobinPartitioner = field(factory=RoundRobinPartitioner, init=False, eq=False)

    def partition(self, key: bytes | None, partition_count: int) -> int:
        if key is None:
            return self._keyless.partition(None, partition_count)
        return self.to_number(self.hash(key)) % partition_count


@frozen
class ManualPartitioner:
    """Always the partition that was chosen by hand."""

    chosen: int

    def partition(self, key: bytes | None, partition_count: int) -> int:  # noqa: ARG002
        if not 0 <= self.chosen < partition_count:
            raise ValueError(f"partition {self.chosen} is not one of {partition_count}")
        return self.chosen


PARTITIONERS: dict[str, Callable[[], Partitioner]] = {
    "murmur2": lambda: HashPartitioner(murmur2),
    "murmur3": lambda: HashPartitioner(murmur3),
    "fnv1a": lambda: HashPartitioner(fnv1a, absolute),
    "round_robin": RoundRobinPartitioner,
}
