"""What the SQLite catalogue promises beyond the interface: it survives, and it bounds its history."""

import os
import sqlite3
from pathlib import Path

import pytest

from engine.catalogue import sqlite as catalogue_sqlite
from engine.catalogue.catalogue import CatalogueCompacted, Commit, Compare, Put
from engine.catalogue.sqlite import SqliteCatalogue
from engine.errors import StorageError


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / catalogue_sqlite.FILE_NAME)


def put(catalogue: SqliteCatalogue, key: str, value: bytes) -> int:
    return catalogue.commit(Commit(changes=(Put(key, value),)))


def test_what_was_committed_is_there_after_reopening(path: str) -> None:
    first = SqliteCatalogue.open(path)
    put(first, "a", b"1")
    put(first, "b", b"2")
    first.close()
    again = SqliteCatalogue.open(path)
    assert again.revision() == 2
    assert [(entry.key, entry.value, entry.revision) for entry in again.entries("")[1]] == [
        ("a", b"1", 1),
        ("b", b"2", 2),
    ]
    assert again.commit(Commit((Compare("a", 1),), (Put("a", b"3"),))) == 3
    again.close()


def test_what_was_committed_survives_the_end_of_the_process_without_close(path: str, tmp_path: Path) -> None:
    crashed = SqliteCatalogue.open(path)
    put(crashed, "a", b"1")
    copies = tmp_path / "copy"
    copies.mkdir()
    for file in tmp_path.glob("catalogue.sqlite*"):
        (copies / file.name).write_bytes(file.read_bytes())
    crashed.close()
    reopened = SqliteCatalogue.open(str(copies / catalogue_sqlite.FILE_NAME))
    entry = reopened.get("a")
    reopened.close()
    assert entry is not None
    assert entry.value == b"1"


def test_every_commit_is_synced(path: str) -> None:
    opened = SqliteCatalogue.open(path)
    assert opened._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    opened.close()


def test_a_watch_from_too_far_back_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_sqlite, "HISTORY_REVISIONS", 10)
    monkeypatch.setattr(catalogue_sqlite, "HISTORY_STEP", 5)
    opened = SqliteCatalogue.open(path)
    for number in range(20):
        put(opened, "a", bytes([number]))
    with pytest.raises(CatalogueCompacted):
        opened.watch(9)
    assert len(opened.watch(10).next(0)) == 10
    opened.close()


def test_a_second_process_cannot_open_it(path: str) -> None:
    first = SqliteCatalogue.open(path)
    put(first, "a", b"1")
    other = sqlite3.connect(path, timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("SELECT * FROM entries")
    other.close()
    first.close()


def test_a_catalogue_of_another_format_is_refused(path: str) -> None:
    SqliteCatalogue.open(path).close()
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    with pytest.raises(StorageError, match="format 99"):
        SqliteCatalogue.open(path)


def test_a_file_that_is_no_catalogue_is_refused(path: str) -> None:
    Path(path).write_bytes(b"not a database" * 1000)
    with pytest.raises(StorageError, match="cannot be opened"):
        SqliteCatalogue.open(path)


def test_a_failing_disk_is_a_storage_error_and_changes_nothing(path: str) -> None:
    opened = SqliteCatalogue.open(path)
    put(opened, "a", b"1")
    (pages,) = opened._connection.execute("PRAGMA page_count").fetchone()
    opened._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="full"):
        put(opened, "b", bytes(1_000_000))
    assert opened.revision() == 1
    assert opened.get("b") is None
    opened._connection.execute("PRAGMA max_page_count = 1000000")
    assert put(opened, "b", bytes(1_000_000)) == 2
    opened.close()


def test_its_files_are_their_owners_alone(path: str) -> None:
    before = os.umask(0)
    try:
        opened = SqliteCatalogue.open(path)
        put(opened, "a", b"1")
        modes = [each.stat().st_mode & 0o777 for each in Path(path).parent.iterdir()]
        opened.close()
    finally:
        os.umask(before)
    assert modes == [0o600, 0o600], "the database and its write-ahead log"


def test_broken_structure_is_refused(path: str) -> None:
    opened = SqliteCatalogue.open(path)
    for number in range(500):
        put(opened, f"topics/{number}", b"x" * 200)
    opened.close()
    content = bytearray(Path(path).read_bytes())
    for page in range(4096, len(content), 4096):
        content[page + 8 : page + 12] = b"\xff\xff\xff\xff"
    Path(path).write_bytes(content)
    with pytest.raises(StorageError, match=r"damaged|malformed"):
        SqliteCatalogue.open(path)
