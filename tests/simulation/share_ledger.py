"""What the members of share groups were handed in a simulation, what they said of it, and what is wrong with it.

A member knows a part of the truth only: an answer that it did not get may have handed it something, and an
acknowledgement without an answer may count. So everything is judged by what is certain. A member holds a record
certainly from the answer that handed it out until it says something of it, its lock may have run out (counted from when
it asked), its connection or its leader is another. Leaders that were replaced and do not know it are told from the next
ones by their epochs: what they hand out besides is nobody's mistake.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import trio
from attrs import define, field, frozen

from tests.simulation.history import History

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
OK, INVALID_RECORD_STATE = 0, 121
A_TICK_S = 0.001
"""Of wall clocks."""
Ack = tuple[int, int]
"""An offset and what is said of it."""


class Tenure(NamedTuple):
    """Who led the partition: in which epoch, on which host, in which of its lives."""

    epoch: int
    host: str
    life: int


@frozen
class ShareRules:
    """What a group was told to obey."""

    lock_s: float = 1.0
    limit: int = 3
    backoff_s: float = 0.1
    is_ordered: bool = False


@define(eq=False)
class Hold:
    """A record in a member's hand."""

    member: str
    offset: int
    count: int
    asked_s: float
    received_s: float
    tenure: Tenure | None
    """None where the leader changed while the answer was on its way."""
    until_s: float
    is_given_up: bool = False
    """Its member has said something of it, which may count before the answer comes."""
    rival: str = ""
    """Somebody who was handed it meanwhile: wrong, if this member's session turns out to have been whole."""


@define(eq=False)
class Offset:
    """What happened to one record."""

    handed: list[Hold] = field(factory=list)
    settled: dict[int, tuple[float, Tenure | None]] = field(factory=dict)
    """When it was first answered that it is accepted, or rejected."""
    tried: dict[int, float] = field(factory=dict)
    """When it was first asked to be."""
    released: list[tuple[float, float, int, Tenure | None]] = field(factory=list)
    """When a release was asked for and answered, with which count."""


