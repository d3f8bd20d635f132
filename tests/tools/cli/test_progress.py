"""A bar on what takes long, for people."""

import sys
import threading

import pytest

from tools.cli import progress as module
from tools.cli.progress import Progress, progress, waiting


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


def test_a_spinner_appears_while_one_waits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    drawn = threading.Event()
    monkeypatch.setattr(module._Spinner, "start", lambda self, start=module._Spinner.start: (start(self), drawn.set()))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with waiting("for the broker"):
        assert drawn.wait(30)
    assert "for the broker" in capsys.readouterr().err


def test_who_is_quick_sees_no_spinner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 600.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with waiting("for the broker"):
        pass
    spinner = module._Spinner("late")
    spinner.stop()
    spinner.start()
    assert capsys.readouterr() == ("", "")
