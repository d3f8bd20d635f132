"""Protobuf, proto2 and proto3: a schema is a file, and a payload says by numbers which of its messages it is.

The numbers are the way down into the file: how many, then the place of the message among those of the file, of the
next among those within it, and so on; a single 0 stands for the first message. They stand in front of the payload,
behind the schema's id.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from google.protobuf import json_format, message_factory
from google.protobuf.message import DecodeError, EncodeError, Message

from coordinators.schemas.formats.format import InvalidPayload, InvalidSchema, ResolvedReference
from coordinators.schemas.formats.protobuf.compatibility import ProtobufComparison
from coordinators.schemas.formats.protobuf.files import ProtobufFiles
from coordinators.schemas.formats.protobuf.printing import printed

MOST_NUMBERS = 32
MOST_FIELDS = 1_000_000
"""Of one payload, where those are shown too that it leaves out: a message of two bytes may have thousands."""
LONGEST_NUMBER = 5


class ProtobufSchema:
    """A schema of Protobuf that was understood."""

    def __init__(self, files: ProtobufFiles) -> None:
        self.files = files
        self._classes: dict[bytes, type[Message]] = {}
        """Messages by the numbers that name them, as they are written."""

    @cached_property
    def canonical(self) -> str:
        """Written down again."""
        return printed(self.files.root, normalized=False)

    @cached_property
    def normalized(self) -> str:
        """With imports and options in order."""
        return printed(self.files.root, normalized=True)

    def formatted(self, name: str) -> str | None:
        """`serialized` is the file's descriptor in base64, as Confluent's client for Python wants it."""
        return b64encode(self.files.root.SerializeToString()).decode() if name == "serialized" else None

    def name_of(self, payload: bytes) -> str:
        """The full name of the message, by which subjects can be called."""
        return str(self._message(payload)[0].DESCRIPTOR.full_name)

    def incompatibilities(self, writer: "ProtobufSchema", *, lenient: bool = False) -> list[str]:  # noqa: ARG002
        """What a reader with this schema could not read of the writer's."""
        return ProtobufComparison(self.files, writer.files).incompatibilities()

    def validator(self) -> Callable[[bytes], None]:
        """What reads the message that the numbers name."""
        return self._read_whole

    def to_json(self, payload: bytes, *, is_whole: bool = False) -> Any:
        """Fields by the names that the schema has for them; without those that are 0, false or empty, or whole."""
        message = self._read(payload)
        if is_whole:
            _check_whole(message)
        try:
            return json_format.MessageToDict(
                message,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=is_whole,
                descriptor_pool=self.files.pool,
            )
        except RecursionError:
            # What is packed into an `Any` may hold another, and is read only now.
            raise InvalidPayload("cannot be shown as JSON: nested too deeply") from None
        except (TypeError, ValueError, json_format.Error) as error:
            raise InvalidPayload(f"cannot be shown as JSON: {error}") from None

    def to_exact_json(self, payload: bytes) -> Any:
        """Whole, as Confluent's tools show messages."""
        return self.to_json(payload, is_whole=True)

    def from_json(self, value: Any, name: str = "") -> bytes:
        """A payload, numbers and all, of a message of this name; without a name the first of the file.

        Names are full, or without the package. Raises `InvalidPayload`.
        """
        numbers = self._numbers_of(name) if name else [0]
        written = write_numbers(numbers)
        message = self._message(written)[0]()
        if not isinstance(value, dict):
            raise InvalidPayload(f"no {message.DESCRIPTOR.full_name}: that is an object in JSON")
        try:
            json_format.ParseDict(value, message, descriptor_pool=self.files.pool)
            return written + message.SerializeToString()
        except (json_format.Error, EncodeError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise InvalidPayload(f"no {message.DESCRIPTOR.full_name}: {error}") from None

    def _numbers_of(self, name: str) -> list[int]:
        package = self.files.root.package
        path = name.removeprefix(f"{package}.") if package else name
        among: Any = self.files.root.message_type
        numbers = []
        for part in path.split("."):
            written = [message for message in among if not message.options.map_entry]
            found = [number for number, message in enumerate(written) if message.name == part]
            if not found:
                names = ", ".join(message.name for message in written) or "none"
                raise InvalidPayload(f"no message is called {name!r}: there are {names}")
            numbers.append(found[0])
            among = written[found[0]].nested_type
        return numbers

    def message_of(self, payload: bytes) -> Any:
        """The descriptor of the message that the numbers in front of a payload name."""
        return self._message(payload)[0].DESCRIPTOR

    def _read_whole(self, payload: bytes) -> None:
        message = self._read(payload)
        if not message.IsInitialized():
            missing: list[str] = message.FindInitializationErrors()  # type: ignore[attr-defined]
            raise InvalidPayload("is required and missing", missing[0] if missing else "")

    def _read(self, payload: bytes) -> Message:
        kind, start = self._message(payload)
        message = kind()
        try:
            message.MergeFromString(memoryview(payload)[start:].tobytes() if start else payload)
        except DecodeError as error:
            raise InvalidPayload(f"no message of {kind.DESCRIPTOR.full_name}: {error}") from None
        return message

    def _message(self, payload: bytes) -> tuple[type[Message], int]:
        """The message that the numbers in front name, and where they end."""
        numbers, start = read_numbers(payload)
        key = payload[:start]
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = self._class(numbers)
        return found, start

    def _class(self, numbers: list[int]) -> type[Message]:
        among: Any = self.files.root.message_type
        name = self.files.root.package
        for number in numbers:
            written = [message for message in among if not message.options.map_entry]
            if not 0 <= number < len(written):
                raise InvalidPayload(f"message {number} of {len(written)} in {name or 'the file'}")
            name = f"{name}.{written[number].name}" if name else written[number].name
            among = written[number].nested_type
        kind: type[Message] = message_factory.GetMessageClass(self.files.pool.FindMessageTypeByName(name))
        return kind


class ProtobufFormat:
    """See the module."""

    def parse(self, text: str, references: Sequence[ResolvedReference] = ()) -> ProtobufSchema:
        """Understand the text; raises `InvalidSchema`."""
        try:
            return ProtobufSchema(ProtobufFiles.read(text, references))
        except RecursionError:
            raise InvalidSchema("nested too deeply") from None


FORMAT = ProtobufFormat()


def _check_whole(message: Message) -> None:
    """Refuse what has too many fields, all that could be there counted."""
    count, waiting = 0, [message]
    while waiting:
        each = waiting.pop()
        count += len(each.DESCRIPTOR.fields)
        if count > MOST_FIELDS:
            raise InvalidPayload(f"cannot be shown as JSON: more than {MOST_FIELDS} fields")
        for field, value in each.ListFields():
            if field.message_type is not None:
                waiting += _messages(value)


def _messages(value: Any) -> Iterable[Message]:
    """Those in a field: it is one, a map or a list."""
    if isinstance(value, Message):
        return (value,)
    if isinstance(value, Mapping):
        return [each for each in value.values() if isinstance(each, Message)]
    return value  # type: ignore[no-any-return]


def read_numbers(payload: bytes) -> tuple[list[int], int]:
    """The numbers in front of a payload, and where they end; raises `InvalidPayload`."""
    count, position = _number(payload, 0)
    if count == 0:
        return [0], position
    if not 0 < count <= MOST_NUMBERS:
        raise InvalidPayload(f"{count} numbers to say which message it is")
    numbers = []
    for _ in range(count):
        number, position = _number(payload, position)
        numbers.append(number)
    return numbers, position


def write_numbers(numbers: list[int]) -> bytes:
    """The same as they are written."""
    return b"\0" if numbers == [0] else b"".join(_written(number) for number in (len(numbers), *numbers))


def _written(number: int) -> bytes:
    rest, written = number << 1, b""
    while rest > 0x7F:
        written += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return written + bytes([rest])


def _number(payload: bytes, position: int) -> tuple[int, int]:
    value = 0
    for place in range(LONGEST_NUMBER):
        if position >= len(payload):
            raise InvalidPayload("the numbers that say which message it is are missing")
        byte = payload[position]
        position += 1
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
    raise InvalidPayload("the numbers that say which message it is do not end")
