"""A transactional producer that lives in the broker on behalf of somebody who only asks now and then.

| state | what may be asked | leads to |
|---|---|---|
| READY | begin | OPEN |
| OPEN | publish, add partitions or offsets, commit, abort | READY; BROKEN if a record was refused, or may be missing |
| BROKEN | abort | READY |
| OVER | nothing | nothing |

Sequence numbers are kept here; the epoch rises with each end (KIP-890), so nothing of an earlier transaction can arrive
late. Whoever has not heard an answer may ask again: a publish by its own number (`sequence`), an end by the number of
its transaction. A caller that says nothing for `session_s` is gone: its transaction is aborted. Another producer of the
same transactional id fences this one, as in Kafka.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, Protocol

import trio
from attrs import define, field, frozen

from coordinators.access.callers import Caller
from engine.errors import (
    BrokerError,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
    UnknownProducerId,
    fresh,
    kept,
)
from wire.inner.assignors import Place
from wire.inner.homes import NotAtHome
from wire.inner.memberships import Ask, Sleep
from wire.inner.offsets import by_topic
from wire.kafka.errors import ErrorCode, broker_error
from wire.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from wire.kafka.messages.end_txn import EndTxnRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

MOST_TRIES = 100
PAUSE_S = 0.1
LAST_VERSION_OF_CLIENTS = 3
"""Of AddPartitionsToTxn: later ones are asked by brokers."""
WAITS = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
FENCED = (ProducerFenced, InvalidProducerEpoch, InvalidProducerIdMapping, UnknownProducerId)
"""Somebody else is this producer now, or the coordinator has aborted for it: it goes no further."""


class TransactionPhase(Enum):
    """See the module."""

    READY = "ready"
    OPEN = "open"
    BROKEN = "must abort"
    OVER = "over"


ALLOWED: Mapping[str, frozenset[TransactionPhase]] = {
    "begin": frozenset({TransactionPhase.READY}),
    "publish": frozenset({TransactionPhase.OPEN}),
    "add partitions": frozenset({TransactionPhase.OPEN}),
    "add offsets": frozenset({TransactionPhase.OPEN}),
    "commit": frozenset({TransactionPhase.OPEN}),
    "abort": frozenset({TransactionPhase.OPEN, TransactionPhase.BROKEN}),
}
"""In which states each may be asked."""


@frozen
class ProducerWanted:
    """What somebody produces as."""

    transactional_id: str
    timeout_ms: int = 60_000
    """How long a transaction may take before its coordinator aborts it."""
    session_s: float = 60.0


@frozen
class TransactionalIdentity:
    """By which the broker knows it, until its next transaction; sequence numbers are by place."""

    producer_id: int
    epoch: int
    sequences: dict[Place, int] = field(factory=dict, eq=False)


@frozen
class OffsetsOwner:
    """In whose name offsets are committed; the coordinator refuses who is not a member any more."""

    group: str
    member_id: str = ""
    generation: int = -1


@frozen
class _Ended:
    number: int
    committed: bool


class Sends(Protocol):
    """Writes records in a producer's name; the outcome of each, in their order."""

    async def __call__(
        self,
        wanted: ProducerWanted,
        identity: TransactionalIdentity,
        topic: str,
        records: Sequence[Any],
        **options: Any,
    ) -> Sequence[Any]: ...


AskGroup = Callable[[str, Any], Awaitable[Any]]
"""Asks the coordinator of a group."""


