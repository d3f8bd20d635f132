"""A catalogue that has lost something, or does not know what lies on the disk, is refused with the way out."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engine.catalogue.catalogue import Commit, Delete, Put
from engine.catalogue.copy import copy_path, read_copy
from engine.catalogue.guarded import CatalogueDamaged, GuardedCatalogue, open_catalogue
from engine.catalogue.sqlite import SqliteCatalogue
from engine.errors import StorageError
from engine.files.files import OsFiles
from tests.engine.catalogues import FILES, create, delete, image, lay_out, opened, rows, topic

STRIDE = 29
"""Of the bytes that are not empty, so many apart are damaged; 1 is all of them, which takes a minute."""


@contextmanager
def running(data_dir: Path) -> Iterator[GuardedCatalogue]:
    catalogue = opened(data_dir)
    try:
        yield catalogue
    finally:
        catalogue.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """With two topics and a block of producer ids; nothing has been written to the topics."""
    path = tmp_path / "data"
    path.mkdir()
    with running(path) as catalogue:
        create(catalogue, topic("orders", 2, retention_ms="60000"))
        create(catalogue, topic("payments"))
        catalogue.commit(Commit((), (Put("producer-ids", b"1000"),)))
    return path


def test_it_is_the_same_after_a_restart_and_goes_on(data_dir: Path) -> None:
    with running(data_dir) as catalogue:
        before = rows(catalogue)
        create(catalogue, topic("refunds"))
    with running(data_dir) as catalogue:
        assert rows(catalogue).items() > before.items()
        assert catalogue.get("topics/refunds") is not None


def test_the_copy_is_level_with_every_commit(data_dir: Path) -> None:
    with running(data_dir) as catalogue:
        for name in ("a", "b", "c"):
            create(catalogue, topic(name))
            copied = read_copy(FILES, copy_path(str(data_dir)))
            assert copied is not None
            assert copied.revision == catalogue.revision()
            assert {key: (entry.value, entry.revision) for key, entry in copied.entries.items()} == rows(catalogue)


def test_a_directory_of_before_there_were_copies_gets_one(data_dir: Path) -> None:
    Path(copy_path(str(data_dir))).unlink()
    with running(data_dir) as catalogue:
        expected = rows(catalogue)
    copied = read_copy(FILES, copy_path(str(data_dir)))
    assert copied is not None
    assert copied.entries.keys() == expected.keys()


def test_a_crash_between_the_database_and_its_copy_is_made_up_for(data_dir: Path) -> None:
    alone = SqliteCatalogue.open(str(data_dir / "catalogue.sqlite"))
    create(alone, topic("refunds"))
    alone.commit(Commit((), (Delete("topics/payments"),)))
    alone.close()
    with running(data_dir) as catalogue:
        assert catalogue.get("topics/refunds") is not None
    copied = read_copy(FILES, copy_path(str(data_dir)))
    assert copied is not None
    assert "topics/refunds" in copied.entries
    assert "topics/payments" not in copied.entries


def test_a_copy_that_cannot_be_written_does_not_undo_the_change(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(data_dir) as catalogue:
        with monkeypatch.context() as patch:

            def full(*_: object) -> None:
                raise OSError(errno.ENOSPC, "no space left")

            patch.setattr("engine.files.files.OsFile.write", full)
            create(catalogue, topic("first"))
        create(catalogue, topic("second"))
    with running(data_dir) as catalogue:
        assert catalogue.get("topics/first") is not None
        assert catalogue.get("topics/second") is not None


@pytest.mark.parametrize("closed", [True, False])
def test_a_bit_that_turned_over_is_refused_or_does_no_harm(data_dir: Path, tmp_path: Path, closed: bool) -> None:
    with running(data_dir) as catalogue:
        create(catalogue, topic("refunds"))
        delete(catalogue, topic("payments"))
        expected = rows(catalogue)
        killed = image(data_dir, tmp_path / "killed")
    whole = data_dir if closed else killed
    name = "catalogue.sqlite" if closed else "catalogue.sqlite-wal"
    original = (whole / name).read_bytes()
    refused = 0
    written = [at for at in range(len(original)) if original[at] or at % 61 == 0]
    for at in written[::STRIDE]:
        damaged = image(whole, tmp_path / "damaged")
        content = bytearray(original)
        content[at] ^= 1 << at % 8
        (damaged / name).write_bytes(content)
        found = None
        with suppress(StorageError), running(damaged) as catalogue:
            found = rows(catalogue)
        assert found in (None, expected), at
        refused += found is None
        for path in damaged.glob("catalogue.sqlite*"):
            path.unlink()
    assert refused > 10


def test_lost_changes_are_refused_with_the_way_out(data_dir: Path, tmp_path: Path) -> None:
    earlier = image(data_dir, tmp_path / "earlier")
    with running(data_dir) as catalogue:
        create(catalogue, topic("refunds"))
    (data_dir / "catalogue.sqlite").write_bytes((earlier / "catalogue.sqlite").read_bytes())
    with pytest.raises(
        CatalogueDamaged, match=r"lost changes: it ends at revision 3, its copy at 4.*rebuild --data-dir"
    ):
        opened(data_dir)


def test_a_lost_database_is_not_made_anew_in_silence(data_dir: Path) -> None:
    (data_dir / "catalogue.sqlite").unlink()
    for _ in range(2):
        with pytest.raises(CatalogueDamaged, match="is missing"):
            opened(data_dir)
    assert not (data_dir / "catalogue.sqlite").exists()


def test_topics_that_nobody_knows_are_refused_though_database_and_copy_agree(tmp_path: Path) -> None:
    lay_out(tmp_path, topic("orders"))
    for _ in range(2):
        with pytest.raises(CatalogueDamaged, match=f"1 topics .* does not know: {topic('orders').id.hex()}.*rebuild"):
            opened(tmp_path)
    assert not (tmp_path / "catalogue.sqlite").exists()


def test_a_topic_that_is_being_deleted_is_known_until_its_files_are_gone(data_dir: Path) -> None:
    lay_out(data_dir, topic("orders"))
    with running(data_dir) as catalogue:
        delete(catalogue, topic("orders"))
    opened(data_dir).close()


def test_a_topic_without_files_is_no_cause(data_dir: Path) -> None:
    """Made, and killed before its first record; and a directory that was removed but for itself."""
    (data_dir / "topics" / ("ab" * 16) / "0").mkdir(parents=True)
    (data_dir / "topics" / "lost+found").mkdir()
    opened(data_dir).close()


def test_a_damaged_copy_is_written_anew_from_a_sound_database(data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = Path(copy_path(str(data_dir)))
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with running(data_dir) as catalogue:
        assert catalogue.get("topics/orders") is not None
    assert "second copy is damaged at byte" in caplog.text
    copied = read_copy(FILES, str(path))
    assert copied is not None
    assert copied.damaged_at is None


def test_what_cannot_be_opened_is_told_with_the_way_out(data_dir: Path) -> None:
    (data_dir / "catalogue.sqlite").write_bytes(b"no database at all")
    with pytest.raises(CatalogueDamaged, match=r"cannot be opened.*catalogue rebuild"):
        open_catalogue(str(data_dir), OsFiles())


def test_a_watch_sees_what_is_committed(data_dir: Path) -> None:
    with running(data_dir) as catalogue:
        watch = catalogue.watch(catalogue.revision())
        create(catalogue, topic("refunds"))
        assert watch.next(0)[0].key == "topics/refunds"


def test_a_running_one_tells_what_is_wrong_with_its_files(data_dir: Path) -> None:
    with running(data_dir) as catalogue:
        assert catalogue.problem() is None
        path = Path(copy_path(str(data_dir)))
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        assert "second copy is damaged at byte" in (catalogue.problem() or "")
