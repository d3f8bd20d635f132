"""Errors in one line, with the next step and a status for scripts."""

from tools.cli.errors import EXIT_MEANINGS, CliError, Exit, UsageMistake, error_name, is_retriable, refusal


def test_an_error_is_one_line_with_the_next_step() -> None:
    assert CliError("it\nfailed", "try again").line() == "tidegate: it failed; try again"
    assert UsageMistake("no").line() == "tidegate: no"


def test_the_status_tells_what_kind_it_is() -> None:
    assert CliError("x").status is Exit.FAILED
    assert UsageMistake("x").status is Exit.USAGE
    assert refusal(3, "'t'").status is Exit.NOT_FOUND
    assert refusal(36, "'t'").status is Exit.REFUSED
    assert set(EXIT_MEANINGS) == set(Exit)


def test_the_brokers_own_words_are_used_where_they_say_more() -> None:
    assert str(refusal(40, "'t'", "retention.ms must be a number.")) == "retention.ms must be a number"
    assert str(refusal(3, "'t'", "This server does not host it.")) == "no topic or partition 't'"
    assert str(refusal(41, "'t'", "No.")) == "'t': the broker answers NOT_CONTROLLER: No."


def test_codes_have_names_and_some_pass() -> None:
    assert error_name(87) == "INVALID_RECORD"
    assert error_name(12_345) == "error 12345"
    assert is_retriable(14)
    assert not is_retriable(3), "a wrong name stays wrong"
    assert not is_retriable(12_345)


def test_an_error_is_one_line_whatever_it_names() -> None:
    line = CliError("no group 'a\nb'\x1b[2K", "is it \u202e there?").line()
    assert line.isprintable()
    assert "\\x1b[2K" in line
