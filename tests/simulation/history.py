"""What the clients of a simulation did and saw, and what is wrong with it."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import trio
from attrs import define, field, frozen

Fate = Literal["acknowledged", "refused", "unknown"]
Place = tuple[str, int]
"""A topic and one of its partitions."""
Show = Callable[[str], object]


@define
class Sent:
    """A record that a client sent: where, what it may be told, and what may be expected of it."""

    place: Place
    mark: str
    key: bytes | None = b"k"
    due_s: float = 0.0
    """Nobody may read it earlier."""
    is_ordered: bool = True
    may_expire: bool = False
    fate: Fate = "unknown"


@define
class Transaction:
    """Records that are to be seen together or not at all."""

    records: list[Sent]
    fate: Literal["committed", "aborted", "unknown"] = "unknown"


@frozen
class Anomaly:
    """Something that must not be."""

    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


@define
class History:
    """Everything in the order in which it happened."""

    sent: list[Sent] = field(factory=list)
    transactions: list[Transaction] = field(factory=list)
    anomalies: list[Anomaly] = field(factory=list)
    events: int = 0
    wall_slack_s: float = 0.0
    """By so much wall clocks differ, and what is due by them comes earlier or later."""
    show: Show | None = None
    """Called with every event, where somebody wants to read them."""
    _seen: dict[Place, dict[int, str]] = field(factory=dict)
    """What readers of committed records have found at which offset, whoever and whenever."""
    _ends: dict[Place, int] = field(factory=dict)
    """The furthest end of a partition that anybody was told of."""
    _moment: trio.Event = field(factory=trio.Event)
    _digest: "hashlib._Hash" = field(factory=hashlib.sha256)

    def note(self, *words: object) -> None:
        """An event, for the trace."""
        self.events += 1
        line = f"{trio.current_time():.9f} " + " ".join(map(str, words)) + "\n"
        self._digest.update(line.encode())
        if self.show is not None:
            self.show(line.rstrip())

    def acknowledged(self, records: Sequence[Sent]) -> None:
        """These are safe, a client was told."""
        for record in records:
            record.fate = "acknowledged"
        self.reach_moment()

    def reach_moment(self) -> None:
        """Now a fault would be hard to bear."""
        self._moment.set()
        self._moment = trio.Event()

    async def next_moment(self) -> None:
        """Wait for it."""
        await self._moment.wait()

    def wrong(self, kind: str, what: object) -> None:
        """An anomaly that a client met."""
        self.note("wrong", kind, what)
        self.anomalies.append(Anomaly(kind, str(what)))

    @property
    def trace_hash(self) -> str:
        """The same for the same events at the same times."""
        return self._digest.hexdigest()

    def saw(self, place: Place, found: Mapping[int, str]) -> None:
        """A client has read committed records at these offsets: at one offset there is one record, for ever."""
        seen = self._seen.setdefault(place, {})
        for offset, mark in found.items():
            if seen.setdefault(offset, mark) != mark:
                self.wrong("inconsistent offsets", f"{_text(place)} at {offset}: {mark}, before {seen[offset]}")
        early = {one.mark: one.due_s for one in self.sent if one.place == place and one.due_s}
        for mark in found.values():
            if trio.current_time() < early.get(mark, 0.0) - self.wall_slack_s:
                self.wrong("delivered before it was due", mark)

    def told_end(self, place: Place, end: int) -> None:
        """A client was told where the partition ends, for who reads everything."""
        self._ends[place] = max(end, self._ends.get(place, 0))

    def judge(self, place: Place, committed: Mapping[int, str], end: int | None = None) -> None:
        """Compare what a reader of committed records found in a partition in the end with what was sent there, and
        with what others were told before."""
        faults = _faults(place, list(committed.values()), self.sent, self.transactions)
        for kind, what in (*faults, *_lapses(committed, self._seen.get(place, {}))):
            self.wrong(kind, f"{_text(place)}: {what}")
        if end is not None and end < self._ends.get(place, 0):
            self.wrong("told end did not survive", f"{_text(place)}: {self._ends[place]} was told, {end} is left")


def _text(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def _lapses(committed: Mapping[int, str], seen: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """What was read once and is not there any more."""
    if committed or not seen:
        missing = [offset for offset in sorted(seen) if offset not in committed]
        yield from (("read and gone", f"{seen[offset]} at {offset}") for offset in missing)
    else:
        yield "read and gone", f"all {len(seen)}"


def _faults(
    place: Place, read: Sequence[str], sent: Sequence[Sent], transactions: Sequence[Transaction]
) -> Iterator[tuple[str, str]]:
    counts = Counter(read)
    here = [record for record in sent if record.place == place]
    known = {record.mark for record in here}
    for transaction in transactions:
        records = [record for record in transaction.records if record.place == place]
        known |= {record.mark for record in records}
        yield from _transaction_faults(transaction, records, counts)
    kept = [one for one in here if one.fate == "acknowledged" and not one.may_expire]
    yield from (("lost", one.mark) for one in kept if not counts[one.mark])
    yield from (("refused yet stored", one.mark) for one in here if one.fate == "refused" and counts[one.mark])
    held_back = {record.mark for record in here if record.due_s}
    twice = [mark for mark, count in counts.items() if count > 1]
    yield from (("released twice" if mark in held_back else "duplicate", mark) for mark in twice)
    yield from (("never sent", mark) for mark in counts if mark not in known)
    order = [record.mark for record in here if record.is_ordered and counts[record.mark]]
    if [mark for mark in read if mark in set(order)] != order:
        yield "reordered", f"{order[:5]}..."


def _transaction_faults(
    transaction: Transaction, here: Sequence[Sent], counts: Counter[str]
) -> Iterator[tuple[str, str]]:
    seen = [record.mark for record in here if counts[record.mark]]
    if transaction.fate == "committed" and len(seen) < len(here):
        yield "lost of a committed transaction", here[0].mark
    if transaction.fate == "aborted" and seen:
        yield "aborted yet read", seen[0]


def torn(transactions: Sequence[Transaction], read: set[str]) -> list[str]:
    """Transactions of which some records are seen and others not."""
    found = []
    for transaction in transactions:
        seen = [record.mark in read for record in transaction.records]
        if any(seen) and not all(seen):
            found.append(transaction.records[0].mark)
    return found
