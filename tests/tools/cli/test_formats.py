"""Format strings of records."""

import pytest

from tools.cli.errors import UsageMistake
from tools.cli.formats import LETTERS, LETTERS_MEAN, Record, as_bytes, as_data, compile_format, unescaped

RECORD = Record("orders", 2, 17, 1_700_000_000_123, b"k", b"v\xff", (("a", b"1"), ("b", None)))
EMPTY = Record("orders", 0, 0, -1, None, None)


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("%t-%p@%o\\n", b"orders-2@17\n"),
        ("%k=%s=%v", b"k=v\xff=v\xff"),
        ("%K %S %V %H", b"1 2 2 2"),
        ("%h", b"a=1,b=NULL"),
        ("%T %d %D", b"1700000000123 1700000000123 2023-11-14 22:13:20.123Z"),
        ("100%%\\t\\x1f\\\\", b"100%\t\x1f\\"),
    ],
)
def test_a_record_is_written(form: str, written: bytes) -> None:
    assert compile_format(form)(RECORD) == written


def test_what_is_not_there_is_null() -> None:
    assert compile_format("%k %v %K %S")(EMPTY) == b"NULL NULL -1 -1"


@pytest.mark.parametrize("form", ["%z", "%", "50% of"])
def test_an_unknown_letter_is_told(form: str) -> None:
    with pytest.raises(UsageMistake, match="means nothing"):
        compile_format(form)


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("%v{hex} %k{base64}", b"76ff aw=="),
        ("%t{json} %v{json}", b'"orders" "v\\\\xff"'),
        ("%h{%k is %v; }", b"a is 1; b is NULL; "),
        ("%h{<%v{hex}>}", b"<31><NULL>"),
        ("%d{strftime[%H:%M:%S]}", b"22:13:20"),
        ("%V{big32}%o{little16}%p{hex8}", b"\0\0\0\x02\x11\x0002"),
        ("%R", b"\0\0\0\x02"),
        ("%o{ascii}{x}", b"17{x}"),
        ("%%{hex}", b"%{hex}"),
    ],
)
def test_braces_say_how_something_is_written(form: str, written: bytes) -> None:
    assert compile_format(form)(RECORD) == written


def test_nothing_is_null_however_it_is_written() -> None:
    assert compile_format("%k{hex} %v{json} %R %K{hex16}")(EMPTY) == b"NULL null \xff\xff\xff\xff ffff"


def test_records_are_numbered() -> None:
    write = compile_format("%i")
    assert [write(RECORD), write(RECORD)] == [b"1", b"2"]


@pytest.mark.parametrize("form", ["%v{octal}", "%o{hex}", "%p{strftime[%H]}", "%h{%z}", "%D{hex}"])
def test_a_modifier_that_cannot_be_is_told(form: str) -> None:
    with pytest.raises(UsageMistake, match="means nothing"):
        compile_format(form)


def test_a_brace_that_is_not_closed_is_told() -> None:
    with pytest.raises(UsageMistake, match="not closed"):
        compile_format("%h{%v{hex}")


def test_every_letter_is_documented() -> None:
    documented = " ".join(LETTERS_MEAN)
    for letter in LETTERS.split():
        assert f"`{letter}`" in documented
        compile_format(letter)


def test_an_escape_is_a_byte_and_other_letters_are_text() -> None:
    assert as_bytes(r"\xffä\n\q") == b"\xff\xc3\xa4\n\\q"
    assert compile_format(r"\xff%%ä")(RECORD) == b"\xff%\xc3\xa4"


def test_separators_are_unescaped() -> None:
    assert unescaped(r"a\tb\x41\0") == "a\tbA\0"
    assert unescaped(r"\q") == r"\q"


def test_a_record_as_data_keeps_every_byte() -> None:
    data = as_data(RECORD)
    assert (data["key"], data["value_base64"]) == ("k", "dv8=")
    assert data["headers"] == [{"name": "a", "value": "1"}, {"name": "b", "value": None}]
    assert as_data(EMPTY)["value"] is None
