"""Snapshots: read back whole or not at all."""

from engine.files.memory import MemoryFiles
from engine.log.leader_epochs import LeaderEpochs
from engine.log.producer_state import ProducerState
from engine.log.snapshot import (
    Snapshot,
    list_snapshots,
    read_snapshot,
    remove_snapshots,
    snapshot_name,
    write_snapshot,
)
from engine.log.types import LogPosition
from engine.records.layout import parse_header
from tests.engine.logs import NOW_MS, idempotent


def _snapshot() -> Snapshot:
    producers = ProducerState(1000)
    producers.update(parse_header(idempotent(3)), 5, NOW_MS)
    return Snapshot(
        LogPosition(100, 50, 4096), 7, 0xDEADBEEF, NOW_MS, 12, NOW_MS - 5, producers.encode(), LeaderEpochs([(1, 2)])
    )


def test_a_snapshot_is_read_back() -> None:
    files = MemoryFiles()
    files.make_directories("/d")
    write_snapshot(files, "/d", _snapshot())
    assert list(files.list("/d")) == ["00000000000000000100.snapshot"]
    again = read_snapshot(files, "/d", 100)
    assert again == _snapshot()
    assert again is not None
    assert [info.producer_id for info in again.producer_state(1000).describe()] == [7]


def test_every_flipped_bit_and_every_truncation_is_noticed() -> None:
    data = _snapshot().encode()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        assert Snapshot.decode(bytes(damaged)) is None
        assert Snapshot.decode(data[:position]) is None


def test_snapshots_are_listed_by_offset_and_removed() -> None:
    names = {snapshot_name(offset): 1 for offset in (30, 5, 200)} | {"x.snapshot": 1, "00000000000000000005.log": 1}
    assert list_snapshots(names) == [5, 30, 200]
    files = MemoryFiles()
    files.make_directories("/d")
    write_snapshot(files, "/d", _snapshot())
    remove_snapshots(files, "/d", [100, 200])
    assert files.list("/d") == {}
    assert read_snapshot(files, "/d", 100) is None
