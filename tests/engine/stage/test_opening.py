"""Opening a stage: from its checkpoint or from the start it comes to the same, and refuses what it cannot vouch for."""

from contextlib import suppress

import pytest

from engine.clock import ManualClock
from engine.damage import DamagedFile
from engine.errors import StorageError
from engine.stage import checkpoint
from engine.stage.opening import load_state, stage_log_config
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import STAGE_DIRECTORY, Leader, Node, client_batch, dump, record, reopened

PATH = f"{STAGE_DIRECTORY}/{checkpoint.FILE}"


def lead() -> Leader:
    leader = Leader(Node(ManualClock(NOW_MS)))
    leader.append(client_batch([record("a", delay=10, schedule_id="x"), record("b", deliver_at=NOW_MS + 5)]))
    return leader


def go_on(leader: Leader) -> None:
    leader.append(client_batch([record("c", delay=7, schedule_id="x")]))
    leader.append(client_batch([record("d", priority=1), record("e")]))
    leader.linearise(0, limit_records=1)
    leader.make_durable()
    leader.settle()


def drop_first_segment(leader: Leader) -> None:
    """What is pending in it is moved first."""
    leader.store.log.roll()
    leader.move()
    leader.store.log.roll()
    assert leader.checkpoint() == 1
    assert leader.store.log.start_offset > 0


def test_an_empty_stage_holds_nothing() -> None:
    leader = Leader(Node(ManualClock(NOW_MS)))
    assert leader.stage.is_empty()
    assert leader.node.files.list(STAGE_DIRECTORY) == {}


def test_a_replay_from_the_start_comes_to_the_state_before() -> None:
    leader = lead()
    go_on(leader)
    assert dump(reopened(leader).state) == dump(leader.state)


def test_a_replay_from_a_checkpoint_comes_to_the_state_before() -> None:
    leader = lead()
    leader.checkpoint()
    go_on(leader)
    assert dump(reopened(leader).state) == dump(leader.state)


def test_what_a_checkpoint_covers_is_not_read_again() -> None:
    leader = lead()
    go_on(leader)
    leader.checkpoint()
    files = leader.node.files
    node = Node(leader.node.clock, files)
    files.calls = 0
    node.load(leader.config)
    assert files.calls <= 3


def test_a_stage_lives_on_without_its_first_segments() -> None:
    leader = lead()
    drop_first_segment(leader)
    go_on(leader)
    assert dump(reopened(leader).state) == dump(leader.state)


def test_a_damaged_checkpoint_is_done_without_while_the_log_is_whole() -> None:
    leader = lead()
    leader.checkpoint()
    go_on(leader)
    leader.node.files.flip_bit(PATH, 30)
    assert dump(reopened(leader).state) == dump(leader.state)


def test_a_damaged_checkpoint_is_refused_if_the_log_is_not_whole() -> None:
    leader = lead()
    drop_first_segment(leader)
    leader.node.files.flip_bit(PATH, 30)
    with pytest.raises(StorageError, match="damaged"):
        reopened(leader)


def test_a_missing_checkpoint_is_noticed_if_the_log_is_not_whole() -> None:
    leader = lead()
    drop_first_segment(leader)
    leader.node.files.unlink(PATH)
    with pytest.raises(StorageError, match="missing"):
        reopened(leader)


def test_a_checkpoint_beyond_the_end_of_a_whole_log_is_void_for_good() -> None:
    leader = lead()
    end = leader.store.log.end_offset
    go_on(leader)
    leader.checkpoint()
    leader.store.log.truncate_to(end)
    leader = reopened(leader)
    for name in "fghijklm":
        leader.append(client_batch([record(name, delay=900)]))
    assert dump(reopened(leader).state) == dump(leader.state)


def test_a_checkpoint_beyond_the_end_of_a_log_that_is_not_whole_is_refused() -> None:
    leader = lead()
    drop_first_segment(leader)
    go_on(leader)
    checkpoint.write(
        leader.node.files, STAGE_DIRECTORY, leader.store.log.end_offset + 1, checkpoint.encode(leader.state)
    )
    with pytest.raises(StorageError, match="its log ends at"):
        reopened(leader)


def test_emptying_the_log_leaves_its_stage_alone() -> None:
    leader = lead()
    leader.append(client_batch([record("plain")]))
    leader.partition.log.truncate_to(0)
    after = reopened(leader)
    assert after.log_end == 0
    assert dump(after.state) == dump(leader.state)


def test_a_bit_that_turned_over_in_its_log_is_refused_or_does_no_harm() -> None:
    leader = lead()
    go_on(leader)
    log, files = leader.store.log, leader.node.files

    def loaded() -> object:
        with suppress(DamagedFile):
            return dump(load_state(log, files, leader.config.lane_rules, NOW_MS, NOW_MS))
        return None

    expected, harmless = loaded(), 0
    for segment in log.segments:
        for position in range(segment.size):
            files.flip_bit(segment.path, position, position % 8)
            found = loaded()
            assert found in (None, expected)
            harmless += found is not None
            files.flip_bit(segment.path, position, position % 8)
    # Four bytes of each batch are its leader epoch.
    assert harmless < 0.1 * log.size_bytes


def test_nothing_in_a_stage_ages() -> None:
    config = stage_log_config(86_400_000)
    assert not config.cleanup_delete
    assert not config.cleanup_compact
    assert config.producer_id_expiration_ms == 86_400_000
