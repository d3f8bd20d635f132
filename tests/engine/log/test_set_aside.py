"""What does not fit a log is kept beside it; only what is surely a torn write may go."""

import pytest

from engine.files.memory import MemoryFiles
from engine.log import set_aside
from engine.log.set_aside import SUFFIX, SetAside, is_torn, set_aside_sizes
from tests.engine.logs import DIRECTORY, batch, memory_files, stored


def _aside() -> tuple[MemoryFiles, SetAside]:
    files = memory_files()
    files.make_directories(DIRECTORY)
    return files, SetAside(files, DIRECTORY)


def test_copies_get_names_of_their_own_and_are_durable() -> None:
    files, aside = _aside()
    for path in ("/data", "/data/topics", "/data/topics/0a"):
        files.sync_directory(path)
    aside.copy(7, 100, b"first", "why")
    aside.copy(7, 100, b"second one", "why")
    files.crash()
    assert files.list(DIRECTORY) == {
        f"00000000000000000007.log.at-100{SUFFIX}": 5,
        f"00000000000000000007.log.at-100.2{SUFFIX}": 10,
    }
    assert aside.sizes == [5, 10] == set_aside_sizes(files.list(DIRECTORY))


def test_a_file_that_nobody_knows_makes_way(caplog: pytest.LogCaptureFixture) -> None:
    files, aside = _aside()
    path = f"{DIRECTORY}/00000000000000000007.log"
    aside.unknown(path)
    files.open(path, create=True)
    aside.unknown(path)
    assert files.list(DIRECTORY) == {"00000000000000000007.log": 0}
    files.open(path).write([b"bytes"], 0)
    aside.unknown(path)
    assert files.list(DIRECTORY) == {f"00000000000000000007.log{SUFFIX}": 5}
    assert "5 bytes do not fit into their log" in caplog.text


def test_the_first_part_of_a_batch_is_torn() -> None:
    data = stored(batch(3, size=200), 10, 0)
    for size in range(len(data)):
        assert is_torn(data[:size], 10), size
    assert is_torn(bytes(5000), 10)


def test_what_may_hold_a_batch_is_not_torn() -> None:
    first, second = stored(batch(3, size=200), 10, 0), stored(batch(), 13, 0)
    damaged = bytearray(first)
    damaged[100] ^= 1
    assert not is_torn(bytes(damaged), 10), "whole, with a wrong checksum"
    assert not is_torn(first, 11), "whole, at another offset"
    assert not is_torn(b"garbage " * 100, 10)
    longer = bytearray(first + second)
    longer[9] ^= 1  # the length: it seems to go on far beyond the end
    assert not is_torn(bytes(longer), 10), "another batch stands behind it"
    assert not is_torn(bytes(longer[: len(first)]), 10), "its own checksum holds"
    assert not is_torn(first[: len(first) // 2] + second, 10)


def test_the_search_for_batches_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    data = stored(batch(1, size=3000), 10, 0)[:2000]
    assert is_torn(data, 10)
    monkeypatch.setattr(set_aside, "MOST_TRIES", 10)
    assert not is_torn(data[:100] + b"\x02" * 1900, 10), "nobody knows: it is kept"
