"""The audit log as a file: full ones are kept beside it, as many as are wanted."""

from pathlib import Path

from coordinators.access.audit_file import AuditFile
from engine.workers import InlineWorkers

LINE = b"x" * 99


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def test_a_full_file_is_kept_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditFile(str(path), InlineWorkers(), max_bytes=250, kept=2)
    for _ in range(9):
        log.write([LINE])
    assert [lines(each) for each in (path, tmp_path / "audit.log.1", tmp_path / "audit.log.2")] == [1, 2, 2]
    assert len(list(tmp_path.iterdir())) == 3


def test_with_one_file_it_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditFile(str(path), InlineWorkers(), max_bytes=250, kept=0)
    for _ in range(3):
        log.write([LINE])
    assert [each.name for each in tmp_path.iterdir()] == ["audit.log"]
    assert lines(path) == 1


def test_more_than_a_file_holds_is_written_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditFile(str(path), InlineWorkers(), max_bytes=250, kept=1)
    log.write([LINE] * 5)
    log.write([LINE])
    assert (lines(path), lines(tmp_path / "audit.log.1"), log.dropped) == (1, 5, 0)
