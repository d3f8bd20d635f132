"""A bar on what takes long, for people."""

import pytest

from tools.cli import progress as module
from tools.cli.progress import Progress, progress


def test_nothing_is_drawn_where_nobody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", -1.0)
    with progress("records", 10) as shown:
        shown.advance(3)
        shown.advance()
    assert shown.count == 4
    assert capsys.readouterr() == ("", "")


def test_a_bar_appears_when_it_takes_long(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = Progress("records", 10, draws=True)
    shown.advance(3)
    shown.advance(3)
    shown.close()
    said = capsys.readouterr()
    assert "records" in said.err
    assert said.out == ""
