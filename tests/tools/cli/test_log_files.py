"""Reading a partition's segments and indexes; test_log.py has them from a broker and from the command line."""

from pathlib import Path

import pytest

from engine.log.index import IndexTrailer, SparseIndex
from engine.log.transactions import EndMarker, build_marker
from engine.records.layout import CONTROL_FLAG, build_batch
from tools.cli.errors import NotFound
from tools.cli.log_files import batch_row, batches, files_under, index_rows, record_rows


def test_files_are_found_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "topics" / "a").mkdir(parents=True)
    for name in ("1.log", "1.index", "1.snapshot", "stage-checkpoint", "log-start", "notes.txt"):
        (tmp_path / "topics" / "a" / name).write_bytes(b"")
    found = [each.name for each in files_under(tmp_path)]
    assert found == ["1.index", "1.log", "1.snapshot", "log-start", "stage-checkpoint"]
    assert files_under(tmp_path / "topics" / "a" / "1.log") == [tmp_path / "topics" / "a" / "1.log"]
    with pytest.raises(NotFound):
        files_under(tmp_path / "gone")


def test_the_entries_of_an_index_are_offsets(tmp_path: Path) -> None:
    index = SparseIndex()
    index.add(5, 100, 17)
    (tmp_path / "00000000000000001000.index").write_bytes(bytes(index.entries))
    row = {"offset": 1005, "position": 100, "max_timestamp_before_ms": 17}
    assert index_rows(tmp_path / "00000000000000001000.index") == [row]
    (tmp_path / "00000000000000001000.log").write_bytes(b"x" * 200)
    sealed = index.seal(IndexTrailer(17, 0, 17, 200, False))
    (tmp_path / "00000000000000001000.index").write_bytes(sealed)
    assert index_rows(tmp_path / "00000000000000001000.index") == [row]


def test_records_of_the_broker_say_what_they_mean(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    plain = build_batch([(b"k", b"\xff")], timestamp_ms=17)
    path.write_bytes(plain + build_marker(7, 0, EndMarker(True, 3), 18))
    (_, first, sound), (position, second, _) = batches(path)
    assert (sound, batch_row(0, first, sound)["kind"], batch_row(position, second, True)["kind"]) == (
        *(True, "plain"),
        "control",
    )
    (record,) = record_rows(path, 0, first)
    assert (record["key"], record["value_base64"], record["meaning"]) == ("k", "/w==", None)
    (marker,) = record_rows(path, position, second)
    assert marker["meaning"] == "commit"
    assert second.attributes & CONTROL_FLAG
