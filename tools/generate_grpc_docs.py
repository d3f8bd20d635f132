"""Writes docs/reference/grpc.md from the proto files: `python -m tools.generate_grpc_docs`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

from tools.doc_tables import table
from tools.protos import commented_files

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "grpc.md"
SERVICE, MESSAGE, ENUM = 6, 4, 5
METHOD, FIELD, VALUE = 2, 2, 2
"""Numbers of fields in descriptors, of which the paths of comments are made."""

_INTRODUCTION = """\
# gRPC calls

Written by `python -m tools.generate_grpc_docs` from the proto files (`wire/grpc/proto/`), which every broker also tells
by reflection. How to call them, who may, and how calls end is told under [gRPC](../grpc.md); statuses and errors under
[errors](errors.md#grpc). The package is `tidegate.v1`. Beside it the broker has `grpc.health.v1.Health` and
`grpc.reflection` (`v1` and `v1alpha`), as everywhere.

Fields that are not set have the value that proto3 gives them (0, empty, false) unless they are *optional*: then not set
is something of its own.
"""
Place = tuple[int, ...]


class Page:
    """One proto file, with its comments by the path of what they stand at."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self.file = file
        places = file.source_code_info.location
        self._comments = {tuple(place.path): place.leading_comments for place in places if place.leading_comments}

    def comment(self, *path: int) -> str:
        """What is said of it, in one line."""
        return " ".join(self._comments.get(path, "").split())

    def services(self) -> Iterator[str]:
        """A part for each service."""
        for index, service in enumerate(self.file.service):
            yield f"\n### {service.name}\n"
            yield from table(("method", "takes", "gives", "meaning"), self._methods(index, service))

    def messages(self) -> Iterator[str]:
        """A part for each message and each enumeration."""
        for index, message in enumerate(self.file.message_type):
            yield f"\n### {message.name}"
            yield from _paragraph(self.comment(MESSAGE, index))
            if message.field:
                yield ""
                yield from table(("field", "number", "type", "meaning"), self._fields((MESSAGE, index), message))
        for index, enum in enumerate(self.file.enum_type):
            yield f"\n### {enum.name}"
            yield from _paragraph(self.comment(ENUM, index))
            yield ""
            yield from table(("value", "number", "meaning"), self._values(index, enum))

    def _methods(self, index: int, service: ServiceDescriptorProto) -> Iterator[Sequence[str]]:
        for number, method in enumerate(service.method):
            takes = ("stream of " if method.client_streaming else "") + _link(method.input_type)
            gives = ("stream of " if method.server_streaming else "") + _link(method.output_type)
            yield f"`{method.name}`", takes, gives, self.comment(SERVICE, index, METHOD, number)

    def _fields(self, path: Place, message: DescriptorProto) -> Iterator[Sequence[str]]:
        for number, field in enumerate(message.field):
            meaning = self.comment(*path, FIELD, number)
            yield f"`{field.name}`", str(field.number), _type(field, message), meaning

    def _values(self, index: int, enum: EnumDescriptorProto) -> Iterator[Sequence[str]]:
        for number, value in enumerate(enum.value):
            yield f"`{value.name}`", str(value.number), self.comment(ENUM, index, VALUE, number)


def document() -> str:
    """The whole page."""
    pages = [Page(file) for file in commented_files() if file.package == "tidegate.v1"]
    lines = [_INTRODUCTION, "## Services", *(line for page in pages for line in page.services())]
    lines += ["\n## Messages", *(line for page in pages for line in page.messages())]
    return "\n".join([*lines, ""])


def _paragraph(text: str) -> Iterator[str]:
    if text:
        yield f"\n{text}"


def _link(name: str) -> str:
    short = name.rpartition(".")[2]
    return f"[{short}](#{short.lower()})"


def _type(field: FieldDescriptorProto, message: DescriptorProto) -> str:
    entries = {entry.name: entry for entry in message.nested_type if entry.options.map_entry}
    if field.type_name.rpartition(".")[2] in entries:
        key, value = entries[field.type_name.rpartition(".")[2]].field
        return f"map of {_plain(key)} to {_plain(value)}"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"list of {_plain(field)}"
    if field.proto3_optional:
        return f"*optional* {_plain(field)}"
    of = f", one of `{message.oneof_decl[field.oneof_index].name}`" if field.HasField("oneof_index") else ""
    return _plain(field) + of


def _plain(field: FieldDescriptorProto) -> str:
    if field.type_name:
        return _link(field.type_name)
    return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
