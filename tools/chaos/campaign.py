"""A run: load, faults one after the other, and a verdict over everything that clients saw."""

import random
import statistics
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Protocol

from attrs import define, field, frozen
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tools.chaos.client_history import PARTITIONS as OTHERS_PARTITIONS
from tools.chaos.client_history import OtherClient
from tools.chaos.cluster import ChaosCluster
from tools.chaos.faults import WHOLE_S, Begin
from tools.chaos.others import OTHERS
from tools.chaos.verdict import ChaosVerdict, judge_chaos
from tools.chaos.workloads import (
    COPIES,
    SOURCE,
    SOURCE_PARTITIONS,
    STAGED,
    Actor,
    GroupHistory,
    Loop,
    Member,
    Plain,
    most_told,
)
from tools.soak.staged_crash import Reader, read_again, wait_until_read
from tools.soak.staged_history import History
from tools.soak.staged_workloads import PARTITIONS, StagedWorkload

CALM_S = 2.0
"""After a fault, so that nothing of it is left when the next begins, and there is a last acknowledgement before."""
MEMBERS = 2
BALANCED_S = 30.0
"""So long half of the faults wait for what the fault before has moved to move back."""
END_S = 120.0
"""So long clients have to come to an end, once nothing troubles the cluster any more."""


class Runs(Protocol):
    """What has a thread of its own."""

    stopping: threading.Event
    failures: list[str]

    def run(self) -> None: ...


@define(eq=False)
class Load:
    """All clients of a run."""

    plain: Plain
    loop: Loop
    members: list[Member]
    staged: list[StagedWorkload]
    reader: Reader
    places: list[TopicPartition]
    others: dict[str, OtherClient]

    @classmethod
    def make(cls, bootstrap: str, seed: int, leave_out: Collection[str], clients: Sequence[str]) -> "Load":
        """On topics that are made here."""
        staged = [kind for kind in STAGED if kind.__name__ not in leave_out]
        plain = Plain(bootstrap, seed)
        others = {name: OTHERS[name].make(bootstrap, seed, plain) for name in clients}
        places = _make_topics(bootstrap, staged, [topic for each in others.values() for topic in each.topics])
        group = GroupHistory()
        return cls(
            plain,
            Loop(bootstrap, seed),
            [Member(bootstrap, seed, group) for _ in range(MEMBERS)],
            [kind(bootstrap, seed + place) for place, kind in enumerate(staged)],
            Reader(bootstrap, places),
            places,
            others,
        )

    @property
    def other_writers(self) -> list[Actor]:
        """Of the clients beside librdkafka's."""
        return [actor for each in self.others.values() for actor in each.writers]

    @property
    def other_readers(self) -> list[Actor]:
        """Likewise."""
        return [actor for each in self.others.values() for actor in each.readers]

    def failures(self) -> list[str]:
        """What no client should have been told."""
        actors = [self.plain, self.loop, *self.members, *self.other_writers, *self.other_readers]
        lists = [self.reader.failures, *(each.failures for each in actors)] + [work.failures for work in self.staged]
        lists += [each.history.failures for each in self.others.values()]
        return [failure for failures in lists for failure in failures]


@define(eq=False)
class Report:
    """What a run did and found."""

    faults: int = 0
    failovers_s: list[float] = field(factory=list)
    """Of killed nodes that led something, in a cluster that had got over what was before."""
    soon_s: list[float] = field(factory=list)
    """Likewise, soon after another fault: clients may still be waiting before they connect to a node again."""
    whole_s: list[float] = field(factory=list)
    verdict: ChaosVerdict | None = None

    def distribution(self) -> str:
        """Of the failovers."""
        kinds = {"failovers": self.failovers_s, "failovers soon after another fault": self.soon_s}
        return "; ".join(f"{name}: {_distribution(times)}" for name, times in kinds.items())


