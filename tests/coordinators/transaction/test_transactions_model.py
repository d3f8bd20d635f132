"""Transactions against a simple model, under random commands, crashes, changes of leaders and time.

A transaction is seen whole or not at all; what was answered as committed stays, what was aborted never shows; the last
stable offset stands before the first open transaction; and the hard state equals a fresh replay.
"""

import random

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from coordinators.transaction.orphans import Orphans
from coordinators.transaction.transaction import ProducerIdentity
from coordinators.transaction.transactions import STATE_TOPIC
from engine.errors import BrokerError, TransactionCoordinatorFenced
from engine.log.transactions import EndMarker
from tests.coordinators.transaction.world import PENDING, THIS_NODE, World

NAMES = ("a", "b", "c")
PLACES = (("t", 0), ("t", 1))
TIMEOUT_MS = 1_000
ELSEWHERE = 2


@define
class Client:
    """A producer as it sees itself."""

    identity: ProducerIdentity | None = None
    version: int = 0
    sequences: dict[tuple[str, int], int] = field(factory=dict)
    open_values: set[str] = field(factory=set)
    written_to: set[tuple[str, int]] = field(factory=set)


class TransactionsMachine(RuleBasedStateMachine):
    """The world and what its clients know for certain."""

    @initialize()
    def start(self) -> None:
        self.world = World()
        self.world.create("t", 2)
        self.world.settle()
        self.clients = {name: Client() for name in NAMES}
        self.count = 0
        self.moved = False
        self.committed: set[str] = set()
        self.aborted: set[str] = set()
        self.together: list[frozenset[str]] = []

    def lost(self, client: Client) -> None:
        """The client does not know how its transaction ends; whole it must be."""
        self.together.append(frozenset(client.open_values))
        self.restarted(client)

    def restarted(self, client: Client) -> None:
        client.identity, client.open_values, client.written_to, client.sequences = None, set(), set(), {}

    @rule(name=st.sampled_from(NAMES), version=st.sampled_from([0, 2]))
    def init(self, name: str, version: int) -> None:
        client = self.clients[name]
        answer = self.world.init(name, TIMEOUT_MS)
        self.lost(client)
        if isinstance(answer, ProducerIdentity):
            client.identity, client.version = answer, version

    @rule(name=st.sampled_from(NAMES), place=st.sampled_from(PLACES))
    def write(self, name: str, place: tuple[str, int]) -> None:
        client = self.clients[name]
        for _ in range(3):
            if client.identity is None:
                self.init(name, self.count % 2 * 2)
        if client.identity is None:
            # Its last transaction is not ended yet: a partition of it is led elsewhere, or was until just now.
            assert self.moved
            return
        value = f"{name}{self.count}"
        self.count += 1
        try:
            if place not in client.written_to:
                refusal = self.world.add(name, client.identity, place, version=client.version)
                if isinstance(refusal, BrokerError):
                    raise refusal
            sequence = client.sequences.get(place, 0)
            self.world.write(name, client.identity, place, value, sequence)
        except BrokerError:
            self.lost(client)
            return
        client.sequences[place] = sequence + 1
        client.written_to.add(place)
        client.open_values.add(value)

    @rule(name=st.sampled_from(NAMES), commit=st.booleans())
    def end(self, name: str, commit: bool) -> None:
        client = self.clients[name]
        if not client.open_values:
            self.write(name, PLACES[self.count % 2])
        if client.identity is None or not client.open_values:
            return
        answer = self.world.end(name, client.identity, commit=commit, version=client.version)
        if not isinstance(answer, ProducerIdentity):
            self.lost(client)
            return
        (self.committed if commit else self.aborted).update(client.open_values)
        client.open_values, client.written_to = set(), set()
        if client.version == 2:
            assert answer.epoch == client.identity.epoch + 1
            client.identity, client.sequences = answer, {}

    @rule(name=st.sampled_from(NAMES), commit=st.booleans(), rounds=st.integers(0, 3), seed=st.integers(0, 2**32))
    def crash_while_ending(self, name: str, commit: bool, rounds: int, seed: int) -> None:
        client = self.clients[name]
        for place in PLACES:
            self.write(name, place)
        if client.identity is None or not client.open_values:
            return
        self.world.hold = True
        answer = self.world.end(name, client.identity, commit=commit, version=client.version)
        assert answer == PENDING or isinstance(answer, BrokerError)
        visible: set[str] = set()
        for _ in range(rounds):
            self.world.rounds.start_round()
            self.world.disk.run_held(1)
            visible = self.visible()
        self.world.hold = False
        values = set(client.open_values)
        self.crash(seed)
        assert visible <= self.visible(), "what was seen was not durable"
        if rounds >= 2 and not isinstance(answer, BrokerError):
            (self.committed if commit else self.aborted).update(values)

    @rule(
        name=st.sampled_from(NAMES), place=st.sampled_from(PLACES), rounds=st.integers(0, 1), seed=st.integers(0, 2**32)
    )
    def crash_while_writing(self, name: str, place: tuple[str, int], rounds: int, seed: int) -> None:
        """A partition is added by writing to it: of the two records the crash may take either."""
        client = self.clients[name]
        for _ in range(3):
            if client.identity is None:
                self.init(name, 2)
        if client.identity is None or client.version != 2 or place in client.written_to:
            return
        self.world.hold = True
        self.world.transactions.add_partitions(name, client.identity, [place], 2)
        value = f"{name}{self.count}"
        self.count += 1
        try:
            self.world.write(name, client.identity, place, value, client.sequences.get(place, 0))
        except BrokerError:
            value = ""
        for _ in range(rounds):
            self.world.rounds.start_round()
            self.world.disk.run_held(1)
        self.world.hold = False
        self.aborted.update({value} - {""})
        self.crash(seed)

    @rule(seed=st.integers(0, 2**32))
    def crash(self, seed: int) -> None:
        for client in self.clients.values():
            if client.identity is not None:
                self.lost(client)
        self.world.crash(random.Random(seed))
        self.world.settle()

    @rule(place=st.sampled_from(PLACES), leader=st.sampled_from([THIS_NODE, ELSEWHERE]))
    def move_leader(self, place: tuple[str, int], leader: int) -> None:
        """Of a partition that is written to: its markers have to wait while it is led elsewhere."""
        self.moved = True
        self.world.lead(place, leader)
        self.abort_orphans()

    @rule(index=st.integers(0, 1), away=st.booleans())
    def change_coordinator(self, index: int, away: bool) -> None:
        """Another node may coordinate for a moment; then the shard is loaded again, under a later epoch."""
        if away:
            self.world.lead((STATE_TOPIC, index), ELSEWHERE)
            self.world.advance(1)
        self.world.lead((STATE_TOPIC, index))
        self.abort_orphans()

    @rule(place=st.sampled_from(PLACES))
    def hear_an_older_coordinator(self, place: tuple[str, int]) -> None:
        if place not in self.led():
            return
        for producer in list(self.world.partition(place).log.producers()):
            if producer.coordinator_epoch > 0:
                identity = ProducerIdentity(producer.producer_id, producer.epoch)
                marker = EndMarker(False, producer.coordinator_epoch - 1)
                refusal = self.world.heard(self.world.markers.write(place, identity, marker))
                assert isinstance(refusal, TransactionCoordinatorFenced)

    def abort_orphans(self) -> None:
        """As every node does it every few seconds."""
        Orphans(self.world.transactions).sweep()
        self.world.settle()

    def led(self) -> list[tuple[str, int]]:
        return [place for place in PLACES if self.world.partition(place).replicas.leads]

    @rule(duration_ms=st.sampled_from([1, 300, 700]))
    def wait(self, duration_ms: int) -> None:
        self.world.advance(duration_ms)

    @rule(place=st.sampled_from(PLACES), compact=st.booleans())
    def upkeep(self, place: tuple[str, int], compact: bool) -> None:
        log = self.world.partition(place).log
        if compact:
            log.roll()
        log.request_snapshot()
        for job in log.maintenance():
            job.run()
            job.finish()

    # -- what must hold

    def visible(self) -> set[str]:
        return {value for place in self.led() for value in self.world.read(place, committed=True)}

    @invariant()
    def committed_is_seen_and_aborted_is_not(self) -> None:
        if not hasattr(self, "world"):
            return
        visible = self.visible()
        assert not visible & self.aborted
        for client in self.clients.values():
            assert not visible & client.open_values

    @invariant()
    def the_hard_state_is_a_fresh_replay(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        runtime = world.transactions.runtime
        from coordinators.runtime import opened_batches, replay_batch
        from coordinators.state_machine import ShardTimers
        from coordinators.transaction.machine import TransactionMachine

        for shard in runtime._shards.values():
            timers: ShardTimers[TransactionMachine] = ShardTimers(world.timers, world.clock, lambda _: None)
            fresh = TransactionMachine(
                timers, world.clock, world.transactions.settings, lambda: -1, world.markers, 0, lambda _: None
            )
            for header, records in opened_batches(shard.partition, shard.partition.high_watermark):
                replay_batch(fresh, header, records)
            fresh.open_all()
            assert fresh.transactions == shard.machine.transactions

    @invariant()
    def nothing_is_undecided_for_long(self) -> None:
        """Stable up to the first record of a transaction that its coordinator has open."""
        if not hasattr(self, "world"):
            return
        for place in self.led():
            partition = self.world.partition(place)
            is_open = any(
                place in transaction.partitions for state in self.world.hard_state() for transaction in state.values()
            )
            if not is_open:
                assert partition.last_stable_offset == partition.high_watermark.offset

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for client in self.clients.values():
            if client.identity is not None:
                self.lost(client)
        for place in PLACES:
            self.world.lead(place)
        self.abort_orphans()
        for _ in range(6):
            self.world.advance(TIMEOUT_MS + 10)
        visible = self.visible()
        assert self.committed <= visible
        for values in self.together:
            assert values <= visible or not values & visible, "a transaction is seen in part"
        for place in PLACES:
            partition = self.world.partition(place)
            assert partition.last_stable_offset == partition.high_watermark.offset


TransactionsMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)
TestTransactions = TransactionsMachine.TestCase
