"""A Protobuf schema written down again: comments and white space gone, names of types in full, one order of everything.

So a text and the descriptor that was made of it are one schema.
"""

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from coordinators.schemas.formats.protobuf.parsing import MOST_ENUM, MOST_FIELD

_LABELS = {FieldDescriptorProto.LABEL_REQUIRED: "required ", FieldDescriptorProto.LABEL_REPEATED: "repeated "}


def printed(file: FileDescriptorProto, *, normalized: bool) -> str:
    """The file's text."""
    return "\n".join(_Printing(file, normalized).lines()) + "\n"


class _Printing:
    def __init__(self, file: FileDescriptorProto, is_sorted: bool) -> None:
        self._file = file
        self._is_sorted = is_sorted

    def lines(self) -> Iterator[str]:
        file = self._file
        yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        yield from self._imports()
        yield from (f"option {option};" for option in self._options(file.options))
        for message in file.message_type:
            yield from self._message(message, "")
        for enum in file.enum_type:
            yield from self._enum(enum, "")
        yield from self._extensions(file.extension, "")
        for service in file.service:
            yield from self._service(service)

    def _imports(self) -> Iterator[str]:
        file, imports = self._file, []
        for index, name in enumerate(file.dependency):
            kind = "public " if index in file.public_dependency else "weak " if index in file.weak_dependency else ""
            imports.append(f"import {kind}{_quoted(name)};")
        yield from sorted(imports) if self._is_sorted else imports

    # -- messages

    def _message(self, message: DescriptorProto, indent: str) -> Iterator[str]:
        yield f"{indent}message {message.name} {{"
        yield from self._members(message, f"{indent}  ")
        yield f"{indent}}}"

    def _members(self, message: DescriptorProto, indent: str) -> Iterator[str]:
        yield from (f"{indent}option {option};" for option in self._options(message.options))
        yield from _reserved(message, indent, MOST_FIELD, 1)
        for numbers in message.extension_range:
            yield f"{indent}extensions {_range(numbers.start, numbers.end - 1, MOST_FIELD)};"
        inner = {f"{nested.name}": nested for nested in message.nested_type}
        printed_oneofs: set[int] = set()
        for each in message.field:
            if not each.HasField("oneof_index") or each.proto3_optional:
                yield from self._field(each, inner, indent)
            elif each.oneof_index not in printed_oneofs:
                printed_oneofs.add(each.oneof_index)
                yield from self._oneof(message, each.oneof_index, inner, indent)
        groups = {each.type_name for each in message.field if each.type == FieldDescriptorProto.TYPE_GROUP}
        for nested in message.nested_type:
            if not nested.options.map_entry and not any(name.endswith(f".{nested.name}") for name in groups):
                yield from self._message(nested, indent)
        for enum in message.enum_type:
            yield from self._enum(enum, indent)
        yield from self._extensions(message.extension, indent)

    def _oneof(self, message: DescriptorProto, index: int, inner: dict[str, Any], indent: str) -> Iterator[str]:
        yield f"{indent}oneof {message.oneof_decl[index].name} {{"
        yield from (f"{indent}  option {option};" for option in self._options(message.oneof_decl[index].options))
        for each in message.field:
            if each.HasField("oneof_index") and each.oneof_index == index:
                yield from self._field(each, inner, f"{indent}  ", is_in_oneof=True)
        yield f"{indent}}}"

    def _field(
        self, each: FieldDescriptorProto, inner: dict[str, Any], indent: str, *, is_in_oneof: bool = False
    ) -> Iterator[str]:
        options = [*_field_options(each), *self._options(each.options)]
        ending = f" [{', '.join(sorted(options) if self._is_sorted else options)}]" if options else ""
        entry = inner.get(each.type_name.rpartition(".")[2])
        if entry is not None and entry.options.map_entry:
            yield f"{indent}map<{_type(entry.field[0])}, {_type(entry.field[1])}> {each.name} = {each.number}{ending};"
            return
        label = "" if is_in_oneof else self._label(each)
        if each.type == FieldDescriptorProto.TYPE_GROUP and entry is not None:
            yield f"{indent}{label}group {entry.name} = {each.number}{ending} {{"
            yield from self._members(entry, f"{indent}  ")
            yield f"{indent}}}"
            return
        yield f"{indent}{label}{_type(each)} {each.name} = {each.number}{ending};"

    def _label(self, each: FieldDescriptorProto) -> str:
        if each.label in _LABELS:
            return _LABELS[each.label]
        return "" if self._file.syntax == "proto3" and not each.proto3_optional else "optional "

    def _extensions(self, extensions: Any, indent: str) -> Iterator[str]:
        for each in extensions:
            yield f"{indent}extend {each.extendee} {{"
            yield from self._field(each, {}, f"{indent}  ")
            yield f"{indent}}}"

    # -- the rest

    def _enum(self, enum: Any, indent: str) -> Iterator[str]:
        yield f"{indent}enum {enum.name} {{"
        yield from (f"{indent}  option {option};" for option in self._options(enum.options))
        yield from _reserved(enum, f"{indent}  ", MOST_ENUM, 0)
        for value in enum.value:
            options = self._options(value.options)
            ending = f" [{', '.join(options)}]" if options else ""
            yield f"{indent}  {value.name} = {value.number}{ending};"
        yield f"{indent}}}"

    def _service(self, service: Any) -> Iterator[str]:
        yield f"service {service.name} {{"
        yield from (f"  option {option};" for option in self._options(service.options))
        for method in service.method:
            taken, given = (
                f"{'stream ' if is_stream else ''}{name}"
                for is_stream, name in (
                    (method.client_streaming, method.input_type),
                    (method.server_streaming, method.output_type),
                )
            )
            options = "".join(f" option {option};" for option in self._options(method.options))
            yield f"  rpc {method.name} ({taken}) returns ({given}){f' {{{options} }}' if options else ';'}"
        yield "}"

    def _options(self, options: Any) -> list[str]:
        found = []
        for known, value in options.ListFields():
            if known.name == "uninterpreted_option":
                found += [_kept(each) for each in value]
            elif known.name != "map_entry":
                found += [f"{known.name} = {_value(known, each)}" for each in (value if known.is_repeated else [value])]
        return sorted(found) if self._is_sorted else found