def _distribution(times_s: Sequence[float]) -> str:
    if not times_s:
        return "none"
    ordered = sorted(times_s)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"{len(ordered)}, p50 {statistics.median(ordered):.2f} s, p99 {p99:.2f} s, max {ordered[-1]:.2f} s"


def run(
    cluster: ChaosCluster,
    plan: Sequence[Begin],
    seed: int,
    say: Callable[[str], None],
    *,
    leave_out: Collection[str] = (),
    clients: Sequence[str] = (),
) -> Report:
    """The faults of the plan, in order, under load; some workloads may be left out, by the names of their classes, and
    other clients be there beside librdkafka's."""
    chance = random.Random(seed)
    load = Load.make(cluster.bootstrap, seed, leave_out, clients)
    copying = [] if Loop.__name__ in leave_out else [load.loop]
    report = Report()
    with running(load.reader):
        with running(*load.members, *copying, *load.other_readers):
            with running(load.plain, *load.staged, *load.other_writers):
                wait_until_acknowledged(load.plain)
                cluster.wait_until_whole(WHOLE_S)
                time.sleep(CALM_S)
                for number, begin in enumerate(plan, 1):
                    is_settled = settles(cluster, chance)
                    told = suffer(cluster, begin, chance, load.plain, report, is_settled=is_settled)
                    say(f"{number:4} {'' if is_settled else 'soon: '}{told}")
                    if failures := load.failures():
                        say(f"     clients could not go on: {failures[:3]}")
                        break
            say(f"the producers have ended; the readers read what is left; {load.loop.summary()}")
            _wait_until_caught_up(load, copies=bool(copying))
        history = History()
        history.sent = [record for work in load.staged for record in work.history.sent]
        wait_until_read(history, load.reader)
    history.read = load.reader.read
    history.reread = read_again(cluster.bootstrap, load.places, len(history.read))
    say(load.loop.summary())
    say(f"members were told {most_told([text for each in load.members for text in each.troubles]) or 'nothing'}")
    others = {name: each.verdict() for name, each in load.others.items()}
    for name, each in load.others.items():
        say(f"{name}: {len(each.history.acknowledged)} records acknowledged")
    report.verdict = judge_chaos(
        load.plain, load.members[0].group, history, load.failures(), copies=bool(copying), others=others
    )
    return report


def settles(cluster: ChaosCluster, chance: random.Random) -> bool:
    """Half of the faults find a cluster that has got over the one before, as most do in life; the others come soon."""
    if chance.random() < 0.5 or not cluster.wait_until_balanced(BALANCED_S):
        return False
    time.sleep(CALM_S)
    return True


def suffer(
    cluster: ChaosCluster,
    begin: Begin,
    chance: random.Random,
    plain: Plain,
    report: Report,
    *,
    is_settled: bool = False,
) -> str:
    """One fault, from its beginning until the cluster is whole again; tells it in a line."""
    before = cluster.standing()
    began_s = time.monotonic()
    fault = begin(cluster, chance)
    time.sleep(fault.lasts_s)
    fault.heal()
    healed_s = time.monotonic()
    whole_s = cluster.wait_until_whole(WHOLE_S)
    # Who was cut off from etcd learns only now that it has no session any more, and says until then that all is well.
    time.sleep(CALM_S)
    cluster.wait_until_whole(WHOLE_S)
    _wait_until_acknowledged_since(plain, healed_s)
    report.faults += 1
    report.whole_s.append(whole_s)
    partitions = {index for victim in fault.victims for index in before.led_by(victim, plain.topic)}
    gap = longest_gap(plain, partitions or set(range(plain.partitions)), began_s)
    if fault.victims and partitions:
        (report.failovers_s if is_settled else report.soon_s).append(gap.lasts_s)
    return f"{fault.words}: {gap.words(began_s)}, in sync {whole_s:.1f} s after it was healed"


