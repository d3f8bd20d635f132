"""What the clients of a simulation did and saw, and what is wrong with it."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import trio
from attrs import define, field, frozen

Fate = Literal["acknowledged", "refused", "unknown"]
Place = tuple[str, int]
"""A topic and one of its partitions."""


@define
class Sent:
    """A record that a client sent: where, what it may be told, and what may be expected of it."""

    place: Place
    mark: str
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
    _digest: "hashlib._Hash" = field(factory=hashlib.sha256)

    def note(self, *words: object) -> None:
        """An event, for the trace."""
        self.events += 1
        line = f"{trio.current_time():.9f} " + " ".join(map(str, words)) + "\n"
        self._digest.update(line.encode())

    def wrong(self, kind: str, what: object) -> None:
        """An anomaly that a client met."""
        self.note("wrong", kind, what)
        self.anomalies.append(Anomaly(kind, str(what)))

    @property
    def trace_hash(self) -> str:
        """The same for the same events at the same times."""
        return self._digest.hexdigest()

    def judge(self, place: Place, committed: Sequence[str]) -> None:
        """Compare what a reader of committed records found in a partition with what was sent there."""
        for kind, what in _faults(place, committed, self.sent, self.transactions):
            self.wrong(kind, f"{place[0]}-{place[1]}: {what}")


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
    yield from (("duplicate", mark) for mark, count in counts.items() if count > 1)
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
