"""Whose turn it is: deficit round robin over the lanes of a partition, with a turn for who waited too long.

Rounds. In a round each lane may give as many records as its weight. Next is the highest lane that has records and some
of its share left; when none has, a new round begins. So a critical record is next unless its lane has had its share of
this round, and over a round in which all lanes have enough the shares are the weights exactly.

Starvation. A lane that had records and was not served for `starvation_ms` gets the next turn, for one record, once.
Only time in which the partition was read counts, else an idle night would make an old backlog come first. Nobody says
when a reader comes or goes, so a gap between two reads counts for half of `starvation_ms` at most: a reader of slow
jobs still lets lanes starve, and a partition that nobody read for a night does not.

Turns follow from what was taken and when, from nothing else: a replay of the same comes to the same state.
"""

from collections.abc import Sequence

from attrs import define, field, frozen

LANES = 5
NEVER = -1
_NO_END = 2**63


@frozen
class LaneRules:
    """How lanes share. `strict`: always the highest lane that has records, without a promise to the others."""

    weights: tuple[int, ...] = (50, 25, 15, 7, 3)
    strict: bool = False
    starvation_ms: int = 30_000

    def __attrs_post_init__(self) -> None:
        if len(self.weights) != LANES or min(self.weights) < 1:
            raise ValueError(f"weights {self.weights}: five are needed, each at least 1")
        if self.starvation_ms < 1:
            raise ValueError(f"starvation_ms {self.starvation_ms} is not positive")


@define
class Turns:
    """See the module."""

    rules: LaneRules
    deficits: list[int] = field(factory=lambda: [0] * LANES)
    """What is left of each lane's share of this round."""
    waiting_since: list[int] = field(factory=lambda: [0] * LANES)
    """By the reading clock: when each lane was served last, or got its first record if that was later."""
    reading_ms: int = 0
    """The reading clock: for how long the partition has been read."""
    last_read_ms: int = NEVER

    def copy(self) -> "Turns":
        return Turns(self.rules, self.deficits.copy(), self.waiting_since.copy(), self.reading_ms, self.last_read_ms)

    def begin_waiting(self, lane: int, now_ms: int) -> None:
        """An empty lane gets a record."""
        self.waiting_since[lane] = self._reading_ms(now_ms)

    def read(self, now_ms: int) -> None:
        """Somebody reads."""
        self.reading_ms = self._reading_ms(now_ms)
        self.last_read_ms = now_ms

    def starved(self, ready: Sequence[int]) -> list[int]:
        """The lanes with records that waited too long by the last `read`, the longest first."""
        if self.rules.strict:
            return []
        lanes = [lane for lane in range(LANES) if ready[lane] and self._is_starved(lane)]
        return sorted(lanes, key=self.waiting_since.__getitem__)

    def next_lane(self, ready: Sequence[int]) -> int:
        """Whose turn it is of the lanes that have records: at least one has."""
        candidates = [lane for lane in range(LANES) if ready[lane]]
        if not self.rules.strict:
            for lane in candidates:
                if self.deficits[lane] > 0:
                    return lane
        return candidates[0]

    def share(self, lane: int) -> int:
        """How many records in a row the lane may give if it is its turn."""
        return _NO_END if self.rules.strict else self.deficits[lane] or self.rules.weights[lane]

    def serve(self, lane: int, count: int, ready: Sequence[int]) -> bool:
        """Accounts for `count` records from a lane; `ready` is what lanes had before. True if the first of them was
        given out of turn, because the lane had starved."""
        if self.rules.strict:
            self.waiting_since[lane] = self.reading_ms
            return False
        out_of_turn = self._is_starved(lane) and lane != self.next_lane(ready)
        self.waiting_since[lane] = self.reading_ms
        if out_of_turn:
            self.deficits[lane] = max(self.deficits[lane] - 1, 0)
            count -= 1
        self._spend(lane, count)
        return out_of_turn

    def _spend(self, lane: int, count: int) -> None:
        spent = min(count, self.deficits[lane])
        self.deficits[lane] -= spent
        if count > spent:
            # A new round. A long run out of one lane may be several: all but the last leave no trace.
            weight = self.rules.weights[lane]
            self.deficits = list(self.rules.weights)
            self.deficits[lane] = weight - 1 - (count - spent - 1) % weight

    def _is_starved(self, lane: int) -> bool:
        return self.reading_ms - self.waiting_since[lane] >= self.rules.starvation_ms

    def _reading_ms(self, now_ms: int) -> int:
        if self.last_read_ms == NEVER:
            return self.reading_ms
        gap_ms = min(max(now_ms - self.last_read_ms, 0), (self.rules.starvation_ms + 1) // 2)
        return self.reading_ms + gap_ms
