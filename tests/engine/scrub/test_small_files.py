"""The small files beside a log each tell whether they are sound."""

import pytest

from engine.clock import ManualClock
from engine.log.leader_epochs import LeaderEpochs
from engine.log.recovery import write_journal_floor, write_start_offset
from engine.scrub.small_files import is_small_file, small_file_problem, small_file_problems
from engine.stage import checkpoint
from tests.engine.logs import DIRECTORY, NOW_MS, batch, memory_files, open_log, snapshot, sync
from tests.engine.stage.world import STAGE_DIRECTORY, Leader, Node, client_batch, record

NAMES = ["00000000000000000001.snapshot", "journal-floor", "leader-epochs", "log-start"]


def test_each_is_sound_until_a_bit_of_it_turns_over() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    sync(log)
    snapshot(log)
    write_start_offset(files, DIRECTORY, 0)
    write_journal_floor(files, DIRECTORY, 7)
    LeaderEpochs([(0, 0)]).write(files, DIRECTORY)
    assert sorted(filter(is_small_file, files.list(DIRECTORY))) == NAMES
    assert small_file_problems(files, DIRECTORY) == {}
    for name in NAMES:
        for position in range(files.list(DIRECTORY)[name]):
            files.flip_bit(f"{DIRECTORY}/{name}", position, position % 8)
            assert list(small_file_problems(files, DIRECTORY)) == [f"{DIRECTORY}/{name}"]
            files.flip_bit(f"{DIRECTORY}/{name}", position, position % 8)


def test_a_stages_checkpoint_is_looked_at() -> None:
    leader = Leader(Node(ManualClock(NOW_MS)))
    leader.append(client_batch([record("a", delay=10)]))
    leader.checkpoint()
    files = leader.node.files
    assert small_file_problem(files, STAGE_DIRECTORY, checkpoint.FILE) is None
    for position in (0, 9, 17, 30):
        files.flip_bit(f"{STAGE_DIRECTORY}/{checkpoint.FILE}", position)
        assert small_file_problem(files, STAGE_DIRECTORY, checkpoint.FILE) == "the stage's checkpoint is damaged"
        files.flip_bit(f"{STAGE_DIRECTORY}/{checkpoint.FILE}", position)


@pytest.mark.parametrize("name", [*NAMES, checkpoint.FILE])
def test_one_that_has_gone_is_no_problem(name: str) -> None:
    files = memory_files()
    files.make_directories(DIRECTORY)
    assert small_file_problem(files, DIRECTORY, name) is None