@define(eq=False)
class TransactionalProducer:
    """See the module. `ask` asks the coordinator of its transactions, `ask_group` that of a group."""

    id: str
    caller: Caller
    wanted: ProducerWanted
    ask: Ask
    ask_group: AskGroup
    sends: Sends
    sleep: Sleep
    state: TransactionPhase = field(default=TransactionPhase.READY, init=False)
    number: int = field(default=0, init=False)
    """Of its transaction, or its last one."""
    identity: TransactionalIdentity = field(default=TransactionalIdentity(-1, -1), init=False)
    failure: BrokerError | None = field(default=None, init=False)
    committed: int = field(default=0, init=False)
    aborted: int = field(default=0, init=False)
    _touched: bool = field(default=False, init=False)
    """Whether the coordinator may know of the transaction."""
    _ended: _Ended | None = field(default=None, init=False)
    _published: tuple[int, Sequence[Any]] | None = field(default=None, init=False)
    """The number of the last publish of this transaction that had one, and what became of it."""
    _turn: trio.Lock = field(factory=trio.Lock, init=False)
    _calls: int = field(default=0, init=False)
    _seen: float = field(factory=trio.current_time, init=False)
    _living: trio.CancelScope = field(factory=trio.CancelScope, init=False)

    @property
    def is_over(self) -> bool:
        """Whether it produces no more."""
        return self.state is TransactionPhase.OVER

    # -- its task

    async def run(self) -> None:
        """Wait until the caller is gone, and abort what it left open."""
        with self._living:
            while (left := self._seen + self.wanted.session_s - trio.current_time()) > 0 or self._calls:
                await self.sleep(max(left, PAUSE_S))
        if not self.is_over:
            await self._give_up()

    async def _give_up(self) -> None:
        try:
            if self.state is not TransactionPhase.READY and self._touched:
                await self._end(committed=False)
        except BrokerError:
            pass  # the coordinator aborts it by its own time
        finally:
            self.state = TransactionPhase.OVER

    async def close(self) -> None:
        """The caller is done; an open transaction is aborted."""
        async with self._call():
            await self._give_up()
            self._living.cancel()

    # -- its caller

    @asynccontextmanager
    async def _call(self, what: str = "") -> AsyncIterator[None]:
        """One request at a time, where it makes sense; whoever waits for an answer lives."""
        self.check()
        self._calls += 1
        try:
            async with self._turn:
                self.check(what)
                yield
        finally:
            self._calls -= 1
            self._seen = trio.current_time()

    def check(self, what: str = "") -> None:
        """Refuse what makes no sense now."""
        if self.failure is not None:
            raise fresh(self.failure)
        if self.is_over:
            raise NotAtHome("the producer was closed, or silent for too long")
        if self.state not in ALLOWED.get(what, (self.state,)):
            raise InvalidTxnState(f"{what}: {_STATES[self.state]}")

    def heartbeat(self) -> None:
        """The caller lives."""
        self.check()
        self._seen = trio.current_time()

    async def init(self) -> None:
        """Become the one producer of this transactional id; what an earlier one left open is aborted."""
        request = InitProducerIdRequest(self.wanted.transactional_id, self.wanted.timeout_ms)
        answer = await self._asked(request)
        self.identity = TransactionalIdentity(answer.producer_id, answer.producer_epoch)

    async def begin(self) -> int:
        """Begin a transaction; its number."""
        async with self._call("begin"):
            self.number += 1
            self.state, self._published, self._touched = TransactionPhase.OPEN, None, False
            return self.number

    async def publish(
        self, topic: str, records: Sequence[Any], sequence: int | None = None, **options: Any
    ) -> Sequence[Any]:
        """What became of each record. With a `sequence`, one more than that of the publish before (the first is 0), it
        is written once however often it is asked for."""
        async with self._call():
            if sequence is not None and self._published is not None and sequence == self._published[0]:
                return self._published[1]
            self.check("publish")
            expected = 0 if self._published is None else self._published[0] + 1
            if sequence not in (None, expected):
                raise InvalidTxnState(f"publish {sequence}: the next one of this transaction is {expected}")
            self._touched = True
            outcomes = await self._sent(topic, records, options)
            if sequence is not None:
                self._published = sequence, outcomes
            return outcomes

    async def _sent(self, topic: str, records: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Any]:
        try:
            outcomes = await self.sends(self.wanted, self.identity, topic, records, **options)
        except BaseException:
            self.state = TransactionPhase.BROKEN
            raise
        refused = [each for each in outcomes if isinstance(each, BrokerError)]
        if refused:
            self.state = TransactionPhase.BROKEN
        for each in refused:
            self._heed(each)
        return outcomes

    async def add_partitions(self, topic: str, partitions: Sequence[int]) -> None:
        """Have them take part, before anything is written there."""
        async with self._call("add partitions"):
            self._touched = True
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.wanted.transactional_id,
                v3_and_below_producer_id=self.identity.producer_id,
                v3_and_below_producer_epoch=self.identity.epoch,
                v3_and_below_topics=[AddPartitionsToTxnTopic(topic, list(partitions))],
            )
            await self._asked(request, LAST_VERSION_OF_CLIENTS)

    async def add_offsets(self, member: OffsetsOwner, offsets: Mapping[Place, int]) -> None:
        """Commit a group's offsets with the transaction."""
        async with self._call("add offsets"):
            self._touched = True
            request = TxnOffsetCommitRequest(
                transactional_id=self.wanted.transactional_id,
                group_id=member.group,
                producer_id=self.identity.producer_id,
                producer_epoch=self.identity.epoch,
                generation_id=member.generation,
                member_id=member.member_id,
                topics=[
                    TxnOffsetCommitRequestTopic(
                        topic, [TxnOffsetCommitRequestPartition(index, offset) for index, offset in found.items()]
                    )
                    for topic, found in by_topic(offsets)
                ],
            )
            await self._answered(lambda: self.ask_group(member.group, request))

    async def end(self, *, committed: bool, number: int | None = None) -> None:
        """Commit or abort; of which transaction may be said, and then it may be asked again."""
        async with self._call():
            if number is not None and self._ended == _Ended(number, committed):
                return
            if number is not None and number != self.number:
                raise InvalidTxnState(f"transaction {number} is not the producer's; it is at {self.number}")
            self.check("commit" if committed else "abort")
            if self._touched:
                await self._end(committed=committed)
            self.state, self._ended = TransactionPhase.READY, _Ended(self.number, committed)
            self.committed += committed
            self.aborted += not committed

    async def _end(self, *, committed: bool) -> None:
        request = EndTxnRequest(self.wanted.transactional_id, self.identity.producer_id, self.identity.epoch, committed)
        answer = await self._asked(request)
        self.identity = TransactionalIdentity(answer.producer_id, answer.producer_epoch)

    # -- asking

    async def _asked(self, request: Any, version: int | None = None) -> Any:
        return await self._answered(lambda: self.ask(request, version))

    async def _answered(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """The answer, once the coordinator can give one; raises what it refuses with."""
        for _ in range(MOST_TRIES):
            answer = await ask()
            code = _first_code(answer)
            if code == 0:
                return answer
            if code not in WAITS:
                error = broker_error(code, f"{self.wanted.transactional_id!r}: {_name(code)}")
                self._heed(error)
                raise error
            await self.sleep(PAUSE_S)
        raise broker_error(code, f"{self.wanted.transactional_id!r}: {_name(code)}")

    def _heed(self, error: BrokerError) -> None:
        if isinstance(error, FENCED):
            self.failure, self.state = kept(error), TransactionPhase.OVER
            self._living.cancel()


_STATES = {
    TransactionPhase.READY: "no transaction was begun",
    TransactionPhase.OPEN: "a transaction is open",
    TransactionPhase.BROKEN: "a record of the transaction was refused: it has to be aborted",
    TransactionPhase.OVER: "the producer is over",
}


def _first_code(answer: Any) -> int:
    """The first thing that went wrong, of the whole or of a partition."""
    codes = [getattr(answer, "error_code", 0)]
    added = getattr(answer, "results_by_topic_v3_and_below", ())
    codes += [each.partition_error_code for topic in added for each in topic.results_by_partition]
    codes += [each.error_code for topic in getattr(answer, "topics", ()) for each in topic.partitions]
    return next((code for code in codes if code), 0)


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
