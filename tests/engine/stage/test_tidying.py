"""Which segments of a stage are emptied, and that a round comes to an end whatever happens meanwhile."""

import pytest

from engine.clock import ManualClock
from engine.stage import tidying as module
from engine.stage.tidying import Tidying, bound_bytes, pending_bytes
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import Leader, Node, client_batch, record

FLOOR_BYTES = 1_000


@pytest.fixture
def leader() -> Leader:
    return Leader(Node(ManualClock(NOW_MS)))


def come_and_go(leader: Leader, count: int) -> None:
    for number in range(count):
        leader.append(client_batch([record(f"{number}" * 50, delay=1)]))
        leader.node.clock.advance_ms(1)
        leader.run_due()
        leader.make_durable()
        leader.settle()


def run(tidying: Tidying) -> int:
    moved = 0
    while not tidying.done:
        rows = tidying.next_rows()
        tidying.move(rows)
        moved += len(rows)
    return moved


def test_within_its_bound_it_is_left_alone(leader: Leader) -> None:
    leader.append(client_batch([record("x" * 2_000, delay=9_000)]))
    assert leader.store.log.size_bytes <= bound_bytes(leader.stage, FLOOR_BYTES)
    assert Tidying.begin(leader.stage, FLOOR_BYTES) is None


def test_only_as_many_segments_are_emptied_as_it_takes(leader: Leader) -> None:
    come_and_go(leader, 30)
    leader.append(client_batch([record("x" * 1_000, delay=90_000)]))
    come_and_go(leader, 30)
    segments = leader.store.log.segments
    assert len(segments) > 4
    floor_bytes = leader.store.log.size_bytes - 3 * pending_bytes(leader.stage) - 1
    tidying = Tidying.begin(leader.stage, floor_bytes)
    assert tidying is not None
    assert segments[0].base_offset < tidying.kept_segment < segments[-1].base_offset
    assert leader.store.log.segments == segments, "nothing was rolled"


def test_the_active_segment_is_rolled_where_it_has_to_go(leader: Leader) -> None:
    leader.append(client_batch([record("stays", delay=90_000)]))
    come_and_go(leader, 5)
    assert len(leader.store.log.segments) == 1
    tidying = Tidying.begin(leader.stage, 0)
    assert tidying is not None
    assert run(tidying) == 1
    leader.checkpoint()
    assert leader.store.log.size_bytes < 300
    leader.node.clock.advance_ms(90_000)
    leader.run_due()
    assert leader.values()[-1] == "stays"


def test_a_round_ends_though_it_looks_at_few_rows_at_a_time(leader: Leader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 3)
    monkeypatch.setattr(module, "MOVED_TOGETHER", 2)
    for number in range(20):
        leader.append(client_batch([record(f"{number}", delay=90_000 + number)]))
    come_and_go(leader, 80)
    tidying = Tidying.begin(leader.stage, FLOOR_BYTES)
    assert tidying is not None
    assert run(tidying) == 20
    assert run(tidying) == 0


def test_what_was_released_since_it_was_looked_at_is_not_copied(leader: Leader) -> None:
    leader.append(client_batch([record("soon", delay=1_000)]))
    leader.append(client_batch([record("late", delay=90_000)]))
    come_and_go(leader, 10)
    tidying = Tidying.begin(leader.stage, FLOOR_BYTES)
    assert tidying is not None
    rows = tidying.next_rows()
    assert len(rows) == 2
    leader.node.clock.advance_ms(1_000)
    leader.run_due()
    end_offset = leader.store.log.end_offset
    tidying.move(rows)
    assert leader.store.log.end_offset == end_offset + 1
    assert leader.state.table.row_count == 1
