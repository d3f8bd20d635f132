"""The verdict of a run: what `tools/soak` judges, and what only several nodes can do wrong."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import asdict, field, frozen

from tools.chaos.workloads import COPIES, SOURCE, GroupHistory, Plain
from tools.soak.history import Verdict, judge
from tools.soak.staged_history import History, Read, StagedVerdict, judge_staged


@frozen
class ChaosVerdict:
    """What is wrong; empty where nothing is."""

    plain: Verdict
    """Of the idempotent producer."""
    copies: Verdict
    """Of the transactions that copy its records: lost, twice, reordered."""
    torn: tuple[tuple[int, bytes], ...]
    """In one copy and not in the other, which were written in one transaction."""
    unread: tuple[tuple[int, bytes], ...]
    """Acknowledged, and no member of the group got it."""
    commits_lost: tuple[tuple[int, int, int], ...]
    """(partition, offset that a member got, offset that was committed before)."""
    staged: StagedVerdict
    failures: tuple[str, ...]
    """What clients with their defaults were told."""
    others: Mapping[str, Verdict] = field(factory=dict)
    """Of clients beside librdkafka's, by their names."""

    @property
    def clean(self) -> bool:
        return (
            self.plain.clean
            and self.copies.clean
            and self.staged.clean
            and all(verdict.clean for verdict in self.others.values())
            and not (self.torn or self.unread or self.commits_lost or self.failures)
        )

    def summary(self) -> str:
        """How much of what, with the first few of each."""
        if self.clean:
            return "clean"
        parts = []
        for name, verdict in (("plain", self.plain), ("copies", self.copies), *self.others.items()):
            parts += [f"{name}: {len(what)} {kind} {list(what[:5])}" for kind, what in asdict(verdict).items() if what]
        for kind in ("torn", "unread", "commits_lost", "failures"):
            if what := getattr(self, kind):
                parts.append(f"{len(what)} {kind} {list(what[:5])}")
        if not self.staged.clean:
            parts.append(f"staged: {self.staged.summary()}")
        return "\n  ".join(parts)


def judge_chaos(
    plain: Plain,
    group: GroupHistory,
    history: History,
    failures: Sequence[str],
    *,
    copies: bool,
    others: Mapping[str, Verdict] | None = None,
) -> ChaosVerdict:
    """Over all that was sent and read; of the log, what was read at first counts, and that it was the same later."""
    chaos = {SOURCE, *COPIES}
    read = defaultdict(list)
    for each in history.read:
        if each.lane[0] in chaos:
            read[each.lane].append(each)
    by_topic = {name: {lane[1]: _marks(found) for lane, found in read.items() if lane[0] == name} for name in chaos}
    staged = judge_staged(_only_staged(history, chaos))
    in_group = {(partition, mark) for partition, marks in group.read.items() for mark in marks}
    copied, twin = (
        {(partition, mark) for partition, marks in by_topic[name].items() for mark in marks} for name in COPIES
    )
    return ChaosVerdict(
        plain=judge(plain.sent, by_topic[SOURCE], acknowledged=plain.acknowledged),
        copies=judge(by_topic[SOURCE], by_topic[COPIES[0]]) if copies else Verdict(),
        torn=tuple(sorted(copied ^ twin)),
        unread=tuple(found for found in plain.acknowledged if found not in in_group),
        commits_lost=tuple(group.repeated),
        staged=staged,
        failures=tuple(failures),
        others=others or {},
    )


def _marks(found: Sequence[Read]) -> list[bytes]:
    return [each.mark for each in found]


def _only_staged(history: History, others: set[str]) -> History:
    """Without what is judged elsewhere, except that what was read once has to be read again."""
    staged = History(
        sent=history.sent, read=[each for each in history.read if each.lane[0] not in others], ends=history.ends
    )
    staged.reread = [each for each in history.reread if each.lane[0] not in others]
    return staged
