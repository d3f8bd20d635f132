"""A follower makes its logs like its leader's: it copies them, cuts what its leader has not got, begins where its
leader does, and takes over checkpoints of stages."""

import errno
import os

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock, trio_test

from coordinators.replication.followers import CHECKPOINT_S
from engine.files.files import Files
from engine.log.recovery import write_start_offset
from engine.log.types import Origin
from engine.stage import checkpoint
from engine.workers import InlineWorkers
from tests.coordinators.replication.world import STAGE, ReplicaNode, ReplicationWorld, replication, values
from tests.engine.logs import batch, stored


@trio_test
async def test_a_follower_copies_the_log_and_acks_of_all_wait_for_it(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        follower.sync_workers.hold = True
        waits = leader.append()
        await world.until(lambda: follower.end == 1)
        assert (waits, leader.high_watermark) == ([], 0), "the follower has it in memory only"
        follower.sync()
        await world.until(lambda: waits == [None])
        await world.until_alike(leader, follower)
        await world.until(lambda: follower.high_watermark == 1)


@trio_test
async def test_a_follower_copies_a_stage_that_is_made_later(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        waits = leader.hold("a", "b")
        await world.until(lambda: waits == [None])
        await world.until_alike(leader, follower, stage=True)


@trio_test
async def test_a_node_that_is_about_to_lead_takes_no_more_from_the_last_leader(jumping: MockClock) -> None:
    """What it has loaded and noted of its logs would not be all that is there."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        before, after = world.nodes[1], world.nodes[2]
        before.append()
        before.hold("a")
        await world.until_alike(before, after)
        await world.until_alike(before, after, stage=True)
        prepares, goes_on = trio.Event(), trio.Event()

        async def take_long(_topic: object, _partition: object) -> None:
            prepares.set()
            await goes_on.wait()

        after.replicas.before_leading.append(take_long)
        log_end, stage_end = after.end, after.stage_log.end_offset
        async with before.replicas.steady():
            world.change_row(leader=2, leader_epoch=world.row.leader_epoch + 1)
            await prepares.wait()
            before.append()
            before.hold("b")
            await trio.sleep(5)
            goes_on.set()
            await world.until(lambda: after.partition.replicas.leads)
            assert (after.end, after.stage_log.end_offset) == (log_end, stage_end)
        await world.until_alike(after, before)
        await world.until_alike(after, before, stage=True)


@trio_test
async def test_who_comes_back_does_not_join_to_be_taken_out_at_once(jumping: MockClock) -> None:
    """It has all that can be read, but not yet what the leader had when it was last heard of."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await world.until(lambda: follower.fetches)
        await trio.sleep(1)
        follower.kill()
        await world.until(lambda: world.row.isr == (1,))
        await trio.sleep(10)
        leader.sync_workers.hold = True
        leader.append()
        await follower.start()
        follower.sync_workers.hold = True
        await world.until(lambda: follower.end == 1)
        await trio.sleep(2)
        follower.sync()
        leader.sync()
        await world.until(lambda: world.row.isr == (1, 2))
        await trio.sleep(10)
        assert (leader.replication.in_sync.expansions, leader.replication.in_sync.shrinks) == (1, 1)


@trio_test
async def test_the_old_leader_gives_up_what_only_it_has(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        acknowledged = old.produce(0)
        await world.until(lambda: acknowledged == [None])
        world.cuts.append({1, 2})
        await trio.sleep(1)
        old.produce(1)
        old.produce(2)
        await trio.sleep(0.1)
        await world.elect(2)
        waits = new.produce(1)
        await trio.sleep(0.5)
        world.cuts.clear()
        await world.until(lambda: waits == [None])
        await world.until_alike(old, new)
        assert old.end == 2
        assert old.replication.following.truncations == 1
        assert [info.last_sequence for info in old.log.producers()] == [1], "what was cut is undone in everything"


@trio_test
async def test_a_leader_that_crashes_comes_back_as_a_follower_and_is_cut(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        waits = old.append()
        await world.until(lambda: waits == [None])
        world.cuts.append({1, 2})
        await trio.sleep(1)
        old.append(batch(5))
        await trio.sleep(0.1)
        old.crash()
        await world.elect(2, isr=(2,))
        assert new.append() == [] or new.high_watermark == 2
        world.cuts.clear()
        await world.start(1)
        await world.until(lambda: world.row.isr == (1, 2))
        await world.until_alike(old, new)


@trio_test
async def test_epochs_in_which_nothing_was_written_do_no_harm(jumping: MockClock) -> None:
    async with replication(1, 2, 3) as world:
        for leader in (2, 3, 1, 3, 2):
            await world.elect(leader)
        waits = world.nodes[2].append()
        await world.until(lambda: waits == [None])
        for leader in (1, 3):
            await world.elect(leader)
        waits = world.nodes[3].append()
        await world.until(lambda: waits == [None])
        await world.until_alike(*world.nodes.values())
        assert sum(node.replication.following.truncations for node in world.nodes.values()) == 0


@trio_test
async def test_a_follower_behind_the_beginning_of_the_log_begins_there(jumping: MockClock) -> None:
    async with replication(1, 2, isr=(1,), replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        world.cuts.append({1, 2})
        world.change_row(isr=(1,))
        await world.until(lambda: leader.partition.replicas.row.isr == (1,))
        for _ in range(5):
            leader.append()
        await trio.sleep(0.1)
        leader.log.roll()
        leader.append()
        await trio.sleep(0.1)
        leader.log.delete_records(5)
        world.cuts.clear()
        await world.until(lambda: world.row.isr == (1, 2))
        assert (follower.log.start_offset, follower.end) == (5, 6)


@trio_test
async def test_batches_with_gaps_between_them_are_copied_as_they_are(jumping: MockClock) -> None:
    """The leader has compacted its log."""
    async with replication(1, 2, isr=(1,), replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        leader.append()
        await trio.sleep(0.1)
        source = values(leader.log)[0]
        leader.log.append(stored(source, 7, leader.partition.leader_epoch), 0, origin=Origin.REPLICA)
        leader.append()
        await world.until(lambda: world.row.isr == (1, 2))
        await world.until_alike(leader, follower)
        assert follower.end == 9
        follower.crash()
        await world.start(2)
        await world.until(lambda: follower.end == 9)


# -- stages


async def staged(world: ReplicationWorld, leader: ReplicaNode, *batches: str) -> None:
    for value in batches:
        waits = leader.hold(value)
        await world.until(lambda waits=waits: waits == [None])


async def drop_front(leader: ReplicaNode) -> None:
    """The stage begins later, with a checkpoint of what went."""
    staging = leader.partition.staging
    assert staging is not None
    log = staging.store.log
    checkpoint.write(leader.files, log.directory, log.end_offset, checkpoint.encode(staging.stage.state))
    log.roll()
    await trio.sleep(0.1)
    leader.rounds.mark(staging.store)
    await trio.sleep(0.1)
    log.delete_records(log.end_offset)


@trio_test
async def test_a_follower_that_lacks_the_beginning_of_a_stage_takes_over_its_checkpoint(jumping: MockClock) -> None:
    async with replication(1, 2, isr=(1,), replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        world.cuts.append({1, 2})
        world.change_row(isr=(1,))
        await world.until(lambda: leader.partition.replicas.row.isr == (1,))
        await staged(world, leader, "a", "b")
        await drop_front(leader)
        await staged(world, leader, "c")
        world.cuts.clear()
        await world.until(lambda: world.row.isr == (1, 2))
        await world.until_alike(leader, follower, stage=True)
        assert follower.stage_log.start_offset == leader.stage_log.start_offset > 0
        await world.elect(2)
        staging = follower.partition.staging
        assert staging is not None
        assert staging.stage.state.table.row_count == 3


@trio_test
async def test_no_file_is_opened_on_the_loop_for_a_follower_that_lacks_a_beginning(
    jumping: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    real = checkpoint.offset_on_disk

    def counted(files: Files, directory: str) -> int | None:
        opened.append(files)
        return real(files, directory)

    monkeypatch.setattr(checkpoint, "offset_on_disk", counted)
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await staged(world, leader, "a", "b")
        world.cuts.append({1, 2})
        world.change_row(isr=(1,))
        await world.until(lambda: leader.partition.replicas.row.isr == (1,))
        await drop_front(leader)
        await staged(world, leader, "c")
        threads = leader.replication.followers.snapshots.workers = InlineWorkers(hold=True)
        opened.clear()
        follower.kill()
        follower.files.remove_tree(follower.stage_log.directory)
        world.cuts.clear()
        await world.start(2)
        await trio.sleep(1)
        assert leader.files not in opened, "a thread has not come to it yet"
        threads.hold = False
        threads.run_held()
        await world.until_alike(leader, follower, stage=True)
        assert leader.files in opened


@trio_test
async def test_a_follower_forgets_the_beginning_of_a_stage_with_its_leader(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await staged(world, leader, "a", "b")
        await drop_front(leader)
        await staged(world, leader, "c")
        await world.until(lambda: follower.stage_log.start_offset == leader.stage_log.start_offset > 0)
        await world.until_alike(leader, follower, stage=True)
        await world.elect(2)


@trio_test
async def test_a_follower_takes_over_checkpoints_so_that_it_need_not_replay_a_whole_stage(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await staged(world, leader, "a", "b")
        staging = leader.partition.staging
        assert staging is not None
        log = staging.store.log
        checkpoint.write(leader.files, log.directory, log.end_offset, checkpoint.encode(staging.stage.state))
        await trio.sleep(2 * CHECKPOINT_S)
        assert checkpoint.offset_on_disk(follower.files, follower.stage_log.directory) == log.end_offset
        await staged(world, leader, "c")
        await world.until_alike(leader, follower, stage=True)
        await world.elect(2)
        taken = follower.partition.staging
        assert taken is not None
        assert (taken.stage.state.table.row_count, taken.stage.state.replayed_from) == (3, 2)


@trio_test
async def test_a_stage_that_was_emptied_and_has_no_checkpoint_is_made_whole_by_any_leader(jumping: MockClock) -> None:
    """The node stopped in between; the leader of now still has the whole stage."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await staged(world, leader, "a", "b", "c")
        follower.crash()
        await follower.start()
        follower.stage_log.truncate_fully_and_start_at(2)
        assert follower.stage_log.start_offset == 2
        follower.crash()
        await world.start(2)
        await world.until_alike(leader, follower, stage=True)
        assert follower.stage_log.start_offset == 0


@trio_test
async def test_a_stage_that_its_new_leader_never_had_is_given_up(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        world.cuts.append({1, 2})
        await trio.sleep(1)
        old.hold("a")
        await trio.sleep(0.1)
        await world.elect(2)
        world.cuts.clear()
        await world.until(lambda: old.stage_log.end_offset == 0)
        await staged(world, new, "b")
        await world.until_alike(old, new, stage=True)


@trio_test
async def test_segments_of_a_stage_stay_the_same_when_it_is_cut_where_one_began(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        await staged(world, old, "a", "b")
        world.cuts.append({1, 2})
        await trio.sleep(1)
        old.stage_log.roll()
        old.hold("lost")
        await trio.sleep(0.1)
        await world.elect(2)
        new.hold("c")
        world.cuts.clear()
        await world.until_alike(old, new, stage=True)


@trio_test
async def test_a_segment_that_the_old_leader_began_in_vain_does_not_keep_it_from_following(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        await staged(world, old, "a")
        old.stage_log.roll()
        assert old.partition.stage_log is not None
        old.rounds.mark(old.partition.stage_log)
        await trio.sleep(0.1)
        await world.elect(2)
        await staged(world, new, "b")
        await world.until_alike(old, new, stage=True)


@trio_test
async def test_a_checkpoint_of_what_was_cut_goes_with_it(jumping: MockClock) -> None:
    """Its leader was elected though it was not in sync."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        await staged(world, old, "a")
        world.cuts.append({1, 2})
        await trio.sleep(1)
        old.hold("lost")
        await trio.sleep(0.1)
        staging = old.partition.staging
        assert staging is not None
        log = staging.store.log
        checkpoint.write(old.files, log.directory, log.end_offset, checkpoint.encode(staging.stage.state))
        await world.elect(2)
        new.hold("other")
        new.hold("more")
        world.cuts.clear()
        await world.until_alike(old, new, stage=True)
        assert checkpoint.offset_on_disk(old.files, log.directory) is None
        await world.elect(1)
        assert old.partition.staging is not None
        assert old.partition.staging.stage.state.table.row_count == 3


@trio_test
async def test_what_a_stage_has_lost_is_not_taken_for_a_duplicate(jumping: MockClock) -> None:
    """The producer repeats what it was never answered, to the node that once had it."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        sender = {"producer_id": 7, "epoch": 0}
        waits = old.hold("a", **sender, sequence=0)
        await world.until(lambda: waits == [None])
        world.cuts.append({1, 2})
        await trio.sleep(1)
        old.hold("b", **sender, sequence=1)
        await trio.sleep(0.1)
        await world.elect(2)
        world.cuts.clear()
        await world.until_alike(old, new, stage=True)
        await world.elect(1)
        waits = old.hold("b", **sender, sequence=1)
        await world.until(lambda: waits == [None])
        assert old.partition.staging is not None
        assert old.partition.staging.stage.state.table.row_count == 2


# -- when something fails


@trio_test
async def test_a_damaged_stage_is_copied_anew_and_the_node_starts(jumping: MockClock) -> None:
    async with replication(1, 2, 3, replicas=(1, 2, 3)) as world:
        leader, damaged = world.nodes[1], world.nodes[2]
        for value in ("a", "b"):
            await staged(world, leader, value)
        await world.until_alike(leader, damaged, stage=True)
        directory = damaged.stage_log.directory
        damaged.kill()
        (name,) = [name for name in damaged.files.list(directory) if name.endswith(".log")]
        damaged.files.unlink(f"{directory}/{name}")
        write_start_offset(damaged.files, directory, 1)
        await world.start(2)
        await world.until_alike(leader, damaged, stage=True)
        await world.until(lambda: 2 in world.row.isr)
        kept = damaged.files.list_directories(os.path.dirname(directory))
        assert any(each.startswith("stage.aside-") for each in kept), "somebody may want to look at it"


@trio_test
async def test_a_stage_that_cannot_be_loaded_is_copied_anew_once_it_counts_for_nothing(jumping: MockClock) -> None:
    """What is damaged in its midst is found only when its node is to lead."""
    async with replication(1, 2, 3, replicas=(1, 2, 3)) as world:
        leader, damaged = world.nodes[1], world.nodes[2]
        for value in ("a", "b", "c"):
            await staged(world, leader, value)
        await world.until_alike(leader, damaged, stage=True)
        damaged.files.flip_bit(damaged.stage_log.segments[0].path, 80)
        row = world.change_row(leader=2, leader_epoch=world.row.leader_epoch + 1)
        await world.until(lambda: bool(damaged.replicas.unable))
        assert damaged.partition.stage_is_damaged
        assert not damaged.partition.replicas.leads
        world.put_row(evolve(row, leader=3, leader_epoch=row.leader_epoch + 1, partition_epoch=row.partition_epoch + 1))
        await world.until(lambda: not damaged.replicas.unable)
        await trio.sleep(1)
        assert damaged.partition.stage_is_damaged, "it is in sync: without it others could miss it"
        await world.elect(1, isr=(1, 3))
        await world.until(lambda: not damaged.partition.stage_is_damaged)
        await world.until_alike(leader, damaged, stage=True)
        await world.until(lambda: 2 in world.row.isr)
        await world.elect(2)


@trio_test
async def test_files_are_not_removed_while_something_is_done_to_them(jumping: MockClock) -> None:
    async with replication(1, 2, 3, replicas=(1, 2, 3)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        waits = leader.append()
        await world.until(lambda: waits == [None])
        following, log = follower.replication.following, follower.partition
        event = following._changing[log] = trio.Event()
        directory = follower.log.directory
        world.change_row(replicas=(1, 3), isr=(1, 3))
        await trio.sleep(5)
        assert follower.files.list(directory), "a truncation is under way"
        del following._changing[log]
        event.set()
        await world.until(lambda: not follower.files.list(directory))


@trio_test
async def test_a_follower_whose_disk_failed_follows_on(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        waits = leader.append()
        await world.until(lambda: waits == [None])
        follower.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
        waits = leader.append()
        await world.until(lambda: follower.partition.offline is not None)
        await world.until(lambda: waits == [None])
        await world.until_alike(leader, follower)


@trio_test
async def test_a_cut_that_failed_half_way_is_made_up_for(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        waits = old.append()
        await world.until(lambda: waits == [None])
        world.cuts.append({1, 2})
        await trio.sleep(1)
        old.append(batch(3))
        old.log.roll()
        old.append(batch(3))
        await trio.sleep(0.1)
        await world.elect(2)
        old.files.fail_at(1, errno.EIO, times=2, only=frozenset({"truncate"}))
        new.append()
        world.cuts.clear()
        await world.until(lambda: old.partition.offline is not None and old.log.offline is not None)
        await world.until(lambda: old.partition.offline is None and old.end == new.end)
        await world.until_alike(old, new)


@trio_test
async def test_nothing_is_copied_any_more_once_this_node_prepares_to_lead(jumping: MockClock) -> None:
    """The old leader has not heard of it yet."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        old, new = world.nodes[1], world.nodes[2]
        waits = old.append()
        await world.until(lambda: waits == [None])
        gate, ends = trio.Event(), []

        async def take_long(_topic: object, _partition: object) -> None:
            ends.append(new.end)
            old.append()
            await gate.wait()
            ends.append(new.end)

        new.replicas.before_leading.append(take_long)
        async with old.replicas.steady():
            world.change_row(leader=2, leader_epoch=world.row.leader_epoch + 1)
            await trio.sleep(1)
            gate.set()
            await world.until(lambda: new.partition.replicas.leads)
        assert ends == [1, 1]
        assert new.log.end_offset_for_epoch(1) == (1, 1)
        await world.until_alike(old, new)


@trio_test
async def test_a_bug_in_one_log_is_not_the_others_trouble(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await staged(world, leader, "a")
        (followed,) = [
            fetcher._logs[STAGE] for fetcher in follower.replication.fetching._fetchers.values() if fetcher._logs
        ]
        following = follower.replication.following
        told: list[object] = []

        async def bug() -> None:
            await trio.lowlevel.checkpoint()
            raise AssertionError("nobody has thought of this")

        following._in_background(followed, told.append, bug)
        await world.until(lambda: told == [followed])
        assert not followed.is_busy
        waits = leader.produce(0)
        await world.until(lambda: waits == [None])
