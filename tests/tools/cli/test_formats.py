"""Format strings of records, for output and for input."""

import pytest

from tools.cli.errors import UsageMistake
from tools.cli.formats import LETTERS_MEAN, Record, as_data, compile_format, compile_input, unescaped

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


def test_every_letter_is_documented() -> None:
    from tools.cli.formats import _LETTERS

    documented = " ".join(LETTERS_MEAN)
    assert [letter for letter in _LETTERS if f"`%{letter}`" not in documented] == []


def test_a_line_is_taken_apart() -> None:
    assert compile_input("%k:%v")(b"a:b:c") == {"k": b"a", "v": b"b:c"}
    assert compile_input("%p,%T,%k\\t%s")(b"3,17,a\tb") == {"p": b"3", "T": b"17", "k": b"a", "v": b"b"}
    assert compile_input("%k%%%v")(b"a%b") == {"k": b"a", "v": b"b"}


def test_a_line_of_another_form_is_told() -> None:
    with pytest.raises(UsageMistake, match="is not of the format"):
        compile_input("%k:%v")(b"no colon")


@pytest.mark.parametrize("form", ["%o", "%k %k", "%z"])
def test_an_input_format_that_cannot_be_is_told(form: str) -> None:
    with pytest.raises(UsageMistake, match="cannot stand in the input format"):
        compile_input(form)


def test_separators_are_unescaped() -> None:
    assert unescaped(r"a\tb\x41\0") == "a\tbA\0"
    assert unescaped(r"\q") == r"\q"


def test_a_record_as_data_keeps_every_byte() -> None:
    data = as_data(RECORD)
    assert (data["key"], data["value_base64"]) == ("k", "dv8=")
    assert data["headers"] == [{"name": "a", "value": "1"}, {"name": "b", "value": None}]
    assert as_data(EMPTY)["value"] is None
