"""Records on their way to a broker: sent while more are read, in transactions if one likes, and what became of them."""

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from attrs import define, field, frozen

from tools.cli.answers import HINTS, METADATA, Answer, Answers
from tools.cli.errors import CannotReach, CliError, Refused, UsageMistake, refusal
from tools.cli.inputs import NewRecord
from tools.cli.kafka import UNKNOWN_TOPIC, Kafka, client_options, reaching, stopped
from tools.cli.profiles import Profile
from tools.cli.progress import Progress

WINDOW = 5_000
"""How many records may be on their way before the first of them is waited for."""
WATCH_S = 1.0
STOP_S = 2.0
"""How long a producer that has failed may take to end."""
INVALID_TOPIC = 17
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@define
class Sent:
    """What became of the records."""

    topic: str
    records: int = 0
    held: int = 0
    transactions: int = 0
    made_topic: bool = False
    """Whether the topic was not there before."""
    answers: Answers = field(factory=Answers)
    placed: dict[int, dict[str, int]] = field(factory=dict)

    def add(self, metadata: Any) -> None:
        """One more, as the producer was told; None if nobody was asked to say that it has arrived."""
        self.records += 1
        if metadata is None:
            return
        if metadata.offset is None or metadata.offset < 0:
            # A record that is held back has no offset yet.
            self.held += 1
            return
        known = {"records": 0, "first_offset": metadata.offset, "last_offset": metadata.offset}
        place = self.placed.setdefault(metadata.partition, known)
        place["records"] += 1
        place["first_offset"] = min(place["first_offset"], metadata.offset)
        place["last_offset"] = max(place["last_offset"], metadata.offset)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        partitions = [{"partition": number, **place} for number, place in sorted(self.placed.items())]
        facts = {"topic": self.topic, "records": self.records, "held": self.held, "partitions": partitions}
        return {**facts, "made_topic": self.made_topic}


@frozen
class Transactions:
    """How the records are put into transactions."""

    transactional_id: str
    timeout_ms: int
    every: int | None = None
    """So many records in each; all in one if it is None."""
    is_aborted: bool = False

    def options(self) -> dict[str, Any]:
        """As aiokafka's producer takes them."""
        return {"transactional_id": self.transactional_id, "transaction_timeout_ms": self.timeout_ms}


