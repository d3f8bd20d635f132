"""Records that are to be sent: from the command line, a file or standard input, a line or a JSON document each."""

import base64
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attrs import evolve, frozen

from tools.cli.asked import Asked, Header, as_given, header
from tools.cli.errors import CliError, UsageMistake
from tools.cli.formats import as_bytes
from tools.cli.input_formats import compile_input

CHUNK = 1 << 16
_JSON_KEYS = {"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp_ms"}
_ASKED_KEYS = {"delay", "deliver_at", "priority", "ttl", "expires_at", "schedule_id", "cancel"}


@frozen
class NewRecord:
    """A record to send."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


Parse = Callable[[bytes], NewRecord]


def chunks(stream: BinaryIO, delimiter: bytes | None) -> Iterator[list[bytes]]:
    """What stands between delimiters, as it arrives; the last one may be missing at the end. None: all is one."""
    kept = bytearray()
    while chunk := stream.read1(CHUNK) if hasattr(stream, "read1") else stream.read(CHUNK):
        # A delimiter may lie across two chunks; what was searched before that is not searched again.
        searched = 0 if delimiter is None else max(0, len(kept) - len(delimiter) + 1)
        kept += chunk
        if delimiter is not None and kept.find(delimiter, searched) >= 0:
            *whole, rest = bytes(kept).split(delimiter)
            kept = bytearray(rest)
            yield whole
    if kept:
        yield [bytes(kept)]


def source(
    values: Sequence[str], files: Sequence[Path], delimiter: str, *, whole: bool = False
) -> Iterator[list[bytes]]:
    """The texts of the records."""
    if values and files:
        raise UsageMistake("values and --file exclude each other", "give one of them")
    if values:
        yield [as_given(value) for value in values]
        return
    between = None if whole else as_bytes(delimiter)
    if not between and not whole:
        raise UsageMistake("the delimiter is empty", r"leave it out for lines, or give e.g. '\0'; --whole: no lines")
    if not files:
        yield from chunks(standard_input(), between)
    for file in files:
        yield from _from_file(file, between)


def _from_file(file: Path, delimiter: bytes | None) -> Iterator[list[bytes]]:
    try:
        with file.open("rb") as stream:
            yield from chunks(stream, delimiter)
    except OSError as error:
        raise CliError(f"{file} cannot be read: {error.strerror}", "see --file") from None


def standard_input() -> BinaryIO:
    """Without a buffer: a thread that waits here for ever would hold the buffer's lock when the program ends."""
    try:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    except (OSError, ValueError):
        return sys.stdin.buffer


def records(texts: Iterator[list[bytes]], parse: Parse) -> Iterator[list[NewRecord]]:
    """Texts as records; what cannot be one is told with its number."""
    number = 0
    for some in texts:
        parsed = []
        for text in some:
            number += 1
            try:
                parsed.append(_checked(parse(text)))
            except UsageMistake as error:
                # Those before it are sent: where to go on is then plain.
                yield parsed
                raise UsageMistake(f"record {number} of the input: {error}", error.hint) from None
        yield parsed


def _checked(record: NewRecord) -> NewRecord:
    if record.key is None and record.value is None:
        raise UsageMistake("it has neither key nor value", "a tombstone needs the --key whose value it takes away")
    return record


def parser(
    base: NewRecord, input_format: str | None, *, is_json: bool, now_ms: int, same_partition: bool = False
) -> Parse:
    """How a text becomes a record; what it does not say is as in `base`."""
    if is_json and input_format is not None:
        raise UsageMistake("--json and --format exclude each other", "give one of them")
    if is_json:
        return lambda text: from_json(text, base, now_ms, same_partition=same_partition)
    if input_format is None:
        return lambda text: evolve(base, value=text)
    take_apart = compile_input(input_format)
    return lambda text: _from_parts(take_apart(text), base)


def nulled(parse: Parse) -> Parse:
    """The same, with no value where it is empty."""

    def parse_nulled(text: bytes) -> NewRecord:
        record = parse(text)
        return record if record.value else evolve(record, value=None)

    return parse_nulled


def _from_parts(parts: dict[str, bytes], base: NewRecord) -> NewRecord:
    extra = tuple(header(each.decode("utf-8", "replace")) for each in parts.get("h", b"").split(b",") if each)
    return NewRecord(
        value=parts.get("v"),
        key=parts.get("k", base.key),
        headers=base.headers + extra,
        partition=int(parts["p"]) if "p" in parts else base.partition,
        timestamp_ms=int(parts["T"]) if "T" in parts else base.timestamp_ms,
    )


def from_json(text: bytes, base: NewRecord, now_ms: int, *, same_partition: bool = False) -> NewRecord:
    """A line as `consume --output json` writes it, which may also say delay, priority and the like.

    Where a record was read says little about where it is to go: the other topic may have fewer partitions."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UsageMistake(f"{_shown(text)} is no JSON: {error}", "a line holds one record") from None
    if not isinstance(data, dict):
        raise UsageMistake(f"{_shown(text)} is no JSON object", 'write a record like {"key": "k", "value": "v"}')
    ignored = {"topic", "offset"}
    if unknown := data.keys() - _JSON_KEYS - _ASKED_KEYS - ignored:
        known = ", ".join(sorted(_JSON_KEYS | _ASKED_KEYS))
        raise UsageMistake(f"a record has an unknown field {sorted(unknown)[0]!r}", f"known are {known}")
    was_read = "offset" in data
    said: dict[str, Any] = {name: str(data[name]) for name in _ASKED_KEYS if data.get(name) is not None}
    asked = Asked(**said)
    return NewRecord(
        value=_bytes(data, "value"),
        key=_bytes(data, "key") if "key" in data or "key_base64" in data else base.key,
        headers=(*base.headers, *_headers(data.get("headers")), *asked.headers(now_ms)),
        partition=base.partition if was_read and not same_partition else _number(data, "partition", base.partition),
        timestamp_ms=_number(data, "timestamp_ms", base.timestamp_ms),
    )


def _headers(given: Any) -> list[Header]:
    if given is None:
        return []
    if isinstance(given, dict):
        return [(str(name), None if value is None else str(value).encode()) for name, value in given.items()]
    if isinstance(given, list) and all(isinstance(each, dict) and "name" in each for each in given):
        return [(str(each["name"]), _bytes(each, "value")) for each in given]
    raise UsageMistake("headers are neither an object nor a list of names and values", 'write {"source": "shop"}')


def _bytes(data: dict[str, Any], name: str) -> bytes | None:
    if (encoded := data.get(f"{name}_base64")) is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (ValueError, TypeError):
            raise UsageMistake(f"{name}_base64 is no base64", "leave it out for plain text") from None
    value = data.get(name)
    if value is None or isinstance(value, str):
        return None if value is None else value.encode()
    # A document as a value is sent as compact JSON.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _number(data: dict[str, Any], name: str, otherwise: int | None) -> int | None:
    value = data.get(name, otherwise)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise UsageMistake(f"{name} is {value!r}", "it must be a whole number")


def _shown(text: bytes) -> str:
    return repr(text[:60].decode("utf-8", "backslashreplace"))
