"""Any sequence of heartbeats, leaves, topics, crashes: a task is done by one member, state equals a replay."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.errors import BrokerError
from tests.coordinators.group.streams_shard import COUNTING, StreamsShard, StreamThread, settle

NAMES = st.sampled_from(["a1", "a2", "b1", "c1"])


class StreamsGroupModel(RuleBasedStateMachine):
    """Members that behave, in a world that does not."""

    def __init__(self) -> None:
        super().__init__()
        self.shard = StreamsShard()
        self.shard.configure(num_standby_replicas=1)
        self.threads: dict[str, StreamThread] = {}

    @rule(more=st.integers(1, 3))
    def make_topic(self, more: int) -> None:
        """Internal topics that would not fit any more go with it."""
        existing = self.shard.topics.by_name.get("in")
        count = more + (0 if existing is None else existing.partition_count)
        for name in ("words", "counts"):
            if name in self.shard.topics.by_name:
                self.shard.delete_topic(name)
        self.shard.topic("in", count)

    @rule(name=st.sampled_from(["in", "words", "counts"]))
    def delete_topic(self, name: str) -> None:
        if name in self.shard.topics.by_name:
            self.shard.delete_topic(name)

    @rule(name=NAMES, makes_topics=st.booleans())
    def join(self, name: str, makes_topics: bool) -> None:
        options = {"topology": COUNTING, "process_id": name[0]}
        thread = StreamThread(self.shard, name, options, makes_topics=makes_topics)
        if not isinstance(thread.join(), BrokerError):
            self.threads[name] = thread

    @rule(name=NAMES, times=st.integers(1, 3))
    def beat(self, name: str, times: int) -> None:
        thread = self.threads.get(name)
        for _ in range(times if thread is not None else 0):
            assert thread is not None
            if isinstance(thread.beat(), BrokerError):
                thread.join()

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        thread = self.threads.pop(name, None)
        if thread is not None:
            thread.leave()

    @rule(duration_ms=st.integers(1, 70_000))
    def advance(self, duration_ms: int) -> None:
        self.shard.advance(duration_ms)

    @rule()
    def crash(self) -> None:
        self.shard.crash()

    @rule()
    def forget_the_group(self) -> None:
        self.shard.ask(lambda machine: machine.commits.delete_group("g"))

    @rule()
    def classic(self) -> None:
        """An empty group gives its name to one of the classic protocol, and gets it back."""
        group = self.shard.machine.streams.groups.get("g")
        if group is None or not group.members:
            self.shard.leave(self.shard.settled_member())

    @rule()
    def settle_down(self) -> None:
        """Left to themselves members do every task once, and other processes keep what has state."""
        if "in" not in self.shard.topics.by_name:
            self.shard.topic("in", 2)
        living = list(self.threads.values())
        for thread in living:
            thread.makes_topics = True
            if isinstance(thread.beat(), BrokerError):
                thread.join()
        if not living:
            return
        settle(*living, rounds=40)
        group = self.shard.group
        if any("INCORRECTLY_PARTITIONED_TOPICS" in thread.status for thread in living):
            return
        count = self.shard.topics.by_name["in"].partition_count
        done = [task for member in group.members.values() for task in member.active()]
        assert sorted(done) == [(name, index) for name in "01" for index in range(count)]
        kept = [task for member in group.members.values() for task in member.passive()]
        processes = {member.process_id for member in group.members.values()}
        assert sorted(kept) == ([("1", index) for index in range(count)] if len(processes) > 1 else [])

    @invariant()
    def nobody_shares_a_task(self) -> None:
        machine = self.shard.machine
        assert not machine.groups.keys() & machine.streams.groups.keys(), "a group of both protocols"
        for group in machine.streams.groups.values():
            done = [task for member in group.members.values() for task in member.active()]
            assert len(done) == len(set(done)), "two members do a task"
            for process_id in {member.process_id for member in group.members.values()}:
                had = [
                    task
                    for member in group.members.values()
                    if member.process_id == process_id
                    for task in (*member.active(), *member.passive())
                ]
                assert len(had) == len(set(had)), "a process has a task twice"

    @invariant()
    def state_is_what_a_fresh_replay_makes(self) -> None:
        assert self.shard.replayed().hard_state() == self.shard.machine.hard_state()


StreamsGroupModel.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestStreamsGroup = StreamsGroupModel.TestCase
