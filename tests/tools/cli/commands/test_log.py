"""Files on disk from the command line, without a broker."""

import shutil
from pathlib import Path

import pytest

from tests.tools.cli.conftest import Tidegate, run
from tidegate import testing


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a broker that was stopped: three records, one of them delayed, in topic `kept`."""
    data = tmp_path_factory.mktemp("log") / "data"
    with testing.broker(data_dir=data, timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        assert run("produce", "kept", "one", "two", "-k", "k", "-H", "a=1", *where).code == 0
        assert run("produce", "kept", "later", "--delay", "1h", *where).code == 0
        assert run("produce", "moved", "a", "--transactional-id", "import-1", *where).code == 0
    return data


@pytest.fixture
def data(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "data")
    return tmp_path / "data"


def segment(data: Path) -> Path:
    (found,) = [each for each in data.glob("topics/*/0/*.log") if b"two" in each.read_bytes()]
    return found


def test_batches_and_records_are_dumped(data: Path) -> None:
    (batch,) = run("log", "dump", str(segment(data)), "-o", "json").data
    assert (batch["base_offset"], batch["last_offset"], batch["records"], batch["sound"]) == (0, 1, 2, True)
    records = run("log", "dump", str(segment(data)), "--records", "-o", "json").data
    assert [(each["offset"], each["key"], each["value"]) for each in records] == [(0, "k", "one"), (1, "k", "two")]
    assert records[0]["headers"] == [{"name": "a", "value": "1"}]
    assert run("log", "dump", str(segment(data)), "-f", r"%p %o %k %v\n").out == "0 0 k one\n0 1 k two\n"
    assert "two" in run("log", "dump", str(segment(data)), "-r").out


def test_a_snapshot_tells_producers_and_epochs(data: Path) -> None:
    snapshot = max(segment(data).parent.glob("*.snapshot"))
    found = run("log", "dump", str(snapshot), "-o", "json").data
    assert found["end_offset"] == 2
    assert sorted(each["last_sequence"] for each in found["producers"]) == [0, 1]
    assert "log end" in run("log", "dump", str(snapshot)).out


def test_sound_files_are_status_0(data: Path) -> None:
    found = run("log", "verify", str(data), "-o", "json")
    assert (found.code, found.data["findings"]) == (0, [])
    assert found.data["records"] >= 3
    assert "all sound" in run("log", "verify", str(data)).out


def test_a_flipped_bit_is_found_and_named(data: Path) -> None:
    damaged = segment(data)
    content = bytearray(damaged.read_bytes())
    content[content.index(b"two")] ^= 1
    damaged.write_bytes(content)
    ended = run("log", "verify", str(data))
    assert ended.code == 1
    assert "kept-0" in ended.out
    assert "at byte 0: the checksum of this batch does not hold" in ended.out


def test_a_torn_end_is_found(data: Path) -> None:
    damaged = segment(data)
    damaged.write_bytes(damaged.read_bytes() + b"\x01" * 30)
    ended = run("log", "verify", str(damaged))
    assert ended.code == 1
    assert "no batch begins here; 30 bytes are left" in ended.out


def test_a_damaged_snapshot_is_found(data: Path) -> None:
    snapshot = max(segment(data).parent.glob("*.snapshot"))
    snapshot.write_bytes(snapshot.read_bytes()[:-1] + b"\0")
    assert "snapshot is damaged" in run("log", "verify", str(snapshot)).out
    assert run("log", "dump", str(snapshot)).code == 1


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    assert run("log", "verify", str(tmp_path / "gone")).code == 4
    assert run("log", "verify", str(tmp_path)).code == 4
    assert run("log", "dump", str(tmp_path / "gone.log")).code == 4
    (tmp_path / "a.txt").write_text("x")
    assert run("log", "dump", str(tmp_path / "a.txt")).code == 2


def test_a_topic_is_found_by_its_name(data: Path) -> None:
    assert run("log", "dump", str(data), "--topic", "kept", "-f", r"%t %p %v\n").out == "kept 0 one\nkept 0 two\n"
    assert run("log", "dump", str(data), "--topic", "kept", "-p", "0", "-o", "json").data[0]["records"] == 2
    unnamed = run("log", "dump", str(data))
    assert (unnamed.code, "give --topic; there are" in unnamed.err, "kept" in unnamed.err) == (2, True, True)
    assert run("log", "dump", str(data), "--topic", "gone").code == 4
    assert run("log", "dump", str(data), "--topic", "kept", "-p", "7").code == 4
    assert run("log", "dump", str(segment(data)), "--topic", "kept").code == 2


def test_what_is_held_back_is_dumped(data: Path) -> None:
    rows = run("log", "dump", str(data), "-t", "kept", "--stage", "-r", "-o", "json").data
    assert [row["value"] for row in rows if row["meaning"] is None] == ["later"]
    (checkpoint,) = data.glob("topics/*/0/stage/stage-checkpoint")
    found = run("log", "dump", str(checkpoint), "-o", "json").data
    assert (found["pending"], [row["state"] for row in found["rows"]]) == (1, ["waiting"])
    assert "records that wait     1" in run("log", "dump", str(checkpoint)).out


def test_states_of_transactions_are_told_in_words(data: Path) -> None:
    said = run("log", "dump", str(data), "-t", "__transaction_state", "-r").out
    assert "import-1: CompleteCommit" in said
    assert "in moved-0" in said
    assert " commit\n" in run("log", "dump", str(data), "-t", "moved", "-r").out


def test_a_running_broker_may_be_looked_at(tidegate: Tidegate, topic: str, broker: testing.RunningBroker) -> None:
    tidegate("produce", topic, "x")
    assert tidegate("log", "verify", str(broker.data_dir), "-o", "json").data["records"] >= 1
    assert tidegate("log", "dump", str(broker.data_dir), "-t", topic, "-f", "%v").out == "x"