@define(eq=False)
class Sender:
    """Sends records of one topic and settles them in the order in which they were sent."""

    producer: Any
    sent: Sent
    shown: Progress
    transactions: Transactions | None = None
    timeout_s: float = 15.0
    """How long nothing may arrive while something is on its way."""
    _on_their_way: "deque[Any]" = field(factory=deque)
    _in_transaction: int | None = None
    _last_s: float = 0.0

    async def run(self, chunks: AsyncIterator[list[NewRecord]]) -> None:
        """Send all records; what goes wrong aborts the transaction that is open."""
        try:
            async for records in self._watched(chunks):
                for record in records:
                    await self._begin()
                    if not self._on_their_way:
                        self._last_s = time.monotonic()
                    self._on_their_way.append(await self._send(record))
                    await self._end_if_full()
                    if len(self._on_their_way) >= WINDOW:
                        await self.settle()
                # Whoever types, or follows a file, hears of a refusal at once and not after thousands of records.
                await self.settle(only_done=True)
            await self.settle()
        except UsageMistake as error:
            # Bad input is no reason to forget what is on its way.
            await self.settle()
            await self._abort(error)
            raise
        except BaseException as error:
            await self._abort(error)
            raise
        await self._end()

    async def _watched(self, chunks: AsyncIterator[list[NewRecord]]) -> AsyncIterator[list[NewRecord]]:
        """What is read; while nothing comes, what is on its way is looked after."""
        coming: asyncio.Future[list[NewRecord]] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(chunks))
                if not (await asyncio.wait({coming}, timeout=WATCH_S))[0]:
                    await self.settle(only_done=True)
                    self._check_progress()
                    continue
                ready, coming = coming, None
                try:
                    yield ready.result()
                except StopAsyncIteration:
                    return
        finally:
            if coming is not None:
                coming.cancel()

    def _check_progress(self) -> None:
        """The producer itself would try for ever."""
        if not self._on_their_way or time.monotonic() - self._last_s <= self.timeout_s:
            return
        if self.sent.answers.last is not None:
            raise self.sent.answers.given_up(
                f"{self.sent.topic} has not taken the last {len(self._on_their_way)} records", self.timeout_s
            )
        raise CannotReach(
            f"nobody has said within {self.timeout_s:g} s that the last {len(self._on_their_way)} records have "
            f"arrived in {self.sent.topic}",
            "they may be there or not; see 'tidegate status', and --timeout",
        )

    async def _begin(self) -> None:
        if self.transactions is None:
            return
        if self._in_transaction is None:
            await self.producer.begin_transaction()
            self._in_transaction = 0
        self._in_transaction += 1

    async def _end_if_full(self) -> None:
        if self.transactions is not None and self._in_transaction == self.transactions.every:
            await self.settle()
            await self._end()

    async def _end(self) -> None:
        if self.transactions is None or self._in_transaction is None:
            return
        self._in_transaction = None
        ending = self.producer.abort_transaction if self.transactions.is_aborted else self.producer.commit_transaction
        await self.sent.answers.within(self.timeout_s, ending(), "the transaction has not ended")
        self.sent.transactions += 1

    async def _abort(self, reason: BaseException) -> None:
        """What was sent in the open transaction is never read; what was committed before stays."""
        from aiokafka.errors import KafkaError

        if self._in_transaction is None:
            if self.sent.records and isinstance(reason, CliError):
                reason.add(f"{self.sent.records} records before it were sent")
            return
        self._in_transaction = None
        try:
            await asyncio.wait_for(self.producer.abort_transaction(), STOP_S)
        except (KafkaError, asyncio.CancelledError, TimeoutError):
            if isinstance(reason, CliError):
                reason.add("the transaction was not committed: the broker aborts it when its timeout is over")
            return
        if isinstance(reason, CliError):
            kept = (
                f"{self.sent.transactions} transactions before it stay" if self.sent.transactions else "nothing stays"
            )
            reason.add(f"the transaction was aborted, {kept}")

    async def _send(self, record: NewRecord) -> Any:
        topic = self.sent.topic
        if record.partition is not None:
            known = await self.producer.partitions_for(topic)
            if record.partition not in known:
                raise UsageMistake(f"topic {topic!r} has no partition {record.partition}", f"it has {len(known)}")
        return await self.producer.send(
            topic,
            record.value,
            key=record.key,
            partition=record.partition,
            timestamp_ms=record.timestamp_ms,
            headers=list(record.headers),
        )

    async def settle(self, *, only_done: bool = False) -> None:
        """Wait for what is on its way; or only count what has arrived."""
        way, settled = self._on_their_way, []
        if only_done:
            while way and way[0].done():
                settled.append(way.popleft())
        elif way:
            while (await asyncio.wait(way, timeout=self.timeout_s))[1]:
                if not way[0].done():
                    self._check_progress()
                self._last_s = time.monotonic() if way[0].done() else self._last_s
                while way and way[0].done():
                    settled.append(way.popleft())
            settled += way
            way.clear()
        if settled:
            self._last_s = time.monotonic()
        results = await asyncio.gather(*settled, return_exceptions=True)
        refused = [each for each in results if isinstance(each, BaseException)]
        for metadata in results:
            if not isinstance(metadata, BaseException):
                self.sent.add(metadata)
        self.shown.advance(len(results) - len(refused))
        if refused:
            raise self._refusal(refused[0], len(refused), len(results))

    def _refusal(self, first: BaseException, count: int, among: int) -> BaseException:
        from aiokafka.errors import KafkaError

        if not isinstance(first, KafkaError):
            return first
        said = self.sent.answers.last or Answer(getattr(first, "errno", 0) or 0)
        shown = str(said) if said.code > 0 else str(first)
        return Refused(
            f"{count} of {among} records were refused by {self.sent.topic}: {shown}",
            HINTS.get(said.code, ""),
            code=said.code,
        )


async def send(
    profile: Profile,
    topic: str,
    chunks: AsyncIterator[list[NewRecord]],
    options: dict[str, Any],
    shown: Progress,
    transactions: Transactions | None = None,
) -> Sent:
    """Send all records to a topic."""
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import ProducerFenced, UnknownTopicOrPartitionError

    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        # Asked for such a topic, brokers and aiokafka would go on for the whole timeout.
        raise refusal(INVALID_TOPIC, repr(topic))
    sent = Sent(topic)
    async with reaching(profile, topic):
        if transactions is not None:
            options = {**options, **transactions.options()}
        producer = AIOKafkaProducer(**client_options(profile), **options)
        sent.answers.listen(producer.client)
        stop_s = STOP_S
        try:
            await sent.answers.within(profile.timeout_s, producer.start(), f"{topic} has not taken the first record")
            is_new = await _is_missing(producer.client, profile, topic)
            await Sender(producer, sent, shown, transactions, profile.timeout_s).run(chunks)
            sent.made_topic = is_new and sent.records > 0
            stop_s = profile.timeout_s
        except UnknownTopicOrPartitionError:
            said = sent.answers.errors.get(METADATA)
            if said is None or said.code == UNKNOWN_TOPIC:
                raise
            raise Refused(
                f"topic {topic!r} cannot be made: the broker answers {said}", HINTS.get(said.code, "")
            ) from None
        except ProducerFenced:
            name = transactions.transactional_id if transactions is not None else ""
            raise Refused(f"another producer has taken over {name!r}", "use a transactional id of your own") from None
        finally:
            await stopped(producer.client, producer.stop(), stop_s)
    return sent


async def _is_missing(client: Any, profile: Profile, topic: str) -> bool:
    """Whether there is no such topic; to send to it makes it, where the broker does so."""
    found = (await Kafka(client, profile).metadata([topic])).topics
    return any(each.error_code == UNKNOWN_TOPIC for each in found)