def _type(each: FieldDescriptorProto) -> str:
    return each.type_name or FieldDescriptorProto.Type.Name(each.type).removeprefix("TYPE_").lower()


def _field_options(each: FieldDescriptorProto) -> Iterator[str]:
    if each.HasField("default_value"):
        default = each.default_value
        if each.type == FieldDescriptorProto.TYPE_STRING:
            default = _quoted(default)
        elif each.type == FieldDescriptorProto.TYPE_BYTES:
            # Escaped already.
            default = f'"{default}"'
        yield f"default = {default}"
    if each.HasField("json_name") and each.json_name != _lower_camel(each.name):
        yield f"json_name = {_quoted(each.json_name)}"


def _lower_camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _reserved(owner: Any, indent: str, most: int, beyond: int) -> Iterator[str]:
    """`beyond`: by how much the ends of ranges lie behind the last number."""
    for each in owner.reserved_range:
        yield f"{indent}reserved {_range(each.start, each.end - beyond, most)};"
    for name in owner.reserved_name:
        yield f"{indent}reserved {_quoted(name)};"


def _range(start: int, end: int, most: int) -> str:
    return str(start) if start == end else f"{start} to {'max' if end == most else end}"


def _kept(option: Any) -> str:
    name = ".".join(f"({part.name_part})" if part.is_extension else part.name_part for part in option.name)
    if option.HasField("aggregate_value"):
        return f"{name} = {{ {option.aggregate_value} }}"
    if option.HasField("string_value"):
        return f"{name} = {_quoted(option.string_value.decode('utf-8', 'surrogateescape'))}"
    return f"{name} = {option.identifier_value}"


def _value(known: Any, value: Any) -> str:
    if known.enum_type is not None:
        return str(known.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else str(value).replace("\n", " ")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
