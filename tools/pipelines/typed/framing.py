"""How a value says which schema it was written with: byte 0 and an id, or byte 1 and a guid, before it or in a header.

As Confluent's serialisers do it. Runs on Spark's executors too: nothing but Python's own library.
"""

from collections.abc import Iterable

HEADER = "__value_schema_id"
ID_END, GUID_END = 5, 17

# The last header of that name counts, and a header comes before what stands in front of the value.
HEADER_SQL = f"try_element_at(filter(headers, h -> h.key = '{HEADER}'), -1).value"
FRAMING_SQL = f"""
CASE WHEN value IS NULL THEN NULL
     WHEN startswith(coalesce({HEADER_SQL}, value), X'00') AND length(coalesce({HEADER_SQL}, value)) >= {ID_END}
     THEN substring(coalesce({HEADER_SQL}, value), 1, {ID_END})
     WHEN startswith(coalesce({HEADER_SQL}, value), X'01') AND length(coalesce({HEADER_SQL}, value)) >= {GUID_END}
     THEN substring(coalesce({HEADER_SQL}, value), 1, {GUID_END})
END"""

Headers = Iterable[tuple[str, bytes | None]]


def framing_of(beginning: bytes) -> bytes:
    """The framing that these bytes begin with; empty if they begin with none."""
    end = {b"\0": ID_END, b"\1": GUID_END}.get(beginning[:1], 0)
    return beginning[:end] if len(beginning) >= end else b""


def apart(value: bytes, header: bytes | None) -> tuple[bytes, bytes]:
    """The framing of a value and its payload; the framing is empty if it has none."""
    if header is None:
        framing = framing_of(value)
        return framing, value[len(framing) :]
    framing = framing_of(header)
    return framing, header[len(framing) :] + value


def name_of(framing: bytes) -> str:
    """What to ask a registry for: `ids/7`, or `guids/...`."""
    if framing[0] == 0:
        return f"ids/{int.from_bytes(framing[1:], 'big')}"
    digits = framing[1:].hex()
    return f"guids/{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def framing_named(name: str) -> bytes:
    """The framing that asks for it."""
    kind, _, which = name.partition("/")
    return b"\0" + int(which).to_bytes(4, "big") if kind == "ids" else b"\1" + bytes.fromhex(which.replace("-", ""))


def reframed(
    framings: dict[bytes, bytes], value: bytes, headers: Headers
) -> tuple[bytes, list[tuple[str, bytes | None]]]:
    """A value and its headers with other framings in place of those that are known."""
    kept = list(headers)
    if any(name == HEADER for name, _ in kept):
        return value, [(name, _replaced(framings, said) if name == HEADER and said else said) for name, said in kept]
    return _replaced(framings, value), kept


def _replaced(framings: dict[bytes, bytes], data: bytes) -> bytes:
    framing = framing_of(data)
    return framings.get(framing, framing) + data[len(framing) :]
