"""What a client's producer was told and what its consumer has read, and the verdict over both."""

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol

from attrs import define, evolve, field

from tools.chaos.workloads import Actor
from tools.soak.history import Verdict, judge


@define(eq=False)
class ClientHistory:
    """Of one client. Its consumer may read a record again where it could not commit, but then the same one."""

    sent: dict[int, list[bytes]] = field(factory=lambda: defaultdict(list))
    """By partition, in the order of sending."""
    acknowledged: dict[tuple[int, bytes], int] = field(factory=dict)
    """(partition, value): the offset that the producer was told, or -1."""
    read: dict[int, dict[int, bytes]] = field(factory=lambda: defaultdict(dict))
    """By partition and offset."""
    failures: list[str] = field(factory=list)
    lock: threading.Lock = field(factory=threading.Lock)

    def note_acknowledged(self, partition: int, value: bytes, offset: int) -> None:
        """A producer was told so."""
        with self.lock:
            self.acknowledged[partition, value] = offset

    def note_read(self, partition: int, offset: int, value: bytes) -> None:
        """A consumer got it: at an offset there is one record, for ever."""
        with self.lock:
            found = self.read[partition].setdefault(offset, value)
            if found != value:
                self.failures.append(f"inconsistent: {value!r} at {partition}/{offset}, before it was {found!r}")

    def is_caught_up(self) -> bool:
        """Whether everything acknowledged was read."""
        with self.lock:
            read = {(partition, value) for partition, found in self.read.items() for value in found.values()}
            return self.acknowledged.keys() <= read

    def verdict(self) -> Verdict:
        """Lost, twice (in one partition or in two), reordered, at another place than the producer was told."""
        read = {partition: [found[offset] for offset in sorted(found)] for partition, found in self.read.items()}
        verdict = judge(self.sent, read, acknowledged=self.acknowledged)
        places = Counter(value for values in read.values() for value in set(values))
        twice = tuple(("partitions", value) for value, count in places.items() if count > 1)
        moved = tuple(
            ("moved", (partition, offset, value))
            for (partition, value), offset in self.acknowledged.items()
            if offset >= 0 and self.read[partition].get(offset, value) != value
        )
        return evolve(verdict, duplicated=(*verdict.duplicated, *twice), unexpected=(*verdict.unexpected, *moved))


class OtherClient(Protocol):
    """A client beside librdkafka's, for a whole run."""

    history: ClientHistory

    @property
    def topics(self) -> Sequence[str]:
        """Which it needs, each with `PARTITIONS` partitions."""
        ...

    @property
    def writers(self) -> Sequence[Actor]: ...

    @property
    def readers(self) -> Sequence[Actor]: ...

    def is_caught_up(self) -> bool:
        """Whether its reader has all that it should."""
        ...

    def verdict(self) -> Verdict:
        """Over all that it sent and read."""
        ...


PARTITIONS = 3
