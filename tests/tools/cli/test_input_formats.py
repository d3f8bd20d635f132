"""Lines of input, taken apart."""

import pytest

from tools.cli.errors import UsageMistake
from tools.cli.input_formats import compile_input


def test_a_line_is_taken_apart() -> None:
    assert compile_input("%k:%v")(b"a:b:c") == {"k": b"a", "v": b"b:c"}
    assert compile_input("%p,%T,%k\\t%s")(b"3,17,a\tb") == {"p": b"3", "T": b"17", "k": b"a", "v": b"b"}
    assert compile_input("%k%%%v")(b"a%b") == {"k": b"a", "v": b"b"}
    assert compile_input(r"%k\xff%v")(b"a\xffb") == {"k": b"a", "v": b"b"}


def test_parts_are_decoded() -> None:
    assert compile_input("%k{hex} %v{base64}")(b"00fF AP/+") == {"k": b"\x00\xff", "v": b"\x00\xff\xfe"}


def test_parts_may_have_a_length() -> None:
    assert compile_input("%k{3}%v")(b"abcdef") == {"k": b"abc", "v": b"def"}


@pytest.mark.parametrize(
    ("form", "line"),
    [("%k:%v", b"no colon"), ("%v{hex}", b"abc"), ("%v{hex}", b"xy"), ("%k{3}%v", b"ab"), ("%p %v", b"x y")],
)
def test_a_line_of_another_form_is_told(form: str, line: bytes) -> None:
    with pytest.raises(UsageMistake, match="is not of the format"):
        compile_input(form)(line)


def test_what_only_looks_like_base64_is_told() -> None:
    with pytest.raises(UsageMistake, match=r"(?i)padding|base64"):
        compile_input("%v{base64}")(b"abc")


@pytest.mark.parametrize("form", ["%o", "%k %k", "%z", "%v{octal}", "%p{hex}"])
def test_an_input_format_that_cannot_be_is_told(form: str) -> None:
    with pytest.raises(UsageMistake, match="cannot stand in the input format"):
        compile_input(form)
