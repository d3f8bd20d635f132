"""StreamsGroupHeartbeat: joining, getting tasks, giving them back, what is told besides, leaving."""

from typing import Any

import pytest
from attrs import evolve

from coordinators.group.config import GroupSettings
from coordinators.group.consumer.requests import HeartbeatRequest
from coordinators.group.requests import OffsetToCommit
from coordinators.group.streams.record_formats import UserEndpoint
from coordinators.group.streams.requests import EndpointPartitions, StreamsStatusCode
from coordinators.group.streams.tasks import Tasks
from coordinators.group.streams.topology import Subtopology, Topology
from engine.errors import (
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidRequest,
    StreamsInvalidTopology,
    UnknownMemberId,
)
from tests.coordinators.group.shard import PENDING
from tests.coordinators.group.streams_shard import (
    COPYING,
    COUNTING,
    StreamsShard,
    StreamThread,
    settle,
)

ALL = Tasks({"0": frozenset({0, 1, 2, 3})})


@pytest.fixture
def shard() -> StreamsShard:
    shard = StreamsShard()
    shard.topic("in", 4)
    return shard


def test_the_first_member_gets_every_task(shard: StreamsShard) -> None:
    answer = shard.joined("a")
    assert (answer.epoch, answer.tasks, answer.status) == (2, ALL, ())
    assert shard.group.state.value == "Stable"


def test_a_second_one_waits_for_what_the_first_gives_back(shard: StreamsShard) -> None:
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    first.join()
    answer = second.join()
    assert (answer.epoch, answer.tasks, answer.heartbeat_interval_ms) == (3, Tasks(), 200)
    assert first.beat().tasks == Tasks({"0": frozenset({0, 1})})
    assert second.beat().tasks is None, "the first has not said yet that it gave back"
    first.beat()
    assert second.beat().tasks == Tasks({"0": frozenset({2, 3})})
    assert shard.group.state.value == "Stable"


def test_internal_topics_are_asked_for_and_awaited(shard: StreamsShard) -> None:
    thread = StreamThread(shard, "a", {"topology": COUNTING}, makes_topics=False)
    answer = thread.join()
    assert [spec.name for spec in answer.missing] == ["counts", "words"]
    assert (thread.status, thread.tasks) == (("MISSING_INTERNAL_TOPICS",), Tasks())
    assert shard.group.state.value == "NotReady"
    shard.make(answer.missing)
    thread.beat()
    assert not thread.status
    assert thread.tasks.active.keys() == {"0", "1"}


def test_a_source_topic_that_goes_takes_the_tasks_with_it(shard: StreamsShard) -> None:
    thread = StreamThread(shard, "a")
    thread.join()
    shard.delete_topic("in")
    settle(thread)
    assert (thread.status, thread.tasks) == (("MISSING_SOURCE_TOPICS",), Tasks())
    shard.topic("in", 6)
    settle(thread)
    assert thread.tasks == Tasks({"0": frozenset(range(6))})


def test_a_new_group_waits_for_more_members() -> None:
    shard = StreamsShard()
    shard.configure(initial_rebalance_delay_ms=3_000)
    shard.topic("in", 2)
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    first.join()
    second.join()
    assert (first.epoch, first.status) == (1, ("ASSIGNMENT_DELAYED",)), "one that is told 0 would have to join again"
    shard.advance(3_001)
    settle(first, second)
    assert (first.tasks, second.tasks) == (Tasks({"0": frozenset({0})}), Tasks({"0": frozenset({1})}))


def test_assignments_keep_their_distance() -> None:
    shard = StreamsShard()
    shard.configure(assignment_interval_ms=1_000)
    shard.topic("in", 2)
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    first.join()
    second.join()
    assert second.status == ("ASSIGNMENT_DELAYED",)
    shard.advance(1_000)
    settle(first, second)
    assert len(second.tasks.active["0"]) == 1


