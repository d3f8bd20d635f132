"""Requests as genes: which array takes all the room, and what stands in the fields. Mutated for cost, not for damage.

Every request of a genome is well-formed: it is its size and its repetitions that are hostile.
"""

import importlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from tools.fuzz.cost import batches
from tools.fuzz.cost.connection import encoded, frame
from tools.fuzz.cost.vocabulary import PATIENT, Vocabulary
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.decoding import message_class
from wire.kafka.codec.primitives import uvarint
from wire.kafka.codec.schema import FORMATS, FieldSchema, StructSchema, load_schema

TAGS = "(tags)"
PIECES = (1, 1, 1, 8, 64, 1024)
COUNTS = (0, 1, 1, 2, 10, 100)
MODES = {
    "string": ("known", "distinct", "same", "empty", "null"),
    "number": ("known", "index", "zero", "least", "most"),
    "uuid": ("known", "distinct", "zero"),
    "bytes": ("known", "some"),
    "records": batches.KINDS,
    "bool": ("known", "true"),
    "struct": ("known", "null"),
}
SAMPLE = 16
MOST_ELEMENTS = 400_000
WIDTHS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 17, "uint32": 33}


@frozen
class Genome:
    """A kind of request; `filled` is the path of the array, text or bytes that grows until the request has its size."""

    filled: str
    counts: Mapping[str, int]
    modes: Mapping[str, str]
    pieces: int = 1

    def __str__(self) -> str:
        """For the reader of a table: what is many, and which fields are unusual."""
        unusual = [f"{path} {mode}" for path, mode in sorted(self.modes.items()) if mode != "known"]
        split = [f"in {self.pieces} requests"] if self.pieces > 1 else []
        return ", ".join([f"many {self.filled}" if self.filled else "small", *unusual, *split])


def paths(schema: StructSchema, prefix: str = "") -> Iterator[tuple[str, FieldSchema]]:
    """Every field of a request with its path."""
    for member in schema.fields:
        path = f"{prefix}{member.name}"
        yield path, member
        if member.struct is not None:
            yield from paths(member.struct, f"{path}.")


def kind(member: FieldSchema) -> str:
    if member.struct is not None:
        return "struct"
    if member.type in ("string", "uuid", "bytes", "records", "bool"):
        return member.type
    return "number"


def fillable(schema: StructSchema) -> list[str]:
    """The paths that can take all the room."""
    found = [path for path, member in paths(schema) if member.is_array or member.type in ("string", "bytes", "records")]
    return [*found, TAGS] if schema.flexible else found or [""]


def systematic(schema: StructSchema) -> list[Genome]:
    """Those to begin with: each path filled, with what exists, what does not, and what repeats itself."""
    found = list(paths(schema))
    genomes = []
    for filled in fillable(schema):
        genomes.append(Genome(filled, {}, {}))
        for mode in ("distinct", "empty"):
            modes = {path: mode for path, member in found if mode in MODES[kind(member)]}
            if modes:
                genomes.append(Genome(filled, {}, modes))
    records = [path for path, member in found if member.type == "records"]
    genomes += [Genome(filled, {}, {path: one}) for path in records for one in batches.KINDS for filled in _above(path)]
    return [*genomes, Genome("", {}, {}, pieces=1024)]


def _above(path: str) -> list[str]:
    """The records themselves, and the array of partitions that holds them."""
    return [path, path.rpartition(".")[0]]


def mutated(genome: Genome, schema: StructSchema, chance: random.Random) -> Genome:
    """The same with one to three genes changed."""
    for _ in range(chance.randrange(1, 4)):
        genome = _mutated_once(genome, schema, chance)
    return genome


def _mutated_once(genome: Genome, schema: StructSchema, chance: random.Random) -> Genome:
    dice = chance.random()
    if dice < 0.15:
        return evolve(genome, filled=chance.choice(fillable(schema)))
    if dice < 0.25:
        return evolve(genome, pieces=chance.choice(PIECES))
    path, member = chance.choice(list(paths(schema)) or [("", None)])
    if member is None or member.name in PATIENT:
        return genome
    if member.is_array and dice < 0.5:
        return evolve(genome, counts={**genome.counts, path: chance.choice(COUNTS)})
    return evolve(genome, modes={**genome.modes, path: chance.choice(MODES[kind(member)])})


