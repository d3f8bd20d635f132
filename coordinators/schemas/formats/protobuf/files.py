"""A Protobuf schema with the files that it imports: names resolved, and messages built of it.

Files are found among the references, by the names under which they are imported, and among Protobuf's own
(`google/protobuf/...`); nowhere else. A schema may also come as a file descriptor in base64, as Python's clients send
it.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from attrs import define, field
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from coordinators.schemas.formats.format import InvalidSchema, ResolvedReference, check_size, in_order
from coordinators.schemas.formats.protobuf.parsing import parse_file

OWN = "any api descriptor duration empty field_mask source_context struct timestamp type wrappers"
ROOT = "schema.proto"
"""What the schema itself is called, in which nobody is interested."""

Definition = DescriptorProto | EnumDescriptorProto


@define(eq=False)
class ProtobufFiles:
    """See the module. Made by `read`."""

    root: FileDescriptorProto
    others: dict[str, FileDescriptorProto] = field(factory=dict)
    """References by the names under which they are imported."""
    definitions: dict[str, Definition] = field(factory=dict)
    """Messages and enums of all files by their full names, with a dot in front."""
    pool: DescriptorPool = field(factory=DescriptorPool)

    @classmethod
    def read(cls, text: str, references: Sequence[ResolvedReference]) -> "ProtobufFiles":
        """Read the text and all that it refers to; raises `InvalidSchema`."""
        files = cls(_file(text, ROOT))
        for each in in_order(references):
            files.others.setdefault(each.name, _file(each.text, each.name))
        for file in (*files._own(), *files.others.values(), files.root):
            for name, definition in _definitions(file):
                files.definitions.setdefault(name, definition)
        for file in (*files.others.values(), files.root):
            files._resolve_file(file)
        files._build()
        return files

    # -- imports

    def _own(self) -> Iterator[FileDescriptorProto]:
        """Protobuf's own files that are imported, those first that others need."""
        found: dict[str, FileDescriptorProto] = {}
        for file in (self.root, *self.others.values()):
            for name in file.dependency:
                if name not in self.others:
                    _load_own(name, found)
        yield from found.values()

    # -- names

    def _resolve_file(self, file: FileDescriptorProto) -> None:
        scope = f".{file.package}" if file.package else ""
        for message in file.message_type:
            self._resolve_message(message, f"{scope}.{message.name}")
        for extension in file.extension:
            self._resolve_field(extension, scope)
        for service in file.service:
            for method in service.method:
                method.input_type = self._resolve(method.input_type, scope)
                method.output_type = self._resolve(method.output_type, scope)

    def _resolve_message(self, message: DescriptorProto, scope: str) -> None:
        for each in (*message.field, *message.extension):
            self._resolve_field(each, scope)
        for nested in message.nested_type:
            self._resolve_message(nested, f"{scope}.{nested.name}")

    def _resolve_field(self, each: FieldDescriptorProto, scope: str) -> None:
        if each.extendee:
            each.extendee = self._resolve(each.extendee, scope)
        if each.type_name:
            each.type_name = self._resolve(each.type_name, scope)
            if not each.HasField("type"):
                is_message = isinstance(self.definitions[each.type_name], DescriptorProto)
                each.type = FieldDescriptorProto.TYPE_MESSAGE if is_message else FieldDescriptorProto.TYPE_ENUM

    def _resolve(self, name: str, scope: str) -> str:
        """From the innermost scope outwards."""
        while not name.startswith("."):
            if f"{scope}.{name}" in self.definitions:
                return f"{scope}.{name}"
            if not scope:
                break
            scope = scope.rpartition(".")[0]
        if name not in self.definitions:
            raise InvalidSchema(f"no type is called {name!r} here")
        return name

    def _build(self) -> None:
        try:
            for file in (*self._own(), *self.others.values(), self.root):
                self.pool.AddSerializedFile(file.SerializeToString())
            self.pool.FindFileByName(self.root.name)
        except (TypeError, KeyError, ValueError) as error:
            raise InvalidSchema(str(error).removeprefix("Couldn't build proto file into descriptor pool: ")) from None


def _file(text: str, name: str) -> FileDescriptorProto:
    check_size(text)
    file = _encoded(text) or parse_file(text, name)
    file.name = name
    file.ClearField("source_code_info")
    return file


def _encoded(text: str) -> FileDescriptorProto | None:
    """A descriptor in base64; a text has characters that base64 has not."""
    try:
        data = base64.b64decode(text.strip(), validate=True)
        file = FileDescriptorProto.FromString(data)
    except (binascii.Error, ValueError, DecodeError):
        return None
    if file.syntax == "editions" or file.HasField("edition"):
        raise InvalidSchema("editions are not known here: proto2 and proto3 are")
    return file if file.message_type or file.enum_type else None


def _load_own(name: str, found: dict[str, FileDescriptorProto]) -> None:
    if name in found:
        return
    stem = name.removeprefix("google/protobuf/").removesuffix(".proto")
    if name != f"google/protobuf/{stem}.proto" or stem not in OWN.split():
        raise InvalidSchema(f"the import {name!r} is neither a reference nor one of Protobuf's own files")
    descriptor: Any = import_module(f"google.protobuf.{stem}_pb2").DESCRIPTOR
    file = FileDescriptorProto()
    descriptor.CopyToProto(file)
    for dependency in file.dependency:
        _load_own(dependency, found)
    found[name] = file


def _definitions(file: FileDescriptorProto) -> Iterator[tuple[str, Definition]]:
    scope = f".{file.package}" if file.package else ""
    waiting: list[tuple[str, Any]] = [(scope, file)]
    while waiting:
        scope, owner = waiting.pop()
        for enum in owner.enum_type:
            yield f"{scope}.{enum.name}", enum
        for message in owner.message_type if isinstance(owner, FileDescriptorProto) else owner.nested_type:
            yield f"{scope}.{message.name}", message
            waiting.append((f"{scope}.{message.name}", message))
