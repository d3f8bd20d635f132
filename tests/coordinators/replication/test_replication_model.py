"""Three replicas through crashes, cuts, elections and slow disks, by chance: whatever was acknowledged is in the log of
every later leader, at its offset, once, and in order; what was staged is pending there."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from coordinators.cluster.elections import Electorate, settled
from engine.catalogue.catalogue import Commit, Entry
from engine.errors import BrokerError, StorageError
from engine.log.log import Log
from engine.records.batch import whole
from engine.records.layout import split_batches
from tests.coordinators.cluster.sessions import CatalogueDoor
from tests.coordinators.replication.world import ReplicaNode, ReplicationWorld, replication
from tests.engine.logs import idempotent

NODES = (1, 2, 3)
STEPS = 60


def batches(log: Log) -> Iterator[tuple[int, int, bytes]]:
    """Offset, sequence and bytes of each."""
    for segment in log.segments:
        for header, view in split_batches(segment.file().pread(segment.size, 0)):
            yield header.base_offset, header.base_sequence, bytes(view)


@define(eq=False)
class Lossy:
    """A catalogue whose answers are lost now and then."""

    door: CatalogueDoor
    chance: random.Random

    def get(self, key: str) -> Entry | None:
        return self.door.get(key)

    def commit(self, commit: Commit) -> int:
        fate = self.chance.randrange(3)
        if fate == 0:
            raise StorageError("it did not arrive")
        revision = self.door.commit(commit)
        if fate == 1:
            raise StorageError("the answer was lost")
        return revision


@define(eq=False)
class Sender:
    """An idempotent producer that has one batch under way, and repeats it until it is acknowledged."""

    send: Callable[[ReplicaNode, int], tuple[int, list[BrokerError | None]]]
    acknowledged: dict[int, int] = field(factory=dict)
    """Offsets by sequence."""
    sequence: int = 0
    _node: ReplicaNode | None = None
    _life: int = 0
    _offset: int = -1
    _outcome: list[BrokerError | None] = field(factory=list)

    def go_on(self, leader: ReplicaNode | None) -> None:
        if self._outcome == [None]:
            self.acknowledged[self.sequence] = self._offset
            self.sequence += 1
            self._node, self._outcome = None, []
        elif self._outcome or (self._node is not None and (not self._node.is_up or self._node.lives != self._life)):
            self._node = None
        if self._node is None and leader is not None:
            self._outcome = []
            with suppress(BrokerError):
                self._offset, self._outcome = self.send(leader, self.sequence)
                self._node, self._life = leader, leader.lives


@define(eq=False)
class Trial:
    """See the module."""

    world: ReplicationWorld
    chance: random.Random
    min_insync: int
    sender: Sender = field(init=False)
    stager: Sender = field(init=False)
    seen: int = 0
    """The highest high watermark that a reader was shown."""

    def __attrs_post_init__(self) -> None:
        self.sender, self.stager = Sender(self._send), Sender(self._hold)

    def _send(self, node: ReplicaNode, sequence: int) -> tuple[int, list[BrokerError | None]]:
        found: list[BrokerError | None] = []
        partition = node.partition
        if partition.replicas.shortage is not None:
            raise partition.replicas.shortage
        receipt = partition.write(whole(idempotent(sequence)))
        partition.when_durable(receipt, trio.current_time() + 1000, found.append)
        return receipt.base_offset, found

    def _hold(self, node: ReplicaNode, sequence: int) -> tuple[int, list[BrokerError | None]]:
        if node.partition.replicas.shortage is not None:
            raise node.partition.replicas.shortage
        return -1, node.hold(f"{sequence}", producer_id=8, epoch=0, sequence=sequence)

    @property
    def alive(self) -> list[ReplicaNode]:
        return [node for node in self.world.nodes.values() if node.is_up]

    @property
    def leader(self) -> ReplicaNode | None:
        """Who leads by the newest row, and knows it."""
        row = self.world.row
        for node in self.alive:
            if node.node_id == row.leader and node.partition.replicas.leads:
                return node if node.partition.leader_epoch == row.leader_epoch else None
        return None

    # -- what happens

    async def step(self) -> None:
        rare = [self.crash, self.restart, self.restart, self.cut, self.heal, self.hold_syncs, self.sync]
        rare += [self.prefer, self.deafen, self.lose_answers, self.find_answers, self.roll_stage]
        happening = self.chance.choice([*rare, *[self.wait] * 5])
        await happening()
        for _ in range(self.chance.randrange(1, 6)):
            self.sender.go_on(self.leader)
            self.stager.go_on(self.leader)
            await trio.sleep(self.chance.choice([0.001, 0.02, 0.1, 0.5]))
            self.check()

    async def wait(self) -> None:
        await trio.sleep(self.chance.choice([0.0, 0.1, 1.0, 4.0]))

    async def crash(self) -> None:
        if len(self.alive) > 1:
            self.chance.choice(self.alive).crash(self.chance)
            self.settle()

    async def restart(self) -> None:
        for node in self.world.nodes.values():
            if not node.is_up:
                await self.world.start(node.node_id)
                self.settle(restarted=node.node_id)
                return

    def settle(self, restarted: int | None = None) -> None:
        """What a controller would do; who comes back takes itself out of leading first."""
        row = self.world.row
        alive = frozenset(node.node_id for node in self.alive)
        if restarted is not None and row.leader == restarted:
            row = settled(row, Electorate(alive - {restarted}), self.min_insync).row
        row = settled(row, Electorate(alive), self.min_insync).row
        if row != self.world.row:
            self.world.put_row(row)

    async def prefer(self) -> None:
        row = self.world.row
        alive = {node.node_id for node in self.alive}
        candidates = [node for node in row.isr if node in alive and node != row.leader]
        if candidates and row.leader >= 0:
            self.world.change_row(leader=self.chance.choice(candidates), leader_epoch=row.leader_epoch + 1)

    async def cut(self) -> None:
        self.world.cuts.append(set(self.chance.sample(NODES, 2)))

    async def heal(self) -> None:
        self.world.cuts.clear()

    async def hold_syncs(self) -> None:
        for node in self.chance.sample(self.alive, 1):
            node.sync_workers.hold = True

    async def sync(self) -> None:
        for node in self.alive:
            node.sync()

    async def deafen(self) -> None:
        """A node hears of nothing that is committed for a while."""
        node, duration_s = self.chance.choice(self.alive), self.chance.choice([0.2, 2.0, 6.0])

        async def hold() -> None:
            async with node.replicas.steady():
                await trio.sleep(duration_s)

        self.world.nursery.start_soon(hold)

    async def lose_answers(self) -> None:
        """Of commits of in-sync replicas: some are taken, some are not."""
        for node in self.alive:
            node.replication.in_sync.commits.catalogue = Lossy(node.door, self.chance)

    async def find_answers(self) -> None:
        for node in self.alive:
            node.replication.in_sync.commits.catalogue = node.door

    async def roll_stage(self) -> None:
        leader = self.leader
        if leader is not None and leader.partition.stage_log is not None:
            leader.stage_log.roll()
            leader.rounds.mark(leader.partition.stage_log)

    # -- what must hold

    def check(self) -> None:
        leader = self.leader
        if leader is None:
            return
        known = {sequence: offset for offset, sequence, _ in batches(leader.log)}
        for sequence, offset in self.sender.acknowledged.items():
            assert known.get(sequence) == offset, f"{sequence} is not where it was acknowledged"
        self.seen = max(self.seen, leader.high_watermark)
        assert leader.end >= self.seen, "a reader was shown more than there is"
        below = [one for one in batches(leader.log) if one[0] < leader.high_watermark]
        for node in self.alive:
            if node.node_id in self.world.row.isr and node.partition.leader_epoch == leader.partition.leader_epoch:
                theirs = list(batches(node.log))
                assert theirs[: len(below)] == below, f"node {node.node_id} is in sync and lacks something"

    async def finish(self) -> None:
        """All comes back, and all becomes alike."""
        self.world.cuts.clear()
        await self.sync()
        await self.find_answers()
        for node in self.world.nodes.values():
            if not node.is_up:
                await self.restart()
        nodes = list(self.world.nodes.values())
        self.settle()
        await self.world.until(lambda: set(self.world.row.isr) == set(NODES) and self.leader is not None)
        for sender in (self.sender, self.stager):
            count = len(sender.acknowledged)
            while len(sender.acknowledged) < count + 2:
                sender.go_on(self.leader)
                await trio.sleep(0.05)
        await self.world.until_alike(*nodes)
        await self.world.until_alike(*nodes, stage=True)
        await self.world.until(lambda: all(node.high_watermark == node.end for node in nodes))
        self.check()
        leader = self.leader
        assert leader is not None
        assert leader.high_watermark >= self.seen
        sequences = [sequence for _, sequence, _ in batches(leader.log)]
        assert sequences == list(range(len(sequences))), "each once, in order"
        assert leader.partition.staging is not None
        assert leader.partition.staging.stage.state.table.row_count == self.stager.sequence + (
            0 if self.stager._node is None else 1
        )
        for node in nodes:
            self._compare_with_recovery(node)

    def _compare_with_recovery(self, node: ReplicaNode) -> None:
        for log in (node.log, node.stage_log):
            known = {info.producer_id: info.last_sequence for info in log.producers() if info.last_offset >= 0}
            again = Log.open(log.directory, files=node.files, clock=log._clock, config=log.config)
            found = {info.producer_id: info.last_sequence for info in again.producers() if info.last_offset >= 0}
            assert found == known
            assert again.end_offset == log.end_offset
            assert again._epochs.entries == log._epochs.entries


async def run(seed: int) -> None:
    chance = random.Random(seed)
    min_insync = chance.choice([1, 2])
    async with replication(*NODES, min_insync_replicas=str(min_insync)) as world:
        trial = Trial(world, chance, min_insync)
        for _ in range(STEPS):
            await trial.step()
        await trial.finish()


@pytest.mark.parametrize("seed", range(12))
def test_what_was_acknowledged_survives(seed: int) -> None:
    trio.run(run, seed, clock=MockClock(autojump_threshold=0))
