"""What commands print: tables for people, JSON and YAML for programs."""

import json

import pytest
import yaml

from tools.cli.output import Column, Format, Output, _folded, plain, printable, size_text, text_of

COLUMNS = (Column("name", "topic"), Column("size", right=True))
ROWS = [{"name": "orders", "size": 3}, {"name": "[bold]\x1b[31m", "size": None}]


def test_a_table_shows_what_is_there_and_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows(ROWS, COLUMNS)
    said = capsys.readouterr().out
    assert said.split()[:2] == ["topic", "size"]
    assert "orders" in said
    assert "[bold]\\x1b[31m" in said
    assert "\x1b" not in said


FORGED = "shop\nkitchen   classic   Stable\r\x85\u2028\x1b[2K"


def test_no_name_passes_for_a_row_or_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows([{"name": FORGED, "size": 1}], COLUMNS)
    Output().fields({"name": FORGED, "size": 1}, COLUMNS)
    Output().done(f"deleted {FORGED}")
    Output().heading(f"\ngroup {FORGED}: Stable\n")
    Output().note(f"see {FORGED}")
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 3 + 2 + 1 + 3
    assert len(said.err.splitlines()) == 1
    assert all(letter.isprintable() or letter == "\n" for letter in said.out + said.err)
    assert "shop\\nkitchen" in said.out


def test_json_steers_no_terminal_and_stays_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.JSON).value({"name": FORGED})
    Output(Format.JSON).one({"name": FORGED})
    said = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in said)
    assert json.loads(said.splitlines()[-1]) == {"name": FORGED}


def test_a_table_is_not_cut_elsewhere_than_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows([{"name": "x" * 500, "size": 1}], COLUMNS)
    assert "x" * 500 in capsys.readouterr().out


def test_nothing_to_show_is_said_beside(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows([], COLUMNS, empty="no topics")
    assert capsys.readouterr() == ("", "no topics\n")


def test_programs_get_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.JSON).rows(ROWS, COLUMNS[:1])
    assert json.loads(capsys.readouterr().out) == ROWS
    Output(Format.YAML).rows(ROWS, COLUMNS[:1])
    assert yaml.safe_load(capsys.readouterr().out) == ROWS
    Output(Format.JSON).rows([], COLUMNS)
    assert json.loads(capsys.readouterr().out) == []


def test_a_stream_is_a_line_or_a_document_each(capsys: pytest.CaptureFixture[str]) -> None:
    for each in ROWS:
        Output(Format.JSON).one(each)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS
    for each in ROWS:
        Output(Format.YAML).one(each)
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == ROWS


def test_one_thing_is_shown_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    Output().fields(ROWS[0], COLUMNS)
    assert capsys.readouterr().out == "topic  orders\nsize   3\n"


def test_what_was_done_is_a_sentence_or_facts(capsys: pytest.CaptureFixture[str]) -> None:
    Output().done("made it", topic="t")
    assert capsys.readouterr().out == "made it\n"
    Output(Format.JSON).done("made it", topic="t", key=b"\xff")
    assert json.loads(capsys.readouterr().out) == {"topic": "t", "key": "\\xff"}


def test_values_are_written_for_people() -> None:
    assert [plain(each) for each in (None, True, 1.5, [1, None])] == ["-", "yes", "1.50", "1,-"]
    assert [size_text(each) for each in (None, 10, 2048, 3 << 30)] == ["-", "10 B", "2.0 KiB", "3.0 GiB"]
    assert text_of(b"a\xff") == "a\\xff"
    assert printable("a\x07b\u202e\n") == "a\\x07b\\u202e\\n"
    assert printable("two\nlines\r\n", keeps_lines=True) == "two\nlines\\r\n"


WIDE = ({"name": "orders", "text": "word " * 40, "id": "a" * 32}, (Column("name"), Column("text"), Column("id")))


@pytest.mark.parametrize(("width", "is_table"), [("120", True), ("60", False)])
def test_a_terminal_that_is_too_narrow_gets_blocks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str, is_table: bool
) -> None:
    for name, value in (("COLUMNS", width), ("TERM", "xterm"), ("FORCE_COLOR", "1"), ("TTY_COMPATIBLE", "1")):
        monkeypatch.setenv(name, value)
    row, columns = WIDE
    Output().rows([row, row], columns)
    said = capsys.readouterr().out
    assert ("name  orders\n" in said) is not is_table
    # What is not folded stays whole, to be copied.
    assert said.count("a" * 32) == 2
    assert ("\n\n" in said) is not is_table


def test_texts_are_folded_between_words() -> None:
    assert _folded("one two three", 8) == ["one two", "three"]
    assert _folded("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert _folded("日本語日本語", 6) == ["日本語", "日本語"]
    assert _folded("short", 10) == ["short"]