@frozen
class Builder:
    """Makes requests of one API version."""

    api_key: int
    version: int
    vocabulary: Vocabulary

    @property
    def schema(self) -> StructSchema:
        return load_schema(self.api_key, self.version, "request")

    def frames(self, genome: Genome, size: int) -> list[bytes]:
        """About `size` bytes of requests."""
        piece = self.request(genome, size // genome.pieces)
        return [piece] * min(genome.pieces, max(1, size // len(piece)))

    def request(self, genome: Genome, size: int) -> bytes:
        """One request of at most about `size` bytes."""
        if genome.filled == TAGS:
            return frame(self.api_key, self.version, self._body(genome, 0), header_tags=_tags(size))
        least, sample = self._body(genome, 1), self._body(genome, 1 + SAMPLE)
        grown = (len(sample) - len(least)) / SAMPLE
        count = 1 if grown <= 0 else max(1, min(MOST_ELEMENTS, int((size - len(least)) / grown)))
        body = self._body(genome, count)
        if len(body) > size and count > 1:
            body = self._body(genome, max(1, int(count * 0.98 * size / len(body))))
        return frame(self.api_key, self.version, body)

    def _body(self, genome: Genome, count: int) -> bytes:
        return encoded(self.api_key, self.version, _Message(self, genome, count).struct(self.schema, "", 0))


@frozen
class _Message:
    builder: Builder
    genome: Genome
    count: int

    def struct(self, schema: StructSchema, prefix: str, index: int) -> Any:
        messages = importlib.import_module(f"wire.kafka.messages.{API_TABLE[self.builder.api_key].module}")
        values = {m.name: self.value(m, f"{prefix}{m.name}", schema.name, index) for m in schema.fields}
        return message_class(messages, schema.name, "request")(**values)

    def value(self, member: FieldSchema, path: str, struct: str, index: int) -> Any:
        if not member.is_array:
            return self.single(member, path, struct, index)
        count = self.count if path == self.genome.filled else self.genome.counts.get(path, 1)
        return [self.single(member, path, struct, number) for number in range(count)]

    def single(self, member: FieldSchema, path: str, struct: str, index: int) -> Any:
        mode = self.genome.modes.get(path, "known")
        if mode == "null" and member.nullable and not member.is_array:
            return None
        if member.struct is not None:
            return self.struct(member.struct, f"{path}.", index)
        words = self.builder.vocabulary
        fills = path == self.genome.filled and not member.is_array
        if member.type == "string":
            return "x" * min(self.count, 30_000) if fills else _text(mode, words.name(path, struct), index)
        if member.type == "uuid":
            return {"known": words.topic_id, "zero": bytes(16)}.get(mode) or index.to_bytes(16, "big")
        if member.type == "bytes":
            return bytes(self.count) if fills else b"" if mode == "known" else bytes(64)
        if member.type == "records":
            return batches.batch("plain" if mode == "known" else mode, self.count if fills else 2048)
        return mode == "true" if member.type == "bool" else _number(mode, member, words.number(path, index), index)


def _text(mode: str, known: str, index: int) -> str:
    if mode == "distinct":
        return f"n{index}"
    return {"known": known, "same": "nobody"}.get(mode, "")


def _number(mode: str, member: FieldSchema, known: int, index: int) -> int:
    if member.type not in WIDTHS or member.type not in FORMATS:
        return 0
    most = (1 << WIDTHS[member.type] - 1) - 1
    least = 0 if member.type.startswith("u") else -most - 1
    numbers = {"known": known, "zero": 0, "least": least, "most": most, "index": min(index, most)}
    return numbers[mode]


def _tags(size: int) -> bytes:
    """A tag section of a header: as many unknown tags as there is room for."""
    tags = bytearray()
    count = 0
    while len(tags) < size:
        tags += uvarint(count) + b"\x00"
        count += 1
    return uvarint(count) + bytes(tags)
