"""Feeds damaged messages to the codec: each must be read or refused, and within memory that its size bounds.

    python -m tools.fuzz.codec --iterations 100000 --seed 1

Prints the message version, the seed and the bytes of the first failure.
"""

import argparse
import importlib
import random
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from tools.generate_messages import APIS, DIRECTIONS
from wire.kafka.codec import (
    Decoder,
    WireError,
    decode_request_header,
    request_decoder,
    request_encoder,
    response_decoder,
    response_encoder,
)
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.decoding import message_class
from wire.kafka.codec.schema import Direction, FieldSchema, StructSchema, load_schema

HUGE = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\x7f\xff",
    b"\xff\xfe",
    b"\x80\x80\x80\x80\x00",
)
# Python objects cost more than the bytes that describe them, but by a bounded factor.
MEMORY_FACTOR = 150
MEMORY_FLOOR = 200_000


def random_message(schema: StructSchema, messages: ModuleType, direction: Direction, chance: random.Random) -> Any:
    """A message with arbitrary values in every field of its version."""
    values = {member.name: _value(member, messages, direction, chance) for member in schema.fields}
    return message_class(messages, schema.name, direction)(**values)


def _value(member: FieldSchema, messages: ModuleType, direction: Direction, chance: random.Random) -> Any:
    if (member.nullable or (member.type == "struct" and member.tag is not None)) and chance.random() < 0.2:
        return [] if member.is_array and not member.nullable else None
    if member.is_array:
        return [_scalar(member, messages, direction, chance) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
    return _scalar(member, messages, direction, chance)


def _scalar(member: FieldSchema, messages: ModuleType, direction: Direction, chance: random.Random) -> Any:
    if member.struct is not None:
        return random_message(member.struct, messages, direction, chance)
    if member.type == "string":
        return "ä" * chance.choice((0, 1, 5, 70))
    if member.type in ("bytes", "records"):
        return chance.randbytes(chance.choice((0, 1, 20, 130)))
    if member.type == "uuid":
        return chance.randbytes(16)
    return chance.random() < 0.5 if member.type == "bool" else chance.randrange(-128, 128)


def damage(encoded: bytes, chance: random.Random) -> bytes:
    """The bytes with one to three faults."""
    damaged = bytearray(encoded)
    for _ in range(chance.randrange(1, 4)):
        position = chance.randrange(len(damaged) + 1)
        _FAULTS[chance.randrange(len(_FAULTS))](damaged, position, chance)
    return bytes(damaged)


def _flip(damaged: bytearray, position: int, chance: random.Random) -> None:
    if position < len(damaged):
        damaged[position] ^= 1 << chance.randrange(8)


def _overwrite(damaged: bytearray, position: int, chance: random.Random) -> None:
    huge = chance.choice(HUGE)
    damaged[position : position + len(huge)] = huge


def _insert(damaged: bytearray, position: int, chance: random.Random) -> None:
    damaged[position:position] = chance.choice(HUGE)


def _cut(damaged: bytearray, position: int, chance: random.Random) -> None:
    del damaged[position : position + chance.randrange(1, 8)]


def _truncate(damaged: bytearray, position: int, chance: random.Random) -> None:  # noqa: ARG001
    del damaged[position:]


_FAULTS: tuple[Callable[[bytearray, int, random.Random], None], ...] = (
    _flip,
    _overwrite,
    _insert,
    _cut,
    _truncate,
)


def read_or_refuse(decode: Decoder, damaged: bytes) -> bool:
    """Whether the bytes were read; any exception but `WireError` passes through."""
    try:
        decode(damaged, 0)
    except WireError:
        return False
    return True


def peak_memory(decode: Decoder, damaged: bytes) -> int:
    """The most bytes that reading these took."""
    tracemalloc.start()
    try:
        read_or_refuse(decode, damaged)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def memory_bound(size: int) -> int:
    return MEMORY_FLOOR + MEMORY_FACTOR * size


def message_versions() -> list[tuple[int, int, Direction]]:
    """Every message version that has a class."""
    return [
        (key, version, direction)
        for key, entry in API_TABLE.items()
        if entry.module in APIS
        for version in range(entry.min_version, entry.max_version + 1)
        for direction in DIRECTIONS
    ]


def random_encoded(key: int, version: int, direction: Direction, chance: random.Random) -> tuple[bytes, Decoder]:
    """A whole message and the function that reads it."""
    schema = load_schema(key, version, direction)
    messages = importlib.import_module(f"wire.kafka.messages.{API_TABLE[key].module}")
    message = random_message(schema, messages, direction, chance)
    if direction == "request":
        encode, decode = request_encoder(key, version), request_decoder(key, version)
    else:
        encode, decode = response_encoder(key, version), response_decoder(key, version)
    return b"".join(part for part in encode(message) if isinstance(part, bytes)), decode


def fuzz_header(chance: random.Random) -> None:
    with suppress(WireError):
        decode_request_header(damage(b"\x00\x00\x00\x09\x00\x00\x00\x07\x00\x03abc\x01\x02\x03xyz", chance), 0)


def run(iterations: int, seed: int) -> int:
    """Reads so many damaged messages; returns how many of them were still messages."""
    chance = random.Random(seed)
    versions = message_versions()
    read = 0
    for number in range(iterations):
        key, version, direction = chance.choice(versions)
        encoded, decode = random_encoded(key, version, direction, chance)
        damaged = damage(encoded, chance)
        try:
            read += read_or_refuse(decode, damaged)
            if number % 50 == 0:
                assert peak_memory(decode, damaged) <= memory_bound(len(damaged)), "took too much memory"
            fuzz_header(chance)
        except Exception:
            name = API_TABLE[key].name
            print(f"{name} {direction} v{version}, seed {seed}, iteration {number}: {damaged.hex()}")
            raise
    return read


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    read = run(options.iterations, options.seed)
    print(f"{options.iterations} damaged messages: {read} read, {options.iterations - read} refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
