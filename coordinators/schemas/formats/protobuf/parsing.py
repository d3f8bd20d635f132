"""Understanding a `.proto` text: it becomes a file descriptor, in which names of types are as they were written.

Our own reader of the language as its specification has it, of proto2 and proto3: so that no compiler, which is made for
trusted files, is given texts of strangers. Whether names and numbers make sense is asked of Protobuf's own library,
which builds messages of the descriptor.
"""

from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

from coordinators.schemas.formats.format import InvalidSchema
from coordinators.schemas.formats.protobuf.options import OptionReading
from coordinators.schemas.formats.protobuf.tokens import END, Tokens

SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
MOST_LEVELS = 30
"""Of messages within messages; Protobuf's own library takes 32."""
MOST_FIELD, MOST_ENUM = (1 << 29) - 1, (1 << 31) - 1


def parse_file(text: str, name: str) -> FileDescriptorProto:
    """The file of this name and text; raises `InvalidSchema`."""
    return _Reading(text, name).read()


class _Reading:
    def __init__(self, text: str, name: str) -> None:
        self._tokens = Tokens(text)
        self._options = OptionReading(self._tokens)
        self._file = FileDescriptorProto(name=name)
        self._level = 0

    def read(self) -> FileDescriptorProto:
        tokens, file = self._tokens, self._file
        if tokens.takes("syntax"):
            tokens.expect("=")
            file.syntax = tokens.text()
            tokens.expect(";")
            if file.syntax not in ("proto2", "proto3"):
                raise InvalidSchema(f"the syntax {file.syntax:.60} is not known: proto2 and proto3 are")
        elif tokens.next.word == "edition":
            raise InvalidSchema("editions are not known here: proto2 and proto3 are")
        while tokens.next.kind != END:
            self._statement()
        return file

    @property
    def _is_proto3(self) -> bool:
        return self._file.syntax == "proto3"

    def _statement(self) -> None:
        tokens, file = self._tokens, self._file
        match tokens.next.word:
            case ";":
                tokens.take()
            case "package":
                tokens.take()
                file.package = tokens.names()
                tokens.expect(";")
            case "import":
                self._import()
            case "option":
                tokens.take()
                self._options.statement(file.options)
            case "message":
                self._message(file.message_type.add())
            case "enum":
                self._enum(file.enum_type.add())
            case "service":
                self._service(file.service.add())
            case "extend":
                self._extend(file.extension, file.message_type)
            case _:
                raise tokens.unexpected("a message, an enum, a service, an import or an option")

    def _import(self) -> None:
        tokens, file = self._tokens, self._file
        tokens.take()
        index = len(file.dependency)
        if tokens.takes("public"):
            file.public_dependency.append(index)
        elif tokens.takes("weak"):
            file.weak_dependency.append(index)
        file.dependency.append(tokens.text())
        tokens.expect(";")

    # -- messages

    def _message(self, message: DescriptorProto) -> None:
        self._tokens.take()
        message.name = self._tokens.name()
        self._body(message)

    def _body(self, message: DescriptorProto) -> None:
        self._level += 1
        if self._level > MOST_LEVELS:
            raise InvalidSchema(f"messages nested more than {MOST_LEVELS} levels deep")
        self._tokens.expect("{")
        while not self._tokens.takes("}"):
            self._member(message)
        self._level -= 1
        _add_synthetic_oneofs(message)

    def _member(self, message: DescriptorProto) -> None:
        tokens = self._tokens
        match tokens.next.word:
            case ";":
                tokens.take()
            case "message":
                self._message(message.nested_type.add())
            case "enum":
                self._enum(message.enum_type.add())
            case "extend":
                self._extend(message.extension, message.nested_type)
            case "oneof":
                self._oneof(message)
            case "option":
                tokens.take()
                self._options.statement(message.options)
            case "reserved":
                self._reserved(message, MOST_FIELD, exclusive=True)
            case "extensions":
                self._extensions(message)
            case _:
                self._field(message.field, message.nested_type)

    def _field(self, fields: Any, nested: Any, oneof: int | None = None) -> None:
        """One more field; a map or a group has a message of its own."""
        tokens, field = self._tokens, fields.add()
        label = tokens.next.word if tokens.next.word in LABELS else ""
        if label:
            tokens.take()
        elif not self._is_proto3 and oneof is None and tokens.next.word != "map":
            raise tokens.unexpected("optional, required or repeated")
        field.label = LABELS.get(label, FieldDescriptorProto.LABEL_OPTIONAL)
        if self._is_proto3 and label == "required":
            raise InvalidSchema(f"line {tokens.next.line}: proto3 has no required fields")
        if self._is_proto3 and label == "optional":
            field.proto3_optional = True
        if oneof is not None:
            field.oneof_index = oneof
        if tokens.next.word == "group":
            self._group(field, nested)
            return
        type_name = tokens.names()
        if type_name == "map" and tokens.next.word == "<":
            self._map(field, nested)
        else:
            _set_type(field, type_name)
            self._name_and_number(field)
        self._options.listed(field.options, field)
        tokens.expect(";")

    def _name_and_number(self, field: FieldDescriptorProto) -> None:
        field.name = self._tokens.name()
        self._tokens.expect("=")
        field.number = _within(self._tokens.integer(), 1, MOST_FIELD, f"the number of {field.name}")

    def _map(self, field: FieldDescriptorProto, nested: Any) -> None:
        tokens = self._tokens
        tokens.expect("<")
        key = tokens.names()
        tokens.expect(",")
        value = tokens.names()
        tokens.expect(">")
        self._name_and_number(field)
        entry = nested.add(name=_camel(field.name) + "Entry")
        entry.options.map_entry = True
        for number, (name, type_name) in enumerate((("key", key), ("value", value)), 1):
            part = entry.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
            _set_type(part, type_name)
        field.label, field.type_name = FieldDescriptorProto.LABEL_REPEATED, entry.name

    def _group(self, field: FieldDescriptorProto, nested: Any) -> None:
        self._tokens.take()
        if self._is_proto3:
            raise InvalidSchema(f"line {self._tokens.next.line}: proto3 has no groups")
        group = nested.add()
        self._name_and_number(field)
        group.name, field.type, field.type_name = field.name, FieldDescriptorProto.TYPE_GROUP, field.name
        field.name = field.name.lower()
        self._options.listed(field.options, field)
        self._body(group)

    def _oneof(self, message: DescriptorProto) -> None:
        tokens = self._tokens
        tokens.take()
        index, oneof = len(message.oneof_decl), message.oneof_decl.add()
        oneof.name = tokens.name()
        tokens.expect("{")
        while not tokens.takes("}"):
            if tokens.takes("option"):
                self._options.statement(oneof.options)
            elif not tokens.takes(";"):
                self._field(message.field, message.nested_type, index)

    def _extensions(self, message: DescriptorProto) -> None:
        self._tokens.take()
        for start, end in self._ranges(MOST_FIELD):
            message.extension_range.add(start=start, end=end + 1)
        if self._tokens.next.word == "[":
            self._options.listed(descriptor_pb2.ExtensionRangeOptions())
        self._tokens.expect(";")

    def _extend(self, fields: Any, nested: Any) -> None:
        tokens = self._tokens
        tokens.take()
        extended = tokens.names()
        tokens.expect("{")
        while not tokens.takes("}"):
            if not tokens.takes(";"):
                self._field(fields, nested)
                fields[-1].extendee = extended
                fields[-1].ClearField("proto3_optional")

    def _reserved(self, owner: DescriptorProto | EnumDescriptorProto, most: int, *, exclusive: bool) -> None:
        tokens = self._tokens
        tokens.take()
        if tokens.next.kind == "text":
            owner.reserved_name.append(tokens.text())
            while tokens.takes(","):
                owner.reserved_name.append(tokens.text())
        else:
            for start, end in self._ranges(most):
                owner.reserved_range.add(start=start, end=end + 1 if exclusive else end)
        tokens.expect(";")

    def _ranges(self, most: int) -> list[tuple[int, int]]:
        tokens = self._tokens
        ranges: list[tuple[int, int]] = []
        while not ranges or tokens.takes(","):
            start = end = _within(tokens.integer(), -most - 1, most, "a number")
            if tokens.takes("to"):
                end = most if tokens.takes("max") else _within(tokens.integer(), -most - 1, most, "a number")
            ranges.append((start, end))
        return ranges

    # -- enums and services

    def _enum(self, enum: EnumDescriptorProto) -> None:
        tokens = self._tokens
        tokens.take()
        enum.name = tokens.name()
        tokens.expect("{")
        while not tokens.takes("}"):
            if tokens.next.word == "reserved":
                self._reserved(enum, MOST_ENUM, exclusive=False)
            elif tokens.takes("option"):
                self._options.statement(enum.options)
            elif not tokens.takes(";"):
                value = enum.value.add(name=tokens.name())
                tokens.expect("=")
                value.number = _within(tokens.integer(), -MOST_ENUM - 1, MOST_ENUM, f"the number of {value.name}")
                self._options.listed(value.options)
                tokens.expect(";")

    def _service(self, service: ServiceDescriptorProto) -> None:
        tokens = self._tokens
        tokens.take()
        service.name = tokens.name()
        tokens.expect("{")
        while not tokens.takes("}"):
            if tokens.takes("option"):
                self._options.statement(service.options)
            elif not tokens.takes(";"):
                self._method(service)

    def _method(self, service: ServiceDescriptorProto) -> None:
        tokens = self._tokens
        tokens.expect("rpc")
        method = service.method.add(name=tokens.name())
        method.client_streaming, method.input_type = self._message_of_method()
        tokens.expect("returns")
        method.server_streaming, method.output_type = self._message_of_method()
        if not tokens.takes("{"):
            tokens.expect(";")
            return
        while not tokens.takes("}"):
            if tokens.takes("option"):
                self._options.statement(method.options)
            else:
                tokens.expect(";")

    def _message_of_method(self) -> tuple[bool, str]:
        self._tokens.expect("(")
        is_stream = self._tokens.takes("stream")
        name = self._tokens.names()
        self._tokens.expect(")")
        return is_stream, name


def _set_type(field: FieldDescriptorProto, name: str) -> None:
    if name in SCALARS:
        field.type = SCALARS[name]
    else:
        field.type_name = name


def _within(number: int, least: int, most: int, what: str) -> int:
    if not least <= number <= most:
        raise InvalidSchema(f"{what}, {number}, is not between {least} and {most}")
    return number


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _add_synthetic_oneofs(message: DescriptorProto) -> None:
    """An optional field of proto3 is the only one of a oneof of its own; those come last."""
    for field in message.field:
        if field.proto3_optional and not field.HasField("oneof_index"):
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")