def test_standbys_are_kept_on_other_processes() -> None:
    shard = StreamsShard()
    shard.configure(num_standby_replicas=1)
    shard.topic("in", 2)
    threads = [StreamThread(shard, name, {"topology": COUNTING}) for name in "ab"]
    settle(*threads)
    for thread in threads:
        assert len(thread.tasks.active["1"]) == len(thread.tasks.standby["1"]) == 1
        assert thread.tasks.active["1"].isdisjoint(thread.tasks.standby["1"])
    threads[0].leave()
    settle(threads[1])
    assert threads[1].tasks.active["1"] == {0, 1}
    assert not threads[1].tasks.standby


def test_a_changed_config_assigns_anew(shard: StreamsShard) -> None:
    threads = [StreamThread(shard, name, {"topology": COUNTING}) for name in "ab"]
    settle(*threads)
    assert not threads[0].tasks.standby
    shard.configure(num_standby_replicas=1)
    settle(*threads)
    assert threads[0].tasks.standby


def test_topologies_are_compared(shard: StreamsShard) -> None:
    newer = evolve(COPYING, epoch=2)
    shard.joined("a", topology=newer)
    late = shard.joined("b", topology=COPYING)
    assert [each.code for each in late.status] == [StreamsStatusCode.STALE_TOPOLOGY]
    other = Topology(2, (Subtopology("0", ("in", "more")),))
    assert isinstance(shard.joined("c", topology=other), InvalidRequest)
    assert isinstance(shard.joined("c", topology=evolve(COPYING, epoch=3)), InvalidRequest)
    assert not isinstance(shard.joined("c", topology=newer), InvalidRequest)


def test_the_order_of_subtopologies_does_not_matter(shard: StreamsShard) -> None:
    shard.joined("a", topology=COUNTING)
    turned = Topology(COUNTING.epoch, COUNTING.subtopologies[::-1])
    assert not isinstance(shard.joined("b", topology=turned), InvalidRequest)


def test_who_asks_for_a_shutdown_is_told_to_all(shard: StreamsShard) -> None:
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    settle(first, second)
    first.beat(shuts_down=True)
    second.beat()
    assert second.status == ("SHUTDOWN_APPLICATION",)
    first.leave()
    second.leave()
    second.join()
    assert not second.status, "an application that starts anew is not told"


def test_a_member_that_is_silent_is_taken_out(shard: StreamsShard) -> None:
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    settle(first, second)
    for _ in range(5):
        shard.advance(10_000)
        first.beat()
    assert list(shard.group.members) == ["a"]
    settle(first)
    assert first.tasks == ALL


def test_a_member_that_does_not_give_back_is_taken_out(shard: StreamsShard) -> None:
    first, second = StreamThread(shard, "a", {"rebalance_timeout_ms": 5_000}), StreamThread(shard, "b")
    first.join()
    second.join()
    first.beat()
    for _ in range(6):
        shard.advance(1_000)
        shard.beat("a", first.epoch)
        second.beat()
    assert second.tasks == ALL
    assert isinstance(shard.beat("a", first.epoch), UnknownMemberId)


def test_epochs_fence(shard: StreamsShard) -> None:
    assert isinstance(shard.beat("a", 1), GroupIdNotFound)
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    settle(first, second)
    epoch = first.epoch
    assert isinstance(shard.beat("a", epoch + 1), FencedMemberEpoch)
    assert isinstance(shard.beat("a", epoch - 1), FencedMemberEpoch)
    assert not isinstance(shard.beat("a", epoch - 1, owned=first.tasks), FencedMemberEpoch), "its answer was lost"
    assert isinstance(shard.beat("nobody", epoch), UnknownMemberId)
    assert isinstance(shard.beat("nobody", -1), UnknownMemberId)


def test_tasks_that_there_are_not_are_refused(shard: StreamsShard) -> None:
    epoch = shard.joined("a").epoch
    assert isinstance(shard.beat("a", epoch, owned=Tasks({"9": frozenset({0})})), InvalidRequest)
    assert isinstance(shard.beat("a", epoch, owned=Tasks({"0": frozenset({4})})), InvalidRequest)


