"""Several things at once: what was done is told, and what was refused."""

import pytest

from tools.cli.errors import NotFound, Refused
from tools.cli.output import Output
from tools.cli.several import Several


def test_all_well_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Several(["a", "b"]).tell(Output(), "deleted")
    assert capsys.readouterr() == ("deleted a, b\n", "")


def test_refusals_follow_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Several(["a"], {"b": Refused("no b"), "c": NotFound("no c")})
    with pytest.raises(NotFound, match="no c"):
        outcome.tell(Output(), "deleted")
    assert capsys.readouterr() == ("deleted a\n", "tidegate: no b\n")
    assert outcome.refusals() == [{"name": "b", "error": "no b"}, {"name": "c", "error": "no c"}]


def test_nothing_done_is_no_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused):
        Several([], {"b": Refused("no b")}).tell(Output(), "deleted")
    assert capsys.readouterr() == ("", "")
