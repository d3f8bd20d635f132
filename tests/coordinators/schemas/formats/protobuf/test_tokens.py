"""The words of a `.proto` text."""

import pytest

from coordinators.schemas.formats.format import InvalidSchema
from coordinators.schemas.formats.protobuf.tokens import END, Tokens, unescaped


def _words(text: str) -> list[str]:
    tokens, words = Tokens(text), []
    while tokens.next.kind != END:
        words.append(tokens.take().word)
    return words


def test_comments_and_white_space_separate_words_and_are_none() -> None:
    assert _words('a/* b\n*/c // d\n"e//f" .5e3 0x1F;') == ["a", "c", '"e//f"', ".5e3", "0x1F", ";"]


@pytest.mark.parametrize(
    ("quoted", "text"),
    [('"a\\n"', "a\n"), ("'\\x41\\101'", "AA"), ('"\\u00e9"', "é"), ('"\\\\\\""', '\\"'), ('"\\q"', "q")],
)
def test_escapes_stand_for_characters(quoted: str, text: str) -> None:
    assert unescaped(quoted) == text


def test_an_escape_beyond_all_characters_is_refused() -> None:
    with pytest.raises(InvalidSchema):
        unescaped('"\\UFFFFFFFF"')


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("-7", -7), ("0x1F", 31), ("010", 8)])
def test_whole_numbers_have_three_bases(text: str, number: int) -> None:
    assert Tokens(text).integer() == number


def test_what_is_unexpected_is_named_with_its_line() -> None:
    tokens = Tokens("\n\nfoo")
    with pytest.raises(InvalidSchema, match="line 3: ';' is expected where foo stands"):
        tokens.expect(";")


def test_texts_in_a_row_are_one() -> None:
    assert Tokens("\"a\" 'b' ;").text() == "ab"