@frozen(order=True)
class Gap:
    """A time without an acknowledgement of one partition."""

    lasts_s: float
    since_s: float
    partition: int

    def words(self, began_s: float) -> str:
        """How long, and where: a partition may stand still when it moves back, as well as when its leader goes."""
        return (
            f"acknowledged again after {self.lasts_s:.2f} s"
            f" (partition {self.partition}, {self.since_s - began_s:+.2f} s from the fault)"
        )


def longest_gap(plain: Plain, partitions: set[int], began_s: float) -> Gap:
    """The longest of all these partitions, from the last acknowledgement before the fault on."""
    gaps = []
    for index in partitions:
        times = list(plain.acked_s[index])
        first = next((place for place, at_s in enumerate(times) if at_s >= began_s), len(times))
        times = [*times[max(0, first - 1) :], time.monotonic()]
        gaps += [Gap(later - earlier, earlier, index) for earlier, later in pairwise(times)]
    return max(gaps)


def _make_topics(
    bootstrap: str, kinds: Sequence[type[StagedWorkload]], of_others: Sequence[str]
) -> list[TopicPartition]:
    """All of them; the places that are read are those of the staged records and of the copies."""
    staged = {name: config for kind in kinds for name, config in kind.TOPICS.items()}
    wanted = [NewTopic(name, PARTITIONS, config=config) for name, config in staged.items()]
    wanted += [NewTopic(name, SOURCE_PARTITIONS) for name in (SOURCE, *COPIES)]
    wanted += [NewTopic(name, OTHERS_PARTITIONS) for name in of_others]
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for made in admin.create_topics(wanted).values():
        made.result(30)
    places = [TopicPartition(name, index, OFFSET_BEGINNING) for name in staged for index in range(PARTITIONS)]
    return places + [
        TopicPartition(name, index, OFFSET_BEGINNING)
        for name in (SOURCE, *COPIES)
        for index in range(SOURCE_PARTITIONS)
    ]


@contextmanager
def running(*actors: Runs) -> Iterator[None]:
    """Each in a thread of its own until the block ends."""
    threads = [threading.Thread(target=actor.run, daemon=True) for actor in actors]
    for thread in threads:
        thread.start()
    try:
        yield
        patience_s = END_S
    except BaseException:
        patience_s = 0.0
        raise
    finally:
        for actor in actors:
            actor.stopping.set()
        deadline = time.monotonic() + patience_s
        for actor, thread in zip(actors, threads, strict=True):
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive() and patience_s:
                actor.failures.append(f"{type(actor).__name__}: a call of its client has not come back in {END_S:g} s")


def wait_until_acknowledged(plain: Plain) -> None:
    """Until each partition has something."""
    deadline = time.monotonic() + WHOLE_S
    while len(plain.acked_s) < plain.partitions:
        if time.monotonic() > deadline:
            raise RuntimeError(f"nothing is acknowledged: {plain.failures[:3]}")
        time.sleep(0.05)


def _wait_until_acknowledged_since(plain: Plain, since_s: float) -> None:
    """Until each partition has something that was acknowledged after that."""
    deadline = time.monotonic() + WHOLE_S
    while not all(plain.acked_s[index][-1] > since_s for index in range(plain.partitions)):
        if time.monotonic() > deadline or plain.failures:
            raise RuntimeError(f"nothing is acknowledged any more: {plain.failures[:3]}")
        time.sleep(0.05)


def _wait_until_caught_up(load: Load, *, copies: bool) -> None:
    """Until the group and the copies have what was acknowledged; what stays missing is for the judge to name."""
    wanted = set(load.plain.acknowledged)
    deadline = time.monotonic() + WHOLE_S
    while time.monotonic() < deadline:
        group = {
            (partition, mark) for partition, marks in list(load.members[0].group.read.items()) for mark in list(marks)
        }
        copied = {(each.lane[1], each.mark) for each in list(load.reader.read) if each.lane[0] == COPIES[1]}
        others = all(each.is_caught_up() for each in load.others.values())
        if others and wanted <= group and (wanted <= copied or not copies):
            return
        time.sleep(0.5)
