"""Options of Protobuf: those that Protobuf itself knows are set, others are kept as they were written."""

from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from coordinators.schemas.formats.format import InvalidSchema
from coordinators.schemas.formats.protobuf.tokens import END, Tokens

_BRACKETS = {"{": "}", "<": ">"}
MOST_LEVELS = 50


class OptionReading:
    """Options as they come."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def statement(self, options: Any) -> None:
        """`option name = value;`, of which the first word was taken."""
        self._one(options, None)
        self._tokens.expect(";")

    def listed(self, options: Any, field: descriptor_pb2.FieldDescriptorProto | None = None) -> None:
        """`[name = value, ...]` if it is there."""
        if not self._tokens.takes("["):
            return
        self._one(options, field)
        while self._tokens.takes(","):
            self._one(options, field)
        self._tokens.expect("]")

    def _one(self, options: Any, field: descriptor_pb2.FieldDescriptorProto | None) -> None:
        parts = self._name()
        self._tokens.expect("=")
        simple = parts[0][0] if len(parts) == 1 and not parts[0][1] else ""
        if field is not None and simple in ("default", "json_name"):
            self._of_field(field, simple)
        else:
            known = options.DESCRIPTOR.fields_by_name.get(simple)
            if known is None or known.message_type is not None:
                self._unknown(options, parts)
            else:
                self._known(options, known)

    def _name(self) -> list[tuple[str, bool]]:
        """The parts of a name, each with whether it stood in brackets: those are options that somebody has added."""
        parts: list[tuple[str, bool]] = []
        while not parts or self._tokens.takes("."):
            if self._tokens.takes("("):
                parts.append((self._tokens.names(), True))
                self._tokens.expect(")")
            else:
                parts.append((self._tokens.name(), False))
        return parts

    def _of_field(self, field: descriptor_pb2.FieldDescriptorProto, name: str) -> None:
        if name == "json_name":
            field.json_name = self._tokens.text()
        else:
            value = self._value()
            field.default_value = _escaped(value) if field.type == FieldDescriptor.TYPE_BYTES else value

    def _value(self) -> str:
        if self._tokens.next.kind == "text":
            return self._tokens.text()
        sign = "-" if self._tokens.takes("-") else ""
        if self._tokens.next.kind not in ("name", "number"):
            raise self._tokens.unexpected("a value")
        return sign + self._tokens.take().word

    def _known(self, options: Message, known: FieldDescriptor) -> None:
        line, value = self._tokens.next.line, self._value()
        try:
            if known.type == FieldDescriptor.TYPE_BOOL:
                converted: Any = {"true": True, "false": False}[value]
            elif known.type == FieldDescriptor.TYPE_ENUM and known.enum_type is not None:
                converted = known.enum_type.values_by_name[value].number
            elif known.type == FieldDescriptor.TYPE_STRING:
                converted = value
            else:
                raise KeyError(value)
        except KeyError:
            raise InvalidSchema(f"line {line}: the option {known.name} cannot be {value:.60}") from None
        if known.is_repeated:
            getattr(options, known.name).append(converted)
        else:
            setattr(options, known.name, converted)

    def _unknown(self, options: Any, parts: list[tuple[str, bool]]) -> None:
        kept = options.uninterpreted_option.add()
        for name, is_extension in parts:
            kept.name.add(name_part=name, is_extension=is_extension)
        following = self._tokens.next
        if following.word in _BRACKETS and following.kind != "text":
            kept.aggregate_value = self._aggregate()
        elif following.kind == "text":
            kept.string_value = self._tokens.text().encode("utf-8", "surrogatepass")
        else:
            kept.identifier_value = self._value()

    def _aggregate(self) -> str:
        """Whatever stands in braces, word by word."""
        words, closing = [], [_BRACKETS[self._tokens.take().word]]
        while closing:
            token = self._tokens.take()
            if token.kind == END or len(closing) > MOST_LEVELS:
                raise InvalidSchema(f"line {token.line}: an option that does not end, or is too deep")
            if token.kind != "text" and token.word in _BRACKETS:
                closing.append(_BRACKETS[token.word])
            elif token.kind != "text" and token.word == closing[-1]:
                closing.pop()
            if closing:
                words.append(token.word)
        return " ".join(words)


def _escaped(text: str) -> str:
    """As descriptors have the defaults of bytes."""
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"\\\"'" else f"\\{byte:03o}"
        for byte in text.encode("latin-1", "replace")
    )
