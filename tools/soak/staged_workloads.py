"""What is done to a broker whose records wait: one class for each way to use delay, cancel, priority, transactions.

Every workload has topics and a producer of its own and notes in a `History` what it did. It runs in a thread until it
is told to stop, through any number of crashes of the broker.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from attrs import define, field
from confluent_kafka import KafkaError, KafkaException, Producer

from tools.soak.staged_history import History, Outcome, Sent

PARTITIONS = 2
DRAIN_S = 60.0
QUEUED_MAX = 5_000
CALL_S = 5.0
PAUSE_S = 0.004
RETRY_S = 0.1
DELAYS_MS = (0, 30, 100, 300, 700)
PRIORITIES = (b"critical", b"high", b"normal", b"low", b"background")

Headers = dict[str, bytes]


@define(eq=False)
class StagedWorkload:
    """The base of all: sends records and notes what becomes of them."""

    bootstrap: str
    seed: int
    history: History = field(factory=History)
    failures: list[str] = field(factory=list)
    stopping: threading.Event = field(factory=threading.Event)
    chance: random.Random = field(init=False)
    producer: Producer = field(init=False)
    _number: int = 0
    _ends_s: float = 0.0

    TOPICS: ClassVar[dict[str, dict[str, str]]] = {}
    """The topics that it writes, with their config."""

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.producer = Producer(self.settings())

    def settings(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 2,
            "message.timeout.ms": 300_000,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            "log_level": 0,
        }

    def run(self) -> None:
        """Until `stopping` is set; then waits for what is under way."""
        try:
            self.prepare()
            while not self.stopping.is_set():
                self.step()
                self.producer.poll(PAUSE_S)
                while len(self.producer) > QUEUED_MAX and not self.stopping.is_set():
                    self.producer.poll(PAUSE_S)
            self.flush()
        except Exception as error:
            self.failures.append(f"{type(self).__name__}: {error!r}")
            raise

    def is_at_work(self) -> bool:
        """Whether anything has been acknowledged."""
        return any(record.outcome is Outcome.ACKNOWLEDGED for record in list(self.history.sent))

    def flush(self) -> None:
        """Until everything sent is acknowledged or refused."""
        while left := self.producer.flush(1.0):
            self.be_patient(f"{left} records are neither acknowledged nor refused")

    def be_patient(self, trouble: str) -> None:
        """The broker is away again and again; but once it stays, what is under way has to come to an end."""
        if self.stopping.is_set():
            self._ends_s = self._ends_s or time.monotonic() + DRAIN_S
            if time.monotonic() > self._ends_s:
                raise RuntimeError(f"{trouble}, {DRAIN_S:g} s after the last crash")

    def prepare(self) -> None:
        """Before the first step."""

    def step(self) -> None:
        """Send a few records."""
        raise NotImplementedError

    def send(self, topic: str, partition: int, delay_ms: int, headers: Headers, **more: Any) -> Sent:
        """Send one record that says its name, held back for `delay_ms` if that is not 0."""
        self._number += 1
        mark = b"%s-%d" % (topic.encode(), self._number)
        if delay_ms:
            headers = {**headers, "tide-delay": b"%d" % delay_ms}
        now_s = time.monotonic()
        sent = Sent((topic, partition), mark, now_s, now_s + delay_ms / 1000, **more)
        self.history.sent.append(sent)
        self.producer.produce(
            topic,
            mark,
            key=sent.schedule_id or b"key",
            partition=partition,
            headers=list(headers.items()),
            on_delivery=lambda error, _: self.delivered(sent, error),
        )
        return sent

    def delivered(self, sent: Sent, error: KafkaError | None) -> None:
        """The producer's report of one record."""
        if error is not None:
            self.failures.append(str(error))
        else:
            self.acknowledged(sent)

    def acknowledged(self, sent: Sent) -> None:
        sent.outcome, sent.settled_s = Outcome.ACKNOWLEDGED, time.monotonic()

    def schedule(self, topic: str, partition: int, delay_ms: int, schedule_id: bytes) -> Sent:
        headers = {"tide-schedule-id": schedule_id}
        return self.send(topic, partition, delay_ms, headers, schedule_id=schedule_id)

    def cancel(self, topic: str, partition: int, schedule_id: bytes) -> Sent:
        return self.send(topic, partition, 0, {"tide-cancel": schedule_id}, schedule_id=schedule_id, cancels=True)


class Delayed(StagedWorkload):
    """Delays of all lengths, in batches with records that are not held at all."""

    TOPICS: ClassVar = {"soak-delayed": {}}

    def step(self) -> None:
        for partition in range(PARTITIONS):
            delay_ms = self.chance.choice(DELAYS_MS)
            # Records of one delay fall due in the order in which they came.
            self.send("soak-delayed", partition, delay_ms, {}, order=delay_ms)


