"""Protobuf schemas printed: which texts are the same schema, and which are not."""

import pytest

from coordinators.schemas.formats.protobuf.schema import FORMAT
from tests.coordinators.schemas.formats.protobuf.test_parsing import RICH

HEAD = 'syntax = "proto3"; package shop;'


def test_what_was_printed_is_the_same_schema() -> None:
    once = FORMAT.parse(RICH)
    again = FORMAT.parse(once.canonical)
    assert again.canonical == once.canonical
    assert again.normalized == once.normalized
    assert again.incompatibilities(once) == []


def test_comments_white_space_and_short_names_mean_nothing() -> None:
    one = FORMAT.parse(f"{HEAD} message A {{ B b = 1; }} message B {{}}")
    other = FORMAT.parse(f"// hello\n{HEAD}\nmessage A {{ .shop.B b = 1; /* there */ }}\n\nmessage B {{ }}")
    assert one.canonical == other.canonical


@pytest.mark.parametrize("change", ["message A { int32 c = 1; }", "message A { int64 b = 1; }", "message A {}"])
def test_everything_else_counts(change: str) -> None:
    assert FORMAT.parse(f"{HEAD} {change}").canonical != FORMAT.parse(f"{HEAD} message A {{ int32 b = 1; }}").canonical


def test_normalized_puts_imports_and_options_in_order() -> None:
    imports = ('import "google/protobuf/any.proto";', 'import "google/protobuf/empty.proto";')
    options = ('option (b) = "1";', 'option (a) = "2";')
    one = FORMAT.parse(f"{HEAD} {' '.join(imports)} {' '.join(options)} message A {{}}")
    other = FORMAT.parse(f"{HEAD} {' '.join(reversed(imports))} {' '.join(reversed(options))} message A {{}}")
    assert one.canonical != other.canonical
    assert one.normalized == other.normalized
