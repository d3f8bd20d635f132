"""Which letters of a dead-letter topic have been dealt with: a ledger beside it, `<topic>.settled`.

Letters are dealt with in any order, as filters choose them, so a position does not tell. The ledger is a topic of one
partition with a record for every transaction that settled letters: which offsets, and what became of them. A redrive
writes it in the transaction that holds the copies. So a letter is settled when its copy is there and not before,
whoever is killed meanwhile; and two runs at once have one transactional id, by which the broker lets the later one go
on alone.

Records name the topic's id too: where a topic was deleted and made again, other letters have the old ones' offsets.
Nothing in the ledger is ever changed; it grows by a record of some hundred bytes for each transaction.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from tools.cli.errors import UsageMistake, refusal
from tools.cli.kafka import Kafka
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

SUFFIX = ".settled"
NAME_MAX = 249
TOPIC_EXISTS = 36
CONFIGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
REDRIVEN, DISCARDED, OPEN = "redriven", "discarded", "open"


def ledger_of(topic: str) -> str:
    """The topic in which it stands what became of this one's letters."""
    if len(name := topic + SUFFIX) > NAME_MAX:
        raise UsageMistake(f"{topic!r} leaves no room for the name of its ledger", f"{SUFFIX} is added to it")
    return name


def transactional_id(topic: str) -> str:
    """Who settles letters of a topic; there is one at a time."""
    return f"tidegate-dlq-{topic}"


@frozen
class Settlement:
    """Letters of one topic, and what became of them."""

    topic_id: str
    outcome: str
    run: str
    at_ms: int
    offsets: Mapping[int, Iterable[int]]
    """By partition, in ascending order."""

    def encoded(self) -> bytes:
        """As a record's value: offsets in a row are a pair, so that a thousand of them take little."""
        offsets = {str(partition): list(_runs(some)) for partition, some in self.offsets.items()}
        facts = {"topic_id": self.topic_id, "outcome": self.outcome, "run": self.run, "at_ms": self.at_ms}
        return json.dumps({**facts, "offsets": offsets}, separators=(",", ":")).encode()


def _runs(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    run: tuple[int, int] | None = None
    for offset in offsets:
        if run is not None and offset == run[1] + 1:
            run = (run[0], offset)
            continue
        if run is not None:
            yield run
        run = (offset, offset)
    if run is not None:
        yield run


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

    def count(self, start: int, end: int) -> int:
        """How many offsets in a range are settled."""
        return sum(max(0, min(last + 1, end) - max(first, start)) for first, last, _ in self._runs)


@define(eq=False)
class Ledger:
    """What the ledger of a topic says, by partition."""

    topic_id: str
    partitions: dict[int, SettledOffsets] = field(factory=lambda: defaultdict(SettledOffsets))

    def note(self, value: bytes | None) -> None:
        """A record of it. One that is none, or of an earlier topic of this name, says nothing."""
        try:
            data = json.loads(value or b"")
            if data["topic_id"] != self.topic_id:
                return
            outcome = str(data["outcome"])
            runs = [(int(where), int(a), int(b)) for where, some in data["offsets"].items() for a, b in some]
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        for partition, first, last in runs:
            if 0 <= first <= last:
                self.partitions[partition].add(first, last, outcome)


async def make_ledger(kafka: Kafka, topic: str) -> None:
    """Make the ledger of a topic, unless it is there."""
    configs = [CreatableTopicConfig(key, value) for key, value in CONFIGS.items()]
    wanted = CreatableTopic(ledger_of(topic), 1, -1, [], configs)
    timeout_ms = round(kafka.profile.timeout_s * 1_000)
    answer: Any = await kafka.call(CreateTopicsRequest(topics=[wanted], timeout_ms=timeout_ms, validate_only=False))
    for each in answer.topics:
        if each.error_code not in (0, TOPIC_EXISTS):
            raise refusal(each.error_code, repr(each.name), each.error_message)
