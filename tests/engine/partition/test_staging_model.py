"""The end that readers are told, whatever happens to a partition with a stage: it never moves back, and it is never
below what was acknowledged before it was asked for.

Clients write records of all lanes, some with a time to live, in batches of one or several; readers read at the end and
beyond it; `priority.enable` is switched; the process is killed, or the machine loses power.

`STAGE_MODEL_EXAMPLES=3000 pytest --timeout=0 tests/engine/partition/test_staging_model.py` looks deeper.
"""

import os

from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.errors import BrokerError
from engine.log.types import Receipt
from engine.stage.config import ExtensionConfig
from tests.engine.partition.staging_bench import Bench, Outcome
from tests.engine.stage.world import record

lanes = st.fixed_dictionaries({}, optional={"priority": st.integers(0, 4), "ttl": st.sampled_from([1, 50, 2_000])})


class EndMachine(RuleBasedStateMachine):
    """One partition; every record that is sent takes an offset, be it in the end as a hole."""

    @initialize(
        priority=st.sampled_from(["true", "auto", "false"]),
        policy=st.sampled_from(["drop", "dlq"]),
        ttl_ms=st.sampled_from([-1, -1, 500]),
    )
    def start(self, priority: str, policy: str, ttl_ms: int) -> None:
        config = ExtensionConfig(priority_enable=priority, expiry_policy=policy, message_ttl_ms=ttl_ms)
        self.bench = Bench(config)
        self.sent = self.acknowledged = self.told = 0

    # -- clients

    @rule(asked=st.lists(lanes, min_size=1, max_size=5))
    def write(self, asked: list[dict[str, object]]) -> None:
        bench, count = self.bench, len(asked)
        self.sent += count

        def acknowledge(outcome: Outcome) -> None:
            assert isinstance(outcome, Receipt)

            def durable(error: BrokerError | None) -> None:
                if error is None and bench is self.bench:
                    self.acknowledged += count
                    self.ask()

            bench.partition.when_durable(outcome, float("inf"), durable)

        bench.send([record("v", **one) for one in asked], acknowledge)

    @invariant()
    def ask(self) -> None:
        """Where does it end?"""
        if not hasattr(self, "bench"):
            return
        end = self.bench.partition.reported_end
        assert end >= self.acknowledged, "it ends below what was acknowledged"
        assert end >= self.told, "rule 2: it moves back"
        assert end <= self.sent, "it ends beyond what was ever sent"
        self.told = end

    # -- readers

    @rule(part=st.sampled_from([0.0, 0.5, 1.0]), limit_bytes=st.sampled_from([1, 300, 100_000]))
    def read(self, part: float, limit_bytes: int) -> None:
        log_end = self.bench.partition.log.end_offset
        self.bench.partition.linearise(log_end + int((self.told - log_end) * part), limit_bytes)

    @rule()
    def put_in_order(self) -> None:
        self.bench.staging.readers.order_up_to(self.told)

    # -- time, syncs, administrators

    @rule(rounds=st.integers(1, 3))
    def sync(self, rounds: int) -> None:
        for _ in range(rounds):
            self.bench.sync(1)
            self.ask()

    @rule(duration_ms=st.sampled_from([1, 60, 1_000, 3_000]))
    def pass_time(self, duration_ms: int) -> None:
        self.bench.clock.advance_ms(duration_ms)
        self.bench.timers.run_due(self.bench.clock.monotonic())

    @rule(priority=st.sampled_from(["true", "auto", "false"]))
    def switch(self, priority: str) -> None:
        self.bench.configure(evolve(self.bench.config, priority_enable=priority))

    # -- faults

    @rule(with_power=st.booleans())
    def kill(self, with_power: bool) -> None:
        """Of a process that is killed what was written stays; without power only what was synced does."""
        bench = self.bench
        if not with_power:
            bench.files.crash()
        # What was not acknowledged may be lost, and is not sent again.
        self.bench = evolve_bench(bench)

    def teardown(self) -> None:
        if not hasattr(self, "bench"):
            return
        self.bench.sync(10)
        self.ask()
        self.put_in_order()
        self.bench.sync(200)
        assert self.bench.partition.high_watermark.offset >= self.told, "rule 6: a promised offset is used up"


def evolve_bench(bench: Bench) -> Bench:
    """The same disk and clock, a new process."""
    return Bench(bench.config, bench.log_config, bench.room, bench.files, bench.clock)


EndMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("STAGE_MODEL_EXAMPLES", "100")),
    stateful_step_count=40,
    deadline=None,
    report_multiple_bugs=False,
)
TestEnd = EndMachine.TestCase
