"""A window against a model of single offsets: random fetches, acknowledgements, expiries, failed writes, restarts.

Every record ends accepted or archived, nothing is delivered more often than the limit and the restarts allow, no two
members hold one record, and what is durable is never ahead of what members were told.
"""

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from coordinators.share.acks import AckBatch
from coordinators.share.runs import ACQUIRED, FINAL, SETTLED
from engine.errors import InvalidRecordState, InvalidRequest
from tests.coordinators.share.windows import Bench, check, rules

MEMBERS = ("m1", "m2", "m3")
LOG_END = 60
LIMIT = 4
LOCK_S = 30.0
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        settings = rules(delivery_count_limit=LIMIT, max_record_locks=25, retry_backoff_ms=500, max_in_flight=18)
        self.bench = Bench(settings, log_end=LOG_END, batch=7)
        self.owner: dict[int, tuple[str, float]] = {}
        """Who has an offset, and until when."""
        self.deliveries = dict.fromkeys(range(LOG_END), 0)
        self.restarts = 0
        self.told_done: set[int] = set()
        """Accepted, and the member knows."""
        self.pending: list[tuple[set[int], set[int]]] = []
        """What waits for a write: all of its offsets, and those to be finished by it; first what is under way."""
        self.gathering: tuple[set[int], set[int]] = (set(), set())

    @rule(member=st.sampled_from(MEMBERS), most=st.integers(1, 20), strict=st.booleans())
    def fetch(self, member: str, most: int, strict: bool) -> None:
        for first, last, count in self.bench.take(member, most, strict=strict):
            for offset in range(first, last + 1):
                assert offset not in self.owner, "no two members hold one record"
                assert offset not in self.told_done
                self.owner[offset] = member, self.bench.seconds + LOCK_S
                self.deliveries[offset] += 1
                assert count <= LIMIT
                assert self.deliveries[offset] <= LIMIT + self.restarts

    @rule(
        member=st.sampled_from(MEMBERS),
        first=st.integers(0, LOG_END + 2),
        types=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    )
    def acknowledge(self, member: str, first: int, types: list[int]) -> None:
        last, window = first + len(types) - 1, self.bench.window
        offsets = [offset for offset in range(first, last + 1) if offset >= window.start]
        is_own = all(self.owner.get(offset, ("", 0))[0] == member for offset in offsets)
        try:
            window.acknowledge(member, [AckBatch(first, last, types)], self.bench.settings, self.bench.now)
        except (InvalidRecordState, InvalidRequest):
            assert not is_own or last >= window.end
            return
        assert is_own
        for offset, kind in zip(range(first, last + 1), types, strict=True):
            if offset not in offsets:
                continue
            if kind == RENEW:
                self.owner[offset] = member, self.bench.seconds + LOCK_S
            else:
                self.gathering[0].add(offset)
                del self.owner[offset]
                if kind in (ACCEPT, REJECT, GAP):
                    self.gathering[1].add(offset)

    @precondition(lambda self: self.bench.under_way is None)
    @rule()
    def begin_write(self) -> None:
        if self.bench.begin() is not None:
            self.pending.append(self.gathering)
            self.gathering = set(), set()

    @precondition(lambda self: self.bench.under_way is not None)
    @rule(failed=st.booleans())
    def end_write(self, failed: bool) -> None:
        _changed, finished = self.pending.pop()
        self.bench.end(failed=failed)
        if not failed:
            self.told_done |= finished
        self._learn()

    @rule(seconds=st.sampled_from([0.2, 1.0, 8.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.bench.seconds += seconds
        expired = self.bench.expire()
        late = {offset for offset, (_, until) in self.owner.items() if until <= self.bench.seconds}
        assert expired == len(late)
        for offset in late:
            del self.owner[offset]

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        own = {offset for offset, (owner, _) in self.owner.items() if owner == member}
        assert self.bench.window.release(member, self.bench.settings, self.bench.now) == len(own)
        for offset in own:
            del self.owner[offset]

    @rule()
    def restart(self) -> None:
        self.restarts += 1
        self.bench.restart()
        self.owner, self.pending, self.gathering = {}, [], (set(), set())

    def _learn(self) -> None:
        """Who has what after a write has failed, by the window's own word; it is checked against the rest."""
        self.owner = {
            offset: (run.owner, run.lock_until)
            for run in self.bench.window.runs
            if run.state is ACQUIRED and run.write == SETTLED
            for offset in range(run.first, run.last + 1)
        }

    @invariant()
    def holds(self) -> None:
        window = self.bench.window
        check(window)
        for run in window.runs:
            if run.state in FINAL:
                continue
            assert not self.told_done.intersection(range(run.first, run.last + 1)), "what is told done is done"
        assert self.bench.durable.start_offset <= max(window.start, self.bench.durable.start_offset)

    def teardown(self) -> None:
        """Everything ends accepted or archived, once somebody accepts it."""
        bench = self.bench
        if bench.under_way is not None:
            bench.end()
        for _ in range(40 * LIMIT):
            bench.seconds += 31
            bench.expire()
            bench.write()
            for first, last, _ in bench.take("m1", 500):
                bench.settle(first, last, ACCEPT)
            if bench.window.start == LOG_END:
                break
        bench.write()
        assert (bench.window.start, bench.durable.start_offset) == (LOG_END, LOG_END)
        assert (len(bench.window.runs), bench.window.complete, bench.durable.batches) == (0, 0, ())


Model.TestCase.settings = hypothesis_settings(max_examples=80, stateful_step_count=40, deadline=None)
TestModel = Model.TestCase