class Cancelling(StagedWorkload):
    """Schedules, and takes some back: in time, too late, or never."""

    TOPICS: ClassVar = {"soak-cancelled": {}}
    _open: list[Sent]

    def prepare(self) -> None:
        self._open = []

    def step(self) -> None:
        partition = self.chance.randrange(PARTITIONS)
        name = b"c%d" % len(self.history.sent)
        self._open.append(self.schedule("soak-cancelled", partition, self.chance.choice(DELAYS_MS[2:]), name))
        if self.chance.random() < 0.6:
            self._cancel_one()

    def _cancel_one(self) -> None:
        taken = self._open.pop(self.chance.randrange(max(0, len(self._open) - 50), len(self._open)))
        assert taken.schedule_id is not None
        self.cancel(*taken.lane, taken.schedule_id)


class Replacing(StagedWorkload):
    """The same few ids again and again: most of what is scheduled is replaced before it is due."""

    TOPICS: ClassVar = {"soak-replaced": {}}
    IDS = 200

    def step(self) -> None:
        name = self.chance.randrange(self.IDS)
        self.schedule("soak-replaced", name % PARTITIONS, self.chance.choice(DELAYS_MS[1:]), b"r%d" % name)


class Prioritised(StagedWorkload):
    """Lanes, some records delayed, some with a time to live that ends before anybody reads them."""

    TOPICS: ClassVar = {"soak-prioritised": {"priority.enable": "true"}}

    def step(self) -> None:
        for partition in range(PARTITIONS):
            headers: Headers = {}
            priority = self.chance.choice([None, *PRIORITIES])
            if priority is not None:
                headers["tide-priority"] = priority
            may_expire = self.chance.random() < 0.2
            if may_expire:
                headers["tide-ttl"] = b"%d" % self.chance.choice((1, 20, 200))
            delay_ms = self.chance.choice((0, 0, 0, *DELAYS_MS))
            # A lane is a queue: what was ready at once stays in its order.
            order = (priority or b"normal") if delay_ms == 0 else None
            self.send("soak-prioritised", partition, delay_ms, headers, may_expire=may_expire, order=order)


class Transactional(StagedWorkload):
    """Transactions over a plain and a prioritised topic: held and immediate records, cancellations; some abort."""

    PLAIN, LANES = "soak-transactions", "soak-transactions-prioritised"
    TOPICS: ClassVar = {PLAIN: {}, LANES: {"priority.enable": "true"}}
    _scheduled: list[Sent]

    def settings(self) -> dict[str, Any]:
        # No transaction may be ended by its timeout: the producer has to see the end that it asked for.
        return {**super().settings(), "transactional.id": f"soak-{self.seed}", "transaction.timeout.ms": 300_000}

    def prepare(self) -> None:
        self._scheduled = []
        self.patiently(self.producer.init_transactions)

    def step(self) -> None:
        first = len(self.history.sent)
        self.producer.begin_transaction()
        for _ in range(self.chance.randrange(1, 6)):
            self._one()
        # What was not sent yet would never be, if the transaction is aborted.
        self.flush()
        commit = self.chance.random() < 0.7
        began_s = time.monotonic()
        self.patiently(self.producer.commit_transaction if commit else self.producer.abort_transaction)
        self._settle(self.history.sent[first:], commit, began_s)

    def _one(self) -> None:
        partition = self.chance.randrange(PARTITIONS)
        topic = self.chance.choice((self.PLAIN, self.LANES))
        delay_ms = self.chance.choice((0, 100, 300, 700))
        if self._scheduled and self.chance.random() < 0.3:
            taken = self._scheduled.pop(self.chance.randrange(len(self._scheduled)))
            assert taken.schedule_id is not None
            self.cancel(*taken.lane, taken.schedule_id)
        elif delay_ms:
            name = b"t%d" % len(self.history.sent)
            self._scheduled.append(self.schedule(topic, partition, delay_ms, name))
            del self._scheduled[:-20]
        else:
            self.send(topic, partition, 0, {}, order="immediate")

    def _settle(self, sent: Sequence[Sent], commit: bool, began_s: float) -> None:
        now_s = time.monotonic()
        for record in sent:
            record.outcome = Outcome.ACKNOWLEDGED if commit else Outcome.REFUSED
            record.settled_s = now_s
            # Nobody may see it before its transaction is committed.
            record.due_s = max(record.due_s, began_s)
        dropped = {id(record) for record in sent if not commit}
        self._scheduled = [record for record in self._scheduled if id(record) not in dropped]

    def acknowledged(self, sent: Sent) -> None:
        """Says nothing yet: the end of its transaction decides."""

    def patiently(self, call: Callable[[float], object]) -> None:
        """What takes longer than its time may be resumed by calling it again."""
        while True:
            try:
                call(CALL_S)
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
                self.be_patient(str(error))
                time.sleep(RETRY_S)


WORKLOADS: tuple[type[StagedWorkload], ...] = (Delayed, Cancelling, Replacing, Prioritised, Transactional)
