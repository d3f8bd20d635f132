"""The checkpoint of a stage: what is read is what was written, and nothing that is damaged."""

import pytest
from attrs import asdict

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.files.files import read_whole
from engine.records.layout import parse_header
from engine.stage import checkpoint
from engine.stage.config import ExtensionConfig
from engine.stage.events import DeadLetterProducer
from engine.stage.lanes import LaneRules
from engine.stage.state import StageState
from tests.engine.logs import NOW_MS, memory_files
from tests.engine.stage.world import STAGE_DIRECTORY, Leader, Node, client_batch, dump, record

PATH = f"{STAGE_DIRECTORY}/{checkpoint.FILE}"


@pytest.fixture
def leader() -> Leader:
    """A stage with some of everything in it."""
    leader = Leader(Node(ManualClock(NOW_MS, boot="b00t")), ExtensionConfig(expiry_policy="dlq"))
    leader.append(client_batch([record("a", delay=10, schedule_id="x"), record("b", deliver_at=NOW_MS + 5)]))
    held = client_batch([record("", cancel="x")], producer_id=1, epoch=0, sequence=0, transactional=True)
    leader.append(held)
    leader.append(client_batch([record("c", delay=10, expires_at=NOW_MS + 1)]))
    leader.node.clock.wall_ms += 100_000
    leader.stage.note(DeadLetterProducer(9))
    leader.run_due()
    leader.append(client_batch([record("d", priority=0, ttl=9, schedule_id="y"), record("e", priority=3)]))
    leader.append(client_batch([record("f"), record("g"), record("h")]))
    leader.linearise(leader.log_end, limit_records=2)
    return leader


def test_what_is_read_is_what_was_written(leader: Leader) -> None:
    state = leader.state
    assert all((state.intents, state.transactions, state.held_by, state.dead_letters, len(state.lanes)))
    checkpoint.write(leader.node.files, STAGE_DIRECTORY, 42, checkpoint.encode(state))
    found = checkpoint.read(leader.node.files, STAGE_DIRECTORY, LaneRules())
    assert found is not None
    offset, read = found
    assert offset == 42
    assert dump(read) == dump(state)
    assert sorted(read.steady.entries()) == sorted(state.steady.entries())
    assert sorted(read.wall.entries()) == sorted(state.wall.entries())
    assert b"".join(read.fates.encode()) == b"".join(state.fates.encode())
    assert read.intended == state.intended
    assert read.dead_letter_producer == 9
    assert read.anchor == state.anchor == ("b00t", NOW_MS * 1000)


def test_every_field_of_the_state_is_in_it(leader: Leader) -> None:
    """Whoever adds one decides whether a restart may forget it."""
    forgotten = {"counters", "readied", "observer", "replayed_from"}
    kept = {
        "steady", "wall", "lanes", "table", "fates", "intents", "intended", "transactions", "held_by", "dead_letters",
        "dead_letter_producer", "dead_letters_sent", "prioritised", "ahead_ms", "codec", "anchor",
    }  # fmt: skip
    assert set(asdict(leader.state, recurse=False)) == forgotten | kept


def test_there_is_none_at_first(leader: Leader) -> None:
    assert checkpoint.read(leader.node.files, STAGE_DIRECTORY, LaneRules()) is None


def test_a_damaged_one_is_refused_wherever_the_damage_is(leader: Leader) -> None:
    files = leader.node.files
    checkpoint.write(files, STAGE_DIRECTORY, 42, checkpoint.encode(leader.state))
    size = files.list(STAGE_DIRECTORY)[checkpoint.FILE]
    for position in [*range(20), *range(20, size, 37)]:
        files.flip_bit(PATH, position)
        with pytest.raises(StorageError, match="damaged"):
            checkpoint.read(files, STAGE_DIRECTORY, LaneRules())
        files.flip_bit(PATH, position)
    assert checkpoint.read(files, STAGE_DIRECTORY, LaneRules()) is not None


def test_a_short_one_is_refused(leader: Leader) -> None:
    files = leader.node.files
    checkpoint.write(files, STAGE_DIRECTORY, 42, checkpoint.encode(leader.state))
    files.open(PATH).truncate(10)
    with pytest.raises(StorageError, match="damaged"):
        checkpoint.read(files, STAGE_DIRECTORY, LaneRules())


def test_one_with_something_behind_it_is_refused(leader: Leader) -> None:
    pieces = [*checkpoint.encode(leader.state), b"more"]
    checkpoint.write(leader.node.files, STAGE_DIRECTORY, 42, pieces)
    with pytest.raises(StorageError, match="4 bytes follow"):
        checkpoint.read(leader.node.files, STAGE_DIRECTORY, LaneRules())


def test_it_shows_the_state_of_the_moment_when_it_was_taken(leader: Leader) -> None:
    before = dump(leader.state)
    pieces = checkpoint.encode(leader.state)
    data = client_batch([record("later", priority=0)])
    leader.stage.hold(parse_header(data), data[61:], None, leader.log_end)
    checkpoint.write(leader.node.files, STAGE_DIRECTORY, 42, pieces)
    found = checkpoint.read(leader.node.files, STAGE_DIRECTORY, LaneRules())
    assert found is not None
    assert dump(found[1]) == before


def test_another_nodes_checkpoint_is_taken_over_unless_it_was_damaged_on_its_way() -> None:
    source, target = memory_files(), memory_files()
    for files in (source, target):
        files.make_directories("/data/stage")
    state = StageState.empty(0, 0, ExtensionConfig().lane_rules)
    checkpoint.write(source, "/data/stage", 40, checkpoint.encode(state))
    data = read_whole(source, f"/data/stage/{checkpoint.FILE}")
    assert data is not None
    for damaged in (data[:-1], b"no checkpoint", data[:-1] + bytes([data[-1] ^ 1])):
        with pytest.raises(StorageError):
            checkpoint.install(target, "/data/stage", damaged)
    assert checkpoint.offset_on_disk(target, "/data/stage") is None
    checkpoint.install(target, "/data/stage", data)
    assert checkpoint.offset_on_disk(target, "/data/stage") == 40


def test_a_checkpoint_goes_only_if_it_reaches_further_than_the_log_is_cut() -> None:
    files = memory_files()
    files.make_directories("/data/stage")
    checkpoint.write(files, "/data/stage", 40, checkpoint.encode(StageState.empty(0, 0, ExtensionConfig().lane_rules)))
    checkpoint.remove_beyond(files, "/data/stage", 40)
    assert checkpoint.offset_on_disk(files, "/data/stage") == 40
    checkpoint.remove_beyond(files, "/data/stage", 39)
    assert checkpoint.offset_on_disk(files, "/data/stage") is None
