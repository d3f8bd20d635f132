"""Which letters of a dead-letter topic have been dealt with: a ledger beside it, `<topic>.settled`.

Letters are dealt with in any order, as filters choose them, so a position does not tell. The ledger is a compacted
topic of one partition. A record says which of a thousand offsets in a row are settled, and what became of them; its key
names the row, so that the last record of a row says it all and those before it go. A redrive writes the rows that it
has changed in the transaction that holds the copies. So a letter is settled when its copy is there and not before,
whoever is killed meanwhile; and two runs at once have one transactional id, by which the broker lets the later one go
on alone.

Keys name the topic's id too: where a topic was deleted and made again, other letters have the old ones' offsets. Rows
whose letters are gone, by retention or with their topic, are taken back by the next run that settles any. So a ledger
has no more records than the topic beside it has thousands of letters, and a few that wait for compaction.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field

from engine.errors import InvalidTopic

SUFFIX = ".settled"
NAME_MAX = 249
CONFIGS = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20), "segment.ms": str(7 * 24 * 3600 * 1000)}
"""Only what is not being written to any more is compacted: small segments, and none that stays open for ever."""
ROW = 1_000
"""Offsets that one record tells of. In the worst case, each settled otherwise than the next, it takes 15 KB."""
STALE_TOGETHER = 500
REDRIVEN, DISCARDED, OPEN = "redriven", "discarded", "open"


def ledger_of(topic: str) -> str:
    """The topic in which it stands what became of this one's letters."""
    if len(name := topic + SUFFIX) > NAME_MAX:
        raise InvalidTopic(f"{topic!r} leaves no room for the name of its ledger: {SUFFIX} is added to it")
    return name


def transactional_id(topic: str) -> str:
    """Who settles letters of a topic; there is one at a time. It begins as the topic does: so it is in the namespace of
    the tenant whose the topic is, and a rule with a prefix can be about both."""
    return f"{topic}.redrive"


@define(eq=False)
class SettledOffsets:
    """Of one partition: disjoint runs of offsets in order, each with what became of it."""

    _firsts: list[int] = field(factory=list)
    _runs: list[tuple[int, int, str]] = field(factory=list)

    def add(self, first: int, last: int, outcome: str) -> None:
        """What is settled already stays as it was settled first."""
        while first <= last:
            index = bisect_right(self._firsts, first)
            if index and self._runs[index - 1][1] >= first:
                first = self._runs[index - 1][1] + 1
                continue
            end = min(last, self._firsts[index] - 1) if index < len(self._firsts) else last
            if index and self._runs[index - 1][1:] == (first - 1, outcome):
                self._runs[index - 1] = (self._runs[index - 1][0], end, outcome)
            else:
                self._firsts.insert(index, first)
                self._runs.insert(index, (first, end, outcome))
            first = end + 1

    def _run_at(self, offset: int) -> tuple[int, int, str] | None:
        index = bisect_right(self._firsts, offset) - 1
        return self._runs[index] if index >= 0 and self._runs[index][1] >= offset else None

    def state(self, offset: int) -> str:
        """What became of a letter."""
        found = self._run_at(offset)
        return OPEN if found is None else found[2]

    def first_open(self, start: int) -> int:
        """The first offset from here on that is not settled."""
        while (found := self._run_at(start)) is not None:
            start = found[1] + 1
        return start

    def within(self, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """What is settled from one offset to another."""
        for index in range(max(bisect_right(self._firsts, first) - 1, 0), len(self._runs)):
            begin, end, outcome = self._runs[index]
            if begin > last:
                return
            if end >= first:
                yield max(begin, first), min(end, last), outcome

    def count(self, start: int, end: int) -> int:
        """How many offsets in a range are settled."""
        return sum(max(0, min(last + 1, end) - max(first, start)) for first, last, _ in self._runs)


Mark = tuple[bytes, bytes | None]
"""A record of the ledger: its key, and its value, None where it takes a row back."""


@define(eq=False)
class Ledger:
    """What the ledger of a topic says, by partition."""

    topic_id: str
    partitions: dict[int, SettledOffsets] = field(factory=lambda: defaultdict(SettledOffsets))
    _keys: dict[bytes, None] = field(factory=dict)
    """Of the rows that it has, those of earlier topics of this name too."""

    def note(self, key: bytes | None, value: bytes | None) -> None:
        """A record of it. One that is none, or of an earlier topic of this name, settles nothing."""
        if key is not None:
            self._keys.pop(key, None)
            if value is not None:
                self._keys[key] = None
        try:
            data = json.loads(value or b"")
            if data["topic_id"] != self.topic_id:
                return
            where = int(data["partition"])
            runs = [(int(a), int(b), str(outcome)) for outcome, some in data["settled"].items() for a, b in some]
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        for first, last, outcome in runs:
            if 0 <= first <= last:
                self.partitions[where].add(first, last, outcome)

    def settle(self, offsets: Mapping[int, Iterable[int]], outcome: str, run: str, at_ms: int) -> list[Mark]:
        """Letters are settled, by partition: the records that say so, which go with the transaction that does it."""
        rows: dict[tuple[int, int], None] = {}
        for partition, some in offsets.items():
            for offset in some:
                self.partitions[partition].add(offset, offset, outcome)
                rows[partition, offset // ROW] = None
        marks: list[Mark] = []
        for partition, row in rows:
            settled: dict[str, list[tuple[int, int]]] = {}
            for first, last, what in self.partitions[partition].within(row * ROW, (row + 1) * ROW - 1):
                settled.setdefault(what, []).append((first, last))
            facts = {"topic_id": self.topic_id, "partition": partition, "settled": settled, "run": run, "at_ms": at_ms}
            key = self._key(partition, row)
            self._keys[key] = None
            marks.append((key, json.dumps(facts, separators=(",", ":")).encode()))
        return marks

    def stale(self, starts: Mapping[int, int]) -> list[Mark]:
        """Records that take rows back whose letters are gone: some of them. `starts` is where partitions begin."""
        found: list[Mark] = []
        for key in list(self._keys):
            if len(found) == STALE_TOGETHER:
                break
            if self._is_stale(key, starts):
                del self._keys[key]
                found.append((key, None))
        return found

    def _is_stale(self, key: bytes, starts: Mapping[int, int]) -> bool:
        try:
            topic_id, partition, row = key.decode().split(":")
            is_gone = (int(row) + 1) * ROW <= starts.get(int(partition), 0)
        except ValueError:
            return False
        return topic_id != self.topic_id or is_gone

    def _key(self, partition: int, row: int) -> bytes:
        return f"{self.topic_id}:{partition}:{row}".encode()
