"""Which texts are Protobuf schemas, and what is refused with which reason."""

import base64
from typing import Any

import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from coordinators.schemas.formats.format import InvalidSchema, ResolvedReference
from coordinators.schemas.formats.protobuf.files import ProtobufFiles
from coordinators.schemas.formats.protobuf.parsing import parse_file
from coordinators.schemas.formats.protobuf.schema import FORMAT

RICH = """
syntax = "proto2";  // a comment
package a.b;
import "google/protobuf/any.proto";
option optimize_for = SPEED;
option (own.option).part = { text: "}" number: 3 list: [1, 2] };
/* another
   comment */
message M {
  option deprecated = true;
  required int32 a = 1 [default = -5, (own.field) = 'x'];
  optional string s = 2 [default = "x\\"y\\n" "z", json_name = "S"];
  optional double d = 3 [default = inf];
  repeated group Result = 4 { optional string url = 5; message X { optional M m = 1; } }
  extensions 100 to 199, 500 to max;
  oneof q { string z = 6; bytes b = 7 [default = "\\001"]; }
  map<int32, b.M.E> em = 8;
  enum E { option allow_alias = true; A = 0; B = 1 [deprecated=true]; C = 1; N = -1; reserved 5 to 9, -5; }
  optional E e = 9 [default = B];
  optional .a.b.M m2 = 0xB;
  repeated int32 pk = 12 [packed = true];
  optional string message = 13;
  optional int32 optional = 14;
  reserved 20, 30 to 40;
  reserved "old", "older";
  extend M { optional int32 nested_ext = 120; }
}
extend M { optional string ext = 110; }
service S {
  rpc Ask (M) returns (stream google.protobuf.Any) { option deprecated = true; }
  rpc Tell (stream M) returns (M);
}
"""


def _root(text: str, *references: ResolvedReference) -> FileDescriptorProto:
    return ProtobufFiles.read(text, references).root


def test_everything_that_the_language_has_is_read() -> None:
    """The descriptor is what Protobuf's own compiler makes of the text."""
    message = _root(RICH).message_type[0]
    fields = {each.name: each for each in message.field}
    assert list(fields) == [
        *("a", "s", "d", "result", "z", "b", "em", "e", "m2", "pk", "message", "optional"),
    ]
    assert (fields["a"].label, fields["a"].default_value) == (FieldDescriptorProto.LABEL_REQUIRED, "-5")
    assert (fields["s"].default_value, fields["s"].json_name) == ('x"y\nz', "S")
    assert (fields["result"].type, fields["result"].type_name) == (FieldDescriptorProto.TYPE_GROUP, ".a.b.M.Result")
    assert (fields["b"].default_value, fields["b"].oneof_index) == ("\\001", 0)
    assert (fields["em"].type_name, fields["e"].type_name) == (".a.b.M.EmEntry", ".a.b.M.E")
    assert (fields["m2"].number, fields["pk"].options.packed) == (11, True)
    assert [(each.start, each.end) for each in message.reserved_range] == [(20, 21), (30, 41)]
    assert [(each.start, each.end) for each in message.enum_type[0].reserved_range] == [(5, 9), (-5, -5)]
    assert [(each.start, each.end) for each in message.extension_range] == [(100, 200), (500, 536870912)]
    method = _root(RICH).service[0].method[0]
    assert (method.output_type, method.server_streaming) == (".google.protobuf.Any", True)


def test_an_optional_field_of_proto3_knows_whether_it_was_set() -> None:
    message = _root('syntax = "proto3"; message M { optional int32 a = 1; oneof o { int32 b = 2; } }').message_type[0]
    assert [(each.name, each.proto3_optional, each.oneof_index) for each in message.field] == [
        ("a", True, 1),
        ("b", False, 0),
    ]
    assert [each.name for each in message.oneof_decl] == ["o", "_a"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "mesage M {}",
            "line 1: a message, an enum, a service, an import or an option is expected where mesage stands",
        ),
        ('syntax = "proto3";\nmessage M {\n int32 a 1; }', "line 3: '=' is expected where 1 stands"),
        ('syntax = "proto4";', "the syntax proto4 is not known"),
        ('edition = "2023";', "editions are not known"),
        ('syntax = "proto3"; message M { Nothing a = 1; }', "no type is called 'Nothing' here"),
        ('syntax = "proto3"; message M { int32 a = 0; }', "the number of a, 0, is not between 1 and 536870911"),
        ('syntax = "proto3"; message M { int32 a = 1; int32 b = 1; }', "1"),
        ('syntax = "proto3"; message M { required int32 a = 1; }', "proto3 has no required fields"),
        ("message M { int32 a = 1; }", "optional, required or repeated is expected where int32 stands"),
        ('syntax = "proto3"; import "other.proto";', "the import 'other.proto' is neither a reference nor"),
        ('syntax = "proto3"; import "/etc/passwd";', "the import '/etc/passwd' is neither a reference nor"),
        (
            'syntax = "proto3"; message M { int32 a = 1 [deprecated = perhaps]; }',
            "the option deprecated cannot be perh",
        ),
        ('syntax = "proto3"; message M {', "is expected where the end stands"),
        ("\x00", "is nothing that Protobuf knows"),
        ('syntax = "proto3"; enum E { A = 1; }', "E"),
        ('option (x) = { a: "', "is nothing that Protobuf knows"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidSchema) as refusal:
        FORMAT.parse(text)
    assert reason in str(refusal.value)


def test_depth_is_bounded() -> None:
    with pytest.raises(InvalidSchema, match="levels deep"):
        FORMAT.parse('syntax = "proto3";' + "message M {" * 10_000)
    with pytest.raises(InvalidSchema, match="too deep"):
        FORMAT.parse("option (x) = " + "{ a: " * 10_000)


def test_imports_are_found_among_references_alone() -> None:
    base = ResolvedReference("base.proto", "base", 1, 'syntax = "proto3"; package shop; message Money { int64 a = 1; }')
    line_text = 'syntax = "proto3"; package shop; import "base.proto"; message Line { Money price = 1; }'
    line = ResolvedReference("line.proto", "line", 1, line_text, (base,))
    root = _root('syntax = "proto3"; import "line.proto"; message Order { repeated shop.Line lines = 1; }', line)
    assert root.message_type[0].field[0].type_name == ".shop.Line"


def test_a_descriptor_in_base64_is_the_schema_that_it_was_made_of() -> None:
    """So Python's clients register them."""
    text = 'syntax = "proto3"; package shop; message Order { int64 the_id = 1; map<string, Order> inner = 2; }'
    made: Any = FORMAT.parse(text)
    descriptor = _root(text)
    for each in descriptor.message_type[0].field:
        each.json_name = "theId" if each.name == "the_id" else each.name
    encoded = base64.b64encode(descriptor.SerializeToString()).decode()
    assert FORMAT.parse(encoded).canonical == made.canonical


def test_protobufs_own_files_can_be_imported() -> None:
    text = (
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp at = 1; }'
    )
    schema = FORMAT.parse(text)
    moment = timestamp_pb2.Timestamp(seconds=3).SerializeToString()
    assert schema.to_json(b"\x00\x0a" + bytes([len(moment)]) + moment) == {"at": "1970-01-01T00:00:03Z"}


def test_a_text_as_it_was_written_has_unresolved_names() -> None:
    assert parse_file('syntax = "proto3"; message M { M m = 1; }', "m.proto").message_type[0].field[0].type_name == "M"
