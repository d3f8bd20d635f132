"""Which changes of a Protobuf schema are compatible, by the rules that Confluent's registry has.

Fields are the same by their numbers, whatever their names; messages and enums by their names within the package.
Unknown fields are skipped by every reader, so fields may come and go, but for required ones and those of a oneof.
"""

from collections.abc import Iterator
from typing import Any

from attrs import define, field
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from coordinators.schemas.formats.protobuf.files import ProtobufFiles

MOST_COMPARISONS = 20_000
MOST_REASONS = 100
_GROUPS = (
    ("int32", "int64", "uint32", "uint64", "bool"),
    ("sint32", "sint64"),
    ("string", "bytes"),
    ("fixed32", "sfixed32"),
    ("fixed64", "sfixed64"),
)
"""Types that are written alike."""
_GROUP_OF = {name: group[0] for group in _GROUPS for name in group}


class _TooMuch(Exception):
    """The comparison has taken more than it may."""


@define(eq=False)
class ProtobufComparison:
    """The comparison of two schemas."""

    reader: ProtobufFiles
    writer: ProtobufFiles
    _met: set[tuple[str, str]] = field(factory=set, init=False)

    def incompatibilities(self) -> list[str]:
        """What the reader cannot read of the writer's."""
        try:
            return list(self._all())[:MOST_REASONS]
        except (_TooMuch, RecursionError):
            return ["TOO_COMPLEX: the two schemas are too intertwined to be compared"]

    def _all(self) -> Iterator[str]:
        reader, writer = self.reader.root, self.writer.root
        if reader.package != writer.package:
            yield f"PACKAGE_CHANGED at #/: {writer.package or '(none)'} has become {reader.package or '(none)'}"
        scope = f".{writer.package}" if writer.package else ""
        new = {message.name: message for message in reader.message_type}
        for message in writer.message_type:
            if message.name in new:
                own = f".{reader.package}.{message.name}" if reader.package else f".{message.name}"
                yield from self._message(own, f"{scope}.{message.name}", f"#/{message.name}")
            else:
                yield f"MESSAGE_REMOVED at #/{message.name}: the reader does not know the message"

    def _message(self, new_name: str, old_name: str, path: str) -> Iterator[str]:
        if (new_name, old_name) in self._met:
            return
        self._met.add((new_name, old_name))
        if len(self._met) > MOST_COMPARISONS:
            raise _TooMuch
        new, old = self.reader.definitions.get(new_name), self.writer.definitions.get(old_name)
        if not isinstance(new, DescriptorProto) or not isinstance(old, DescriptorProto):
            return
        yield from self._nested(new, old, new_name, old_name, path)
        yield from self._fields(new, old, path)
        yield from _oneofs(new, old, path)

    def _nested(self, new: Any, old: Any, new_name: str, old_name: str, path: str) -> Iterator[str]:
        known = {message.name for message in new.nested_type}
        for message in old.nested_type:
            if message.options.map_entry:
                continue
            if message.name in known:
                yield from self._message(
                    f"{new_name}.{message.name}", f"{old_name}.{message.name}", f"{path}/{message.name}"
                )
            else:
                yield f"MESSAGE_REMOVED at {path}/{message.name}: the reader does not know the message"

    def _fields(self, new: Any, old: Any, path: str) -> Iterator[str]:
        fields, old_fields = ({each.number: each for each in message.field} for message in (new, old))
        for number in sorted(fields.keys() | old_fields.keys()):
            each, before, where = fields.get(number), old_fields.get(number), f"{path}/{number}"
            if each is not None and before is not None:
                yield from self._field(each, before, where)
            elif each is not None and each.label == FieldDescriptorProto.LABEL_REQUIRED:
                yield f"REQUIRED_FIELD_ADDED at {where}: the writer does not write {each.name}"
            elif before is not None and before.label == FieldDescriptorProto.LABEL_REQUIRED:
                yield f"REQUIRED_FIELD_REMOVED at {where}: {before.name} was required"

    def _field(self, new: FieldDescriptorProto, old: FieldDescriptorProto, where: str) -> Iterator[str]:
        kind, old_kind = self._kind(new, self.reader), self._kind(old, self.writer)
        if kind != old_kind:
            yield f"FIELD_KIND_CHANGED at {where}: {new.name} is {kind}, and was {old_kind}"
            return
        if kind == "scalar":
            yield from _scalar(new, old, where)
        elif kind == "map":
            yield from self._map(new, old, where)
        elif not _is_same(new.type_name, old.type_name, self.reader, self.writer):
            yield f"FIELD_NAMED_TYPE_CHANGED at {where}: {new.name} is {new.type_name[1:]}, and was {old.type_name[1:]}"
        elif kind in ("message", "group"):
            yield from self._message(new.type_name, old.type_name, where)
        else:
            yield from _number_label(new, old, where)
        required = FieldDescriptorProto.LABEL_REQUIRED
        if (new.label == required) != (old.label == required):
            word = "REQUIRED_FIELD_ADDED" if new.label == required else "REQUIRED_FIELD_REMOVED"
            yield f"{word} at {where}: {new.name}"

    def _map(self, new: FieldDescriptorProto, old: FieldDescriptorProto, where: str) -> Iterator[str]:
        entry, before = self.reader.definitions[new.type_name], self.writer.definitions[old.type_name]
        assert isinstance(entry, DescriptorProto), "the type of a map's field is a message"
        assert isinstance(before, DescriptorProto), "the type of a map's field is a message"
        for part, old_part in zip(entry.field, before.field, strict=True):
            yield from self._field(part, old_part, where)

    @staticmethod
    def _kind(each: FieldDescriptorProto, files: ProtobufFiles) -> str:
        if each.type == FieldDescriptorProto.TYPE_ENUM:
            return "enum"
        if each.type == FieldDescriptorProto.TYPE_GROUP:
            return "group"
        if each.type != FieldDescriptorProto.TYPE_MESSAGE:
            return "scalar"
        definition = files.definitions.get(each.type_name)
        return "map" if isinstance(definition, DescriptorProto) and definition.options.map_entry else "message"