@pytest.mark.parametrize(
    "changes",
    [
        {"instance_id": "i"},
        {"topology": None},
        {"rebalance_timeout_ms": -1},
        {"owned": ALL},
        {"rack_id": " "},
        {"topology": Topology(0, (Subtopology("0", source_regexes=("x.*",)),))},
    ],
)
def test_joins_that_make_no_sense_are_refused(shard: StreamsShard, changes: dict[str, Any]) -> None:
    assert isinstance(shard.joined("a", **changes), InvalidRequest)
    assert "g" not in shard.machine.streams.groups


def test_other_heartbeats_that_make_no_sense_are_refused(shard: StreamsShard) -> None:
    assert isinstance(shard.joined(""), InvalidRequest)
    assert isinstance(shard.beat("a", -2), InvalidRequest)
    assert isinstance(shard.beat("a", -3), InvalidRequest)
    assert isinstance(shard.beat("a", 1, topology=COPYING), InvalidRequest)
    assert isinstance(shard.joined("a", topology=Topology(0, (Subtopology("0", ("a b",)),))), StreamsInvalidTopology)


def test_a_group_has_room_for_so_many() -> None:
    shard = StreamsShard(settings=GroupSettings(streams_max_size=1))
    shard.topic("in", 1)
    shard.joined("a")
    assert isinstance(shard.joined("b"), GroupMaxSizeReached)
    assert not isinstance(shard.joined("a"), GroupMaxSizeReached)


def test_members_learn_where_others_answer(shard: StreamsShard) -> None:
    here, there = UserEndpoint("here", 1), UserEndpoint("there", 2)
    first, second = StreamThread(shard, "a", {"endpoint": here}), StreamThread(shard, "b", {"endpoint": there})
    answer = first.join()
    assert answer.endpoints == (EndpointPartitions(here, (("in", (0, 1, 2, 3)),), ()),)
    settle(first, second)
    told = shard.beat("a", first.epoch, endpoint_epoch=0)
    assert {each.endpoint: each.active for each in told.endpoints} == {
        here: (("in", (0, 1)),),
        there: (("in", (2, 3)),),
    }
    assert shard.beat("a", first.epoch, endpoint_epoch=told.endpoint_epoch).endpoints is None


def test_a_group_is_of_one_kind(shard: StreamsShard) -> None:
    shard.joined("a")
    assert isinstance(shard.join().message, InconsistentGroupProtocol)
    consumer = HeartbeatRequest("g", "c", 0, rebalance_timeout_ms=1_000, topics=("in",), owned={})
    assert isinstance(shard.ask(lambda machine: machine.consumer_heartbeat(consumer)).message, GroupIdNotFound)
    other = StreamsShard()
    other.settled_member()
    assert isinstance(other.joined("a"), GroupIdNotFound)
    other = StreamsShard()
    other.ask(lambda machine: machine.consumer_heartbeat(consumer))
    assert isinstance(other.joined("a"), GroupIdNotFound)


def test_an_empty_group_passes_from_one_kind_to_the_other_with_its_offsets(shard: StreamsShard) -> None:
    member = shard.settled_member()
    shard.commit(OffsetToCommit("in", 0, 5), member_id=member, generation=1)
    shard.leave(member)
    answer = shard.joined("a")
    assert (answer.epoch, shard.fetch("in").offset) == (2, 5)
    assert "g" not in shard.machine.groups
    shard.beat("a", -1)
    assert shard.join().message != PENDING
    assert ("g" in shard.machine.groups, "g" in shard.machine.streams.groups) == (True, False)
    assert shard.fetch("in").offset == 5
    assert shard.replayed().hard_state() == shard.machine.hard_state()


def test_after_a_crash_members_go_on(shard: StreamsShard) -> None:
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    settle(first, second)
    before = (first.epoch, first.tasks)
    shard.crash()
    settle(first, second)
    assert (first.epoch, first.tasks) == before


def test_a_group_that_is_empty_is_deleted(shard: StreamsShard) -> None:
    shard.joined("a")
    delete = shard.ask(lambda machine: machine.commits.delete_group("g")).message
    assert type(delete).__name__ == "NonEmptyGroup"
    shard.beat("a", -1)
    assert shard.ask(lambda machine: machine.commits.delete_group("g")).message is None
    assert not shard.machine.streams.groups