@define(eq=False)
class ShareLedger:
    """Of one group and one partition."""

    group: str
    rules: ShareRules
    history: History
    offsets: dict[int, Offset] = field(factory=lambda: defaultdict(Offset))
    holds: dict[tuple[str, int], Hold] = field(factory=dict)
    """What is in hand, by member and offset."""
    lost: list[float] = field(factory=list)
    """When fetches were sent whose answers never came: they may have handed out anything."""
    tenures: set[Tenure] = field(factory=set)

    # -- what members tell

    def handed(self, member: str, asked_s: float, tenure: Tenure | None, found: Mapping[int, int]) -> None:
        """A member was handed these offsets, each for the so-manieth time."""
        now = trio.current_time()
        self.history.note(self.group, member, "handed", dict(found))
        if tenure is not None:
            self.tenures.add(tenure)
        for offset, count in found.items():
            hold = Hold(member, offset, count, asked_s, now, tenure, asked_s + self.rules.lock_s)
            self._check(hold)
            self.offsets[offset].handed.append(hold)
            self.holds[member, offset] = hold

    def gone(self, member: str) -> None:
        """Its connection or its session is over, and so is all that it held."""
        for key in [key for key in self.holds if key[0] == member]:
            del self.holds[key]

    def closes(self, member: str) -> None:
        """It is about to close its session: from now on nothing is certain to be its own."""
        for hold in self._of(member):
            hold.until_s = trio.current_time()

    def whole(self, member: str, tenure: Tenure | None) -> None:
        """Its session has just gone on, with this leader."""
        for hold in self._of(member):
            if hold.rival and hold.tenure == tenure:
                self._wrong("two hold one record", f"{hold.offset}: {member} and {hold.rival}")
                hold.rival = ""

    def certain(self, member: str, offsets: Iterable[int], tenure: Tenure | None) -> bool:
        """Whether it holds all of these, beyond doubt."""
        holds = [self.holds.get((member, offset)) for offset in offsets]
        now = trio.current_time()
        return tenure is not None and all(
            hold is not None and hold.tenure == tenure and now < hold.until_s and not hold.rival for hold in holds
        )

    def tries(self, member: str, acks: Sequence[Ack]) -> None:
        """It is about to say this."""
        now = trio.current_time()
        self.history.note(self.group, member, "says", acks)
        for offset, kind in acks:
            if kind in (ACCEPT, REJECT):
                self.offsets[offset].tried.setdefault(kind, now)
            if kind != RENEW and (member, offset) in self.holds:
                self.holds[member, offset].is_given_up = True

    def answered(self, member: str, acks: Sequence[Ack], asked_s: float, tenure: Tenure | None, code: int) -> None:
        """What it was told of that."""
        now = trio.current_time()
        self.history.note(self.group, member, "is told", code)
        if code == INVALID_RECORD_STATE and self.certain(member, [offset for offset, _ in acks], tenure):
            self._wrong("an honest acknowledgement refused", f"{member}: {acks}")
        for offset, kind in acks:
            hold = self.holds.get((member, offset))
            if kind == RENEW:
                if code == OK and hold is not None:
                    hold.until_s = asked_s + self.rules.lock_s
                continue
            self.holds.pop((member, offset), None)
            if code == OK and kind == RELEASE:
                count = 0 if hold is None else hold.count
                self.offsets[offset].released.append((asked_s, now, count, tenure))
            elif code == OK:
                self.offsets[offset].settled.setdefault(kind, (now, tenure))
        if code == OK:
            self.history.reach_moment()

    # -- what may not be

    def _of(self, member: str) -> list[Hold]:
        return [hold for key, hold in self.holds.items() if key[0] == member]

    def _check(self, hold: Hold) -> None:
        offset, known = hold.offset, self.offsets[hold.offset]
        if hold.count > self.rules.limit:
            self._wrong("delivered too often", f"{offset}: {hold.count} times")
        for kind, (when, tenure) in known.settled.items():
            if hold.asked_s > when and _follows(hold.tenure, tenure):
                self._wrong("settled and handed out again", f"{offset}, {kind}")
        for asked_s, when, count, tenure in known.released:
            if hold.asked_s <= when or not _follows(hold.tenure, tenure):
                continue
            if hold.received_s < asked_s + self.rules.backoff_s - A_TICK_S - self.history.wall_slack_s:
                self._wrong("handed out before its back-off was over", f"{offset}: {hold.received_s - asked_s:.3f} s")
            if hold.count <= count:
                self._wrong("a delivery was forgotten", f"{offset}: {hold.count} after {count}")
        for other in [each for each in self.holds.values() if each.offset == offset and each.member != hold.member]:
            # One leader counts up: an answer that was long on its way may tell of a hand-out before the other's.
            earlier, later = (other, hold) if other.count < hold.count else (hold, other)
            is_sure = later.received_s < earlier.until_s and not earlier.is_given_up
            if is_sure and hold.tenure is not None and other.tenure == hold.tenure:
                earlier.rival = later.member
        for other in known.handed:
            if hold.tenure is not None and (other.tenure, other.count) == (hold.tenure, hold.count):
                self._wrong("handed out twice as the same delivery", f"{offset}: {hold.count}")

    def _wrong(self, kind: str, what: str) -> None:
        self.history.wrong(kind, f"group {self.group}, {what}")

    # -- in the end

    def judge(self, marks: Mapping[int, str], keys: Mapping[int, bytes | None], letters: Counter[int]) -> None:
        """All is settled: compare with what is in the log, and with the letters that there are of it."""
        for offset in marks:
            self._judge_end(offset, letters[offset])
            deliveries, restarts = len(self.offsets[offset].handed), len(self.tenures)
            if deliveries > self.rules.limit + restarts:
                self._wrong("delivered too often", f"{offset}: {deliveries} times, {restarts} leaders")
        for offset in letters:
            if offset not in marks:
                self._wrong("a letter of nothing", str(offset))
        if self.rules.is_ordered:
            self._judge_order(keys)

    def _judge_end(self, offset: int, letters: int) -> None:
        known = self.offsets[offset]
        if letters > 1:
            self._wrong("dead letter twice", str(offset))
        if letters and ACCEPT in known.settled:
            self._wrong("accepted and dead", str(offset))
        if not letters and REJECT in known.settled:
            self._wrong("dead letter lost", str(offset))
        if not letters and ACCEPT not in known.tried:
            self._wrong("neither accepted nor dead", str(offset))
        if ACCEPT in known.settled and REJECT in known.settled:
            self._wrong("accepted and rejected", str(offset))

    def _judge_order(self, keys: Mapping[int, bytes | None]) -> None:
        """Nothing was handed out before those of its key before it can have been settled."""
        before: dict[bytes, list[int]] = defaultdict(list)
        for offset, key in sorted(keys.items()):
            if key is None:
                continue
            for hold in self.offsets[offset].handed:
                for earlier in before[key]:
                    if not self._may_be_settled(earlier, hold.received_s):
                        self._wrong("out of order", f"{offset} was handed out before {earlier} was settled")
            before[key].append(offset)

    def _may_be_settled(self, offset: int, by_s: float) -> bool:
        known = self.offsets[offset]
        if any(when < by_s for when in known.tried.values()):
            return True
        # Delivered for the last time, and given up: also by answers that nobody got.
        last = max((hold.count for hold in known.handed if hold.received_s < by_s), default=0)
        return last + sum(when < by_s for when in self.lost) >= self.rules.limit


def _follows(later: Tenure | None, earlier: Tenure | None) -> bool:
    """Whether the one cannot but know what the other was told."""
    return later is not None and earlier is not None and later.epoch >= earlier.epoch
