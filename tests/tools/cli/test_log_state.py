"""What a partition remembers beside its log; test_log.py has it from a broker."""

from pathlib import Path

import pytest

from engine.files.files import OsFiles
from engine.log.leader_epochs import LeaderEpochs
from engine.log.recovery import write_start_offset
from tools.cli.errors import CliError
from tools.cli.log_state import checkpoint_data, epochs_data, snapshot_data, start_offset_data


def test_where_a_partition_begins(tmp_path: Path) -> None:
    write_start_offset(OsFiles(), str(tmp_path), 17)
    assert start_offset_data(tmp_path / "log-start") == {"start_offset": 17}


def test_leader_epochs(tmp_path: Path) -> None:
    LeaderEpochs([(0, 0), (2, 17)]).write(OsFiles(), str(tmp_path))
    rows = [{"epoch": 0, "start_offset": 0}, {"epoch": 2, "start_offset": 17}]
    assert epochs_data(tmp_path / "leader-epochs") == rows


def test_damage_is_told(tmp_path: Path) -> None:
    for name in ("stage-checkpoint", "log-start", "leader-epochs", "7.snapshot"):
        (tmp_path / name).write_bytes(b"nonsense")
    for read, name in ((checkpoint_data, "stage-checkpoint"), (start_offset_data, "log-start")):
        with pytest.raises(CliError, match="is damaged"):
            read(tmp_path / name)
    with pytest.raises(CliError, match="is damaged"):
        epochs_data(tmp_path / "leader-epochs")
    assert snapshot_data(tmp_path / "7.snapshot") is None
