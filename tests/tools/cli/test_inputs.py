"""Records that are to be sent, from texts."""

import io
from pathlib import Path

import pytest

from tools.cli.errors import CliError, UsageMistake
from tools.cli.formats import Record, as_data
from tools.cli.inputs import NewRecord, chunks, from_json, nulled, parser, records, source

BASE = NewRecord(None, key=b"base", headers=(("a", b"1"),))


@pytest.mark.parametrize(
    ("data", "found"),
    [(b"", []), (b"a\nb\n", [b"a", b"b"]), (b"a\nb", [b"a", b"b"]), (b"a\n\nb\n", [b"a", b"", b"b"])],
)
def test_lines_end_with_a_delimiter_or_with_the_input(data: bytes, found: list[bytes]) -> None:
    assert [each for some in chunks(io.BytesIO(data), b"\n") for each in some] == found


def test_a_delimiter_may_fall_between_two_reads() -> None:
    long = b"x" * 100_000
    data = long[: 65_535 - 1] + b"x" + b"ab" + long
    assert [each for some in chunks(io.BytesIO(data), b"ab") for each in some] == [long[:65_535], long]


def test_all_of_the_input_may_be_one() -> None:
    assert list(chunks(io.BytesIO(b"a\nb\n" * 50_000), None)) == [[b"a\nb\n" * 50_000]]


def test_records_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\0b\0")
    (tmp_path / "more").write_bytes(b"c")
    both = [tmp_path / "in", tmp_path / "more"]
    assert list(source((), both, r"\0")) == [[b"a", b"b"], [b"c"]]
    assert list(source((), both, r"\n", whole=True)) == [[b"a\0b\0"], [b"c"]]
    with pytest.raises(CliError, match="cannot be read"):
        list(source((), [tmp_path / "missing"], r"\n"))
    with pytest.raises(UsageMistake):
        list(source(["a"], [tmp_path / "in"], r"\n"))
    with pytest.raises(UsageMistake, match="the delimiter is empty"):
        list(source((), [tmp_path / "in"], ""))


def test_a_bad_record_is_told_by_its_number_and_those_before_it_count() -> None:
    found = records(iter([[b"1"], [b"2", b"x", b"3"]]), parser(BASE, "%p", is_json=False, now_ms=0))
    assert [each.partition for each in next(found)] == [1]
    assert [each.partition for each in next(found)] == [2]
    with pytest.raises(UsageMistake, match="record 3 of the input"):
        next(found)


def test_empty_values_may_be_null() -> None:
    parse = nulled(parser(BASE, None, is_json=False, now_ms=0))
    assert (parse(b"").value, parse(b"x").value) == (None, b"x")


def test_what_a_line_does_not_say_is_as_the_options_say() -> None:
    assert parser(BASE, None, is_json=False, now_ms=0)(b"v") == NewRecord(b"v", b"base", (("a", b"1"),))
    taken = parser(BASE, "%k:%v %h %p", is_json=False, now_ms=0)(b"k:v b=2,c 3")
    assert taken == NewRecord(b"v", b"k", (("a", b"1"), ("b", b"2"), ("c", None)), 3)


def test_json_says_everything() -> None:
    text = (
        b'{"key":"k","value":{"n":1},"headers":{"b":2},"partition":3,"timestamp_ms":17,"delay":"2s","priority":"low"}'
    )
    found = from_json(text, BASE, 0)
    assert (found.key, found.value, found.partition, found.timestamp_ms) == (b"k", b'{"n":1}', 3, 17)
    assert found.headers[:2] == (("a", b"1"), ("b", b"2"))
    assert dict(found.headers[2:]) == {"tide-delay": b"2000", "tide-priority": b"low"}


def test_what_consume_prints_is_taken_as_it_is() -> None:
    import json

    record = Record("t", 1, 5, 17, None, b"\xff", (("h", b"\xfe"),))
    line = json.dumps(as_data(record)).encode()
    found = from_json(line, NewRecord(None), 0, same_partition=True)
    assert found == NewRecord(b"\xff", None, (("h", b"\xfe"),), 1, 17)
    # A topic with fewer partitions takes it, too, unless one asks for the same.
    assert from_json(line, NewRecord(None), 0).partition is None
    assert from_json(b'{"value": "x", "partition": 3}', NewRecord(None), 0).partition == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"nonsense", "is no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"valu": 1}', "unknown field 'valu'"),
        (b'{"value_base64": "!"}', "no base64"),
        (b'{"partition": "3"}', "partition is '3'"),
        (b'{"headers": [1]}', "headers are neither"),
        (b'{"priority": "urgent"}', "no priority"),
    ],
)
def test_what_is_wrong_with_json_is_told(text: bytes, said: str) -> None:
    with pytest.raises(UsageMistake, match=said):
        from_json(text, BASE, 0)


def test_two_input_formats_exclude_each_other() -> None:
    with pytest.raises(UsageMistake, match="exclude each other"):
        parser(BASE, "%v", is_json=True, now_ms=0)
