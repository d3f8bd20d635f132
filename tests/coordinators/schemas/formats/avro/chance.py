"""Avro by chance: schemas, payloads of them in any way that a writer may choose, and what damages those."""

import struct
from random import Random
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
TEXTS = ("", "a", "grün", "\x7f\x80", "plain text of more than eight bytes", "日本語", "x" * 130)
HOSTILE = (
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # the least number of 64 bits
    b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # the greatest
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"\xff" * 10,
    b"\x80" * 11 + b"\x00",
    b"\xfe\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x10",
    b"\x80\x00",
    b"\x01",
    b"\x03\xff\x01",
)
"""Lengths, counts and numbers at the edges of what can be meant."""


class Chance:
    """Of one schema, and of payloads of it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._names = 0
        self._known: list[dict[str, Any]] = []
        self._defined: dict[str, dict[str, Any]] = {}

    # -- schemas

    def schema(self, depth: int = 4) -> Any:
        """Never one that contains itself."""
        kind = self.random.choice(("primitive", "record", "array", "map", "union", "enum", "fixed", "known"))
        if kind == "known" and self._known:
            return self.random.choice(self._known)["name"]
        if depth == 0 or kind in ("primitive", "known"):
            return self.random.choice(PRIMITIVES)
        return getattr(self, f"_{kind}")(depth - 1)

    def _named(self, kind: str, **more: Any) -> dict[str, Any]:
        self._names += 1
        name = f"N{self._names}"
        made = self._defined[name] = {"type": kind, "name": name, **more}
        return made

    def _record(self, depth: int) -> Any:
        made = self._named("record")
        made["fields"] = [
            {"name": f"f{number}", "type": self.schema(depth)} for number in range(self.random.randrange(5))
        ]
        self._known.append(made)
        return made

    def _array(self, depth: int) -> Any:
        return {"type": "array", "items": self.schema(depth)}

    def _map(self, depth: int) -> Any:
        return {"type": "map", "values": self.schema(depth)}

    def _union(self, depth: int) -> Any:
        """At most one branch of each kind that has no name, as the specification wants it."""
        kinds = self.random.sample((*PRIMITIVES, "array", "map", "record", "enum", "fixed"), self.random.randrange(5))
        return [kind if kind in PRIMITIVES else getattr(self, f"_{kind}")(max(depth - 1, 0)) for kind in kinds]

    def _enum(self, depth: int) -> Any:
        made = self._named("enum", symbols=[f"S{number}" for number in range(self.random.randrange(1, 4))])
        self._known.append(made)
        return made

    def _fixed(self, depth: int) -> Any:
        made = self._named("fixed", size=self.random.choice((0, 1, 3, 16)))
        self._known.append(made)
        return made

    # -- payloads

    def payload(self, schema: Any) -> bytes | None:
        """Of this schema; None where it has a union without branches, of which there are no values."""
        schema = self._defined.get(schema, schema) if isinstance(schema, str) else schema
        if isinstance(schema, list):
            return self._of_union(schema)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind == "record":
            return _joined([self.payload(each["type"]) for each in schema["fields"]])
        if kind in ("array", "map"):
            return self._blocks(schema.get("items", schema.get("values")), is_map=kind == "map")
        if kind == "enum":
            return self._number(self.random.randrange(len(schema["symbols"])))
        if kind == "fixed":
            return self.random.randbytes(schema["size"])
        return self._primitive(kind)

    def _of_union(self, branches: list[Any]) -> bytes | None:
        if not branches:
            return None
        number = self.random.randrange(len(branches))
        return _joined([self._number(number), self.payload(branches[number])])

    def _blocks(self, inner: Any, *, is_map: bool) -> bytes | None:
        blocks: list[bytes | None] = []
        for _ in range(self.random.choice((0, 1, 1, 2))):
            count = self.random.randrange(1, 4)
            items = [self.payload(inner) for _ in range(count)]
            body = _joined(
                [part for item in items for part in ((self._primitive("string"), item) if is_map else (item,))]
            )
            if body is None:
                return None
            if self.random.random() < 0.3:
                blocks.append(self._number(-count) + self._number(len(body)) + body)
            else:
                blocks.append(self._number(count) + body)
        return _joined([*blocks, b"\0"])

    def _primitive(self, kind: str) -> bytes:
        random = self.random
        match kind:
            case "boolean":
                return bytes([random.randrange(2)])
            case "int":
                return self._number(random.choice((0, -1, 63, 64, 2**31 - 1, -(2**31), random.getrandbits(20))))
            case "long":
                return self._number(random.choice((0, -1, 2**63 - 1, -(2**63), random.getrandbits(50))))
            case "float":
                return struct.pack("<f", random.random())
            case "double":
                return struct.pack("<d", random.random())
            case "bytes":
                data = random.randbytes(random.randrange(20))
                return self._number(len(data)) + data
            case "string":
                data = random.choice(TEXTS).encode()
                return self._number(len(data)) + data
        return b""

    def _number(self, value: int) -> bytes:
        """Sometimes in more bytes than it needs, as a writer may."""
        rest, out = (value << 1) ^ (value >> 63), bytearray()
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
        if len(out) < 10 and self.random.random() < 0.05:
            out[-1] |= 0x80
            out.append(0)
        return bytes(out)

    # -- damage

    def damaged(self, payload: bytes) -> bytes:
        """Cut short, with bits turned over, with bytes more or less, or with numbers that promise too much."""
        random, out = self.random, bytearray(payload)
        for _ in range(random.randrange(1, 4)):
            place = random.randrange(len(out) + 1)
            match random.randrange(5):
                case 0:
                    del out[place:]
                case 1 if place < len(out):
                    out[place] ^= 1 << random.randrange(8)
                case 2:
                    out[place : place + random.randrange(3)] = random.randbytes(random.randrange(4))
                case 3:
                    out[place : place + 1] = random.choice(HOSTILE)
                case 4:
                    out += random.randbytes(random.randrange(1, 3))
        return bytes(out)


def _joined(parts: list[bytes | None]) -> bytes | None:
    return None if None in parts else b"".join(part for part in parts if part is not None)
