"""kill -9 of executors, driver and broker under an archive that follows, on a standalone cluster: is each record there
once?

    python -m compat_tests.spark.kills --kills 30 --seed 7 --format delta [--on-s3]

The tests do a short form of it.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field
from confluent_kafka import Producer

from compat_tests.admin import create_topic
from compat_tests.groups.broker import MortalBroker, mortal_broker
from compat_tests.spark.kill_places import ArchivePlace, in_bucket, in_folder
from compat_tests.spark.standalone import PATIENCE_S, Standalone, Submission, standalone
from tools.pipelines.session import spark_session
from tools.reference.spark import MORE, connector_jars

TOPIC, PARTITIONS = "orders", 2
VICTIMS = ("executor", "broker", "driver")
Place = tuple[int, int]
Records = dict[Place, bytes]


@define(eq=False)
class Writer:
    """Writes numbers until told to stop, over restarts of the broker; keeps what the broker acknowledged, and where."""

    bootstrap: str
    acknowledged: Records = field(factory=dict)
    failed: list[str] = field(factory=list)
    _over: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        settings = {"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 5}
        producer = Producer({**settings, "message.timeout.ms": PATIENCE_S * 1000})
        number = 0
        while not self._over.wait(0.01):
            value = b"%d" % number
            producer.produce(TOPIC, value, b"k", number % PARTITIONS, on_delivery=self._delivered)
            producer.poll(0)
            number += 1
        producer.flush(PATIENCE_S)

    def stop(self) -> None:
        self._over.set()

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        self.acknowledged[message.partition(), message.offset()] = message.value()


@contextmanager
def writing(bootstrap: str) -> Iterator[Writer]:
    """A writer at work; with the block's end all that it wrote is acknowledged."""
    writer = Writer(bootstrap)
    thread = threading.Thread(target=writer.run)
    thread.start()
    try:
        yield writer
    finally:
        writer.stop()
        thread.join()


@define(eq=False)
class Kills:
    """An archive that follows a topic while whatever takes part in it is killed."""

    cluster: Standalone
    broker: MortalBroker
    place: ArchivePlace
    kind: str
    chance: random.Random

    def run(self, victims: Sequence[str]) -> Records:
        """Kills these one after the other, each at an instant of its own, and lets it come to an end; what was
        written."""
        create_topic(self.broker.bootstrap, TOPIC, PARTITIONS)
        with writing(self.broker.bootstrap) as writer:
            remaining = list(victims)
            while remaining:
                with self._following() as submission:
                    self._until_the_driver(submission, remaining)
        assert writer.failed == []
        status, said = self.cluster.ran("archive", *self._options(), settings=self.place.settings, jars=self._jars())
        assert status == 0, said[-3000:]
        return writer.acknowledged

    def _until_the_driver(self, submission: Submission, victims: list[str]) -> None:
        """The driver is the last that can be killed of a submission."""
        while victims:
            self._committed_more(submission)
            time.sleep(self.chance.uniform(0, 2))
            victim = victims.pop(0)
            print(f"{self._commits()} commits: kills the {victim}", file=sys.stderr, flush=True)
            if victim == "driver":
                submission.kill()
                return
            self._kill(victim)

    def _kill(self, victim: str) -> None:
        if victim == "broker":
            self.broker.restart()
            return
        for pid in self.chance.sample(found := self.cluster.executors(), min(1, len(found))):
            os.kill(pid, signal.SIGKILL)

    def _committed_more(self, submission: Submission) -> None:
        before, deadline = self._commits(), time.monotonic() + PATIENCE_S
        while self._commits() <= before:
            assert submission.process.poll() is None, submission.said()[-3000:]
            assert time.monotonic() < deadline, f"no commit after {before}: {submission.said()[-3000:]}"
            time.sleep(0.05)

    def _commits(self) -> int:
        return self.place.commits()

    @contextmanager
    def _following(self) -> Iterator[Submission]:
        follow = ["--follow", "--interval", "0", "--retries", "1000", "--max-records", "200"]
        options = [*self._options(), *follow]
        with self.cluster.submitted("archive", *options, settings=self.place.settings, jars=self._jars()) as submission:
            yield submission

    def _options(self) -> list[str]:
        common = ["--bootstrap", self.broker.bootstrap, "--topics", TOPIC, "--archive", self.place.address]
        return [*common, "--format", self.kind]

    def _jars(self) -> list[str]:
        return connector_jars(self.needs)

    @property
    def needs(self) -> list[str]:
        """What Spark must have beside the connector."""
        return [*self.place.needs, *([] if self.kind == "parquet" else [self.kind])]


def faults(spark: Any, archive: str, kind: str, written: Records) -> list[str]:
    """What is wrong with an archive of these records."""
    place = archive if kind == "parquet" else f"{archive}/topic={TOPIC}"
    rows = spark.read.format(kind).load(place).select("partition", "offset", "value").collect()
    found = Counter((row.partition, row.offset) for row in rows)
    values = {(row.partition, row.offset): bytes(row.value) for row in rows}
    told = [f"{each} is there {count} times" for each, count in found.items() if count > 1]
    told += [f"{each} is missing" for each in written if each not in found]
    told += [f"{each} is another" for each, value in written.items() if values.get(each, value) != value]
    # Nothing but this writer writes here, and an idempotent one leaves nothing that it does not hear of.
    return told + [f"{each} was never written" for each in found if each not in written]


@contextmanager
def playground(folder: Path, kind: str, seed: int, *, on_s3: bool = False) -> Iterator[Kills]:
    """A cluster and a broker of one's own, and an object store where the archive is to lie in one."""
    with ExitStack() as stack:
        cluster = stack.enter_context(standalone(folder / "cluster"))
        broker = stack.enter_context(mortal_broker({}))
        place = stack.enter_context(in_bucket(folder / "objects")) if on_s3 else in_folder(folder / "archive")
        yield Kills(cluster, broker, place, kind, random.Random(seed))


def main() -> int:
    parser = argparse.ArgumentParser(prog="kills", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=["parquet", *(name for name in MORE if name != "s3")], default="parquet")
    parser.add_argument("--on-s3", action="store_true", help="the archive lies in an object store")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="spark-kills-") as folder,
        playground(Path(folder), given.format, given.seed, on_s3=given.on_s3) as kills,
    ):
        victims = [kills.chance.choice(VICTIMS) for _ in range(given.kills)]
        written = kills.run(victims)
        spark = spark_session("kills", kills.place.settings, kills.needs)
        wrong = faults(spark, kills.place.address, given.format, written)
    print("\n".join(wrong[:20]))
    print(f"{len(written):,} records, {dict(Counter(victims))} killed: {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