def _scalar(new: FieldDescriptorProto, old: FieldDescriptorProto, where: str) -> Iterator[str]:
    name, old_name = (FieldDescriptorProto.Type.Name(each.type).removeprefix("TYPE_").lower() for each in (new, old))
    if _GROUP_OF.get(name, name) != _GROUP_OF.get(old_name, old_name):
        yield f"FIELD_SCALAR_KIND_CHANGED at {where}: {new.name} is {name}, and was {old_name}"
    if _GROUP_OF.get(name) != "string":
        yield from _number_label(new, old, where)


def _number_label(new: FieldDescriptorProto, old: FieldDescriptorProto, where: str) -> Iterator[str]:
    """Of numbers, those of enums too: repeated ones are packed together, where a reader of a single one sees bytes."""
    repeated = FieldDescriptorProto.LABEL_REPEATED
    if (new.label == repeated) != (old.label == repeated):
        yield f"FIELD_NUMERIC_LABEL_CHANGED at {where}: {new.name} is written otherwise when it is repeated"


def _is_same(new: str, old: str, reader: ProtobufFiles, writer: ProtobufFiles) -> bool:
    """Names within the packages, which are compared by themselves."""
    return _within(new, reader) == _within(old, writer)


def _within(name: str, files: ProtobufFiles) -> str:
    return name.removeprefix(f".{files.root.package}.") if files.root.package else name.removeprefix(".")


def _oneofs(new: DescriptorProto, old: DescriptorProto, path: str) -> Iterator[str]:
    """What may be set together cannot become what may not; and what a oneof had it keeps."""
    now, before = _members(new), _members(old)
    homes: dict[int, str | int] = {each.number: each.number for each in old.field}
    homes.update((number, name) for name, numbers in before.items() for number in numbers)
    for name, numbers in now.items():
        met = {homes[number] for number in numbers if number in homes}
        moved = sorted(number for number in numbers if homes.get(number, name) != name)
        if len(met - {name}) > 1:
            yield f"MULTIPLE_FIELDS_MOVED_TO_ONEOF at {path}/{name}: fields {moved} could be set together"
        elif moved and name in before:
            yield f"FIELDS_MOVED_TO_EXISTING_ONEOF at {path}/{name}: field {moved[0]} could be set beside the others"
    for name, numbers in before.items():
        removed = sorted(numbers - now[name]) if name in now else []
        if removed:
            yield f"ONEOF_FIELD_REMOVED at {path}/{name}: fields {removed}"


def _members(message: DescriptorProto) -> dict[str, set[int]]:
    """The numbers of fields by the oneof that they are in; those that belong to an optional field do not count."""
    members: dict[str, set[int]] = {}
    for each in message.field:
        if each.HasField("oneof_index") and not each.proto3_optional:
            members.setdefault(message.oneof_decl[each.oneof_index].name, set()).add(each.number)
    return members
