"""Judges what became of records that were held back: nothing early, lost, twice, cancelled and yet delivered.

A lane is a partition; records stand in it in the order in which its only producer sent them. Times are seconds of one
monotonic clock. What is not known for certain (an answer that never came) counts in the broker's favour.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import pairwise

from attrs import asdict, astuple, define, evolve, field, frozen

Lane = tuple[str, int]
Found = tuple[tuple[Lane, bytes], ...]

EARLY_TOLERANCE_S = 0.002
"""Brokers count whole milliseconds; two readings of a clock may differ by one."""


class Outcome(Enum):
    """What the producer knows of a record."""

    UNKNOWN = auto()
    ACKNOWLEDGED = auto()
    REFUSED = auto()
    """Or aborted with its transaction."""


@define(eq=False)
class Sent:
    """A record, or a cancellation, as its producer knows it."""

    lane: Lane
    mark: bytes
    sent_s: float
    due_s: float
    """The earliest moment at which it may be delivered."""
    schedule_id: bytes | None = None
    cancels: bool = False
    may_expire: bool = False
    order: Hashable = None
    """Records of the same kind keep their order among each other; None for one that keeps none."""
    outcome: Outcome = Outcome.UNKNOWN
    settled_s: float = 0.0
    """When the outcome was known: of a transaction's record, when the transaction had ended."""


@frozen
class Read:
    """A record as a consumer got it."""

    lane: Lane
    offset: int
    mark: bytes
    at_s: float


@define(eq=False)
class History:
    """Everything that happened; `reread` is the log read again from the start after all else."""

    sent: list[Sent] = field(factory=list)
    read: list[Read] = field(factory=list)
    reread: list[Read] = field(factory=list)
    ends: dict[Hashable, list[int]] = field(factory=lambda: defaultdict(list))
    """The ends that one observer was told, one after the other, by whatever it asked about."""


@frozen
class StagedVerdict:
    """What is wrong, each as (lane, mark); empty where nothing is."""

    early: Found = ()
    lost: Found = ()
    twice: Found = ()
    cancelled_yet_delivered: Found = ()
    reordered: Found = ()
    unexpected: Found = ()
    """Read though nobody sent it, or though it was refused or aborted."""
    rewritten: tuple[tuple[Lane, int], ...] = ()
    """(lane, offset) where the log read again is not what was read before."""
    end_moved_back: tuple[tuple[Hashable, int, int], ...] = ()
    """(what was asked about, the end, the lower end that followed)."""

    @property
    def clean(self) -> bool:
        return not any(astuple(self))

    def summary(self) -> str:
        """How much of what, with the first few of each."""
        if self.clean:
            return "clean"
        found = asdict(self, recurse=False).items()
        return "; ".join(f"{len(what)} {name}: {list(what[:5])}" for name, what in found if what)


def judge_staged(history: History) -> StagedVerdict:
    """All rules over all lanes."""
    sent = defaultdict(list)
    for record in history.sent:
        sent[record.lane].append(record)
    read = defaultdict(list)
    for reading in history.read:
        read[reading.lane].append(reading)
    verdict = StagedVerdict(
        rewritten=tuple(_rewritten(history)),
        end_moved_back=tuple(_moved_back(history.ends)),
    )
    for lane in dict.fromkeys([*sent, *read]):
        verdict = _joined(verdict, _judge_lane(lane, sent[lane], read[lane]))
    return verdict


def missing(sent: Iterable[Sent], read: Iterable[Read]) -> set[bytes]:
    """The marks that have to be read and are not yet."""
    lanes = defaultdict(list)
    for record in sent:
        lanes[record.lane].append(record)
    seen = {reading.mark for reading in read}
    return {record.mark for records in lanes.values() for record in _owed(records)} - seen


def _judge_lane(lane: Lane, sent: Sequence[Sent], read: Sequence[Read]) -> StagedVerdict:
    known = {record.mark: record for record in sent if not record.cancels}
    assert len(known) == sum(not record.cancels for record in sent), "the marks of a lane must differ"
    times_read = Counter(reading.mark for reading in read)
    delivered = [reading for reading in read if reading.mark in known]

    def found(records: Iterable[Sent | Read]) -> Found:
        return tuple((lane, record.mark) for record in records)

    return StagedVerdict(
        early=found(each for each in delivered if each.at_s < known[each.mark].due_s - EARLY_TOLERANCE_S),
        lost=found(record for record in _owed(sent) if record.mark not in times_read),
        twice=tuple((lane, mark) for mark, count in times_read.items() if count > 1),
        cancelled_yet_delivered=found(record for record in _cancelled(sent) if record.mark in times_read),
        reordered=found(_reordered(sent, delivered)),
        unexpected=tuple(
            (lane, mark) for mark in times_read if mark not in known or known[mark].outcome is Outcome.REFUSED
        ),
    )


def _chains(sent: Sequence[Sent]) -> Iterator[list[Sent]]:
    """Of every schedule id, what was sent with it, in order; what was refused never counted."""
    chains: dict[bytes, list[Sent]] = defaultdict(list)
    for record in sent:
        if record.schedule_id is not None and record.outcome is not Outcome.REFUSED:
            chains[record.schedule_id].append(record)
    return iter(chains.values())


def _owed(sent: Sequence[Sent]) -> Iterator[Sent]:
    """What was acknowledged, may not expire, and nobody tried to take back or replace."""
    taken_back = {id(record) for chain in _chains(sent) for record in chain[:-1]}
    for record in sent:
        is_promised = record.outcome is Outcome.ACKNOWLEDGED and not record.cancels and not record.may_expire
        if is_promised and id(record) not in taken_back:
            yield record


def _cancelled(sent: Sequence[Sent]) -> Iterator[Sent]:
    """What was taken back or replaced for certain: that was acknowledged before the record could be due."""
    for chain in _chains(sent):
        for index, record in enumerate(chain):
            if not record.cancels and any(
                later.outcome is Outcome.ACKNOWLEDGED and later.settled_s < record.due_s for later in chain[index + 1 :]
            ):
                yield record


def _reordered(sent: Sequence[Sent], delivered: Sequence[Read]) -> Iterator[Read]:
    """What comes after one of its kind that was sent later; repeats are judged elsewhere."""
    place = {record.mark: (record.order, index) for index, record in enumerate(sent) if record.order is not None}
    furthest: dict[Hashable, int] = {}
    seen: set[bytes] = set()
    for reading in delivered:
        if reading.mark not in place or reading.mark in seen:
            continue
        seen.add(reading.mark)
        order, index = place[reading.mark]
        if index < furthest.get(order, -1):
            yield reading
        furthest[order] = max(index, furthest.get(order, -1))


def _rewritten(history: History) -> Iterator[tuple[Lane, int]]:
    before = {(reading.lane, reading.offset): reading.mark for reading in history.read}
    after = {(reading.lane, reading.offset): reading.mark for reading in history.reread}
    for lane, offset in sorted(before.keys() | after.keys()) if after else ():
        if before.get((lane, offset)) != after.get((lane, offset)):
            yield lane, offset


def _moved_back(ends: Mapping[Hashable, Sequence[int]]) -> Iterator[tuple[Hashable, int, int]]:
    for asked, told in ends.items():
        for end, next_end in pairwise(told):
            if next_end < end:
                yield asked, end, next_end


def _joined(one: StagedVerdict, other: StagedVerdict) -> StagedVerdict:
    names = ("early", "lost", "twice", "cancelled_yet_delivered", "reordered", "unexpected")
    return evolve(one, **{name: getattr(one, name) + getattr(other, name) for name in names})
