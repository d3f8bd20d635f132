"""Records on their way to a broker; commands/test_produce.py sends them from the command line."""

import asyncio
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaError

from tools.cli import sending
from tools.cli.errors import CannotReach, Exit, Refused, UsageMistake
from tools.cli.inputs import NewRecord
from tools.cli.profiles import Profile
from tools.cli.progress import Progress
from tools.cli.sending import Sender, Sent, Transactions, send


class FakeProducer:
    """Takes records, refuses those of value `no`, and notes what happens to transactions."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.offset = 0

    async def send(self, _topic: str, value: bytes | None, **_named: Any) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if value == b"no":
            future.set_exception(KafkaError("no"))
        else:
            future.set_result(SimpleNamespace(partition=0, offset=self.offset))
            self.offset += 1
        self.seen.append(str(value, "ascii") if value is not None else "")
        return future

    async def begin_transaction(self) -> None:
        self.seen.append("begin")

    async def commit_transaction(self) -> None:
        self.seen.append("commit")

    async def abort_transaction(self) -> None:
        self.seen.append("abort")


def run(texts: list[str], transactions: Transactions | None = None) -> tuple[FakeProducer, Sent]:
    producer, sent = FakeProducer(), Sent("t")

    async def work() -> None:
        async def chunks() -> Any:
            yield [NewRecord(each.encode()) for each in texts]

        await Sender(producer, sent, Progress("sent", None, draws=False), transactions).run(chunks())

    try:
        asyncio.run(work())
    except Refused as error:
        producer.seen.append(error.line())
    return producer, sent


def test_records_are_counted_by_partition() -> None:
    _, sent = run(["a", "b"])
    assert sent.as_data()["partitions"] == [{"partition": 0, "records": 2, "first_offset": 0, "last_offset": 1}]


def test_all_records_are_one_transaction() -> None:
    producer, sent = run(["a", "b"], Transactions("id", 1_000))
    assert producer.seen == ["begin", "a", "b", "commit"]
    assert sent.transactions == 1


def test_a_transaction_holds_so_many_records() -> None:
    producer, _ = run(["a", "b", "c"], Transactions("id", 1_000, every=2))
    assert producer.seen == ["begin", "a", "b", "commit", "begin", "c", "commit"]


def test_without_records_there_is_no_transaction() -> None:
    assert run([], Transactions("id", 1_000))[0].seen == []


def test_a_transaction_may_be_aborted_on_purpose() -> None:
    assert run(["a"], Transactions("id", 1_000, is_aborted=True))[0].seen == ["begin", "a", "abort"]


def test_a_refusal_aborts_the_transaction_and_tells_what_stays() -> None:
    producer, _ = run(["a", "no"], Transactions("id", 1_000))
    assert producer.seen[:4] == ["begin", "a", "no", "abort"]
    assert producer.seen[4].endswith("the transaction was aborted, nothing stays")
    producer, _ = run(["a", "no"], Transactions("id", 1_000, every=1))
    assert producer.seen[-1].endswith("1 transactions before it stay")


def test_a_refusal_tells_how_many_were_sent() -> None:
    producer, sent = run(["a", "no", "b"])
    assert sent.records == 2
    assert "1 of 3 records were refused by t" in producer.seen[-1]


def test_a_name_that_no_topic_can_have_is_refused_at_once() -> None:
    async def work() -> None:
        await send(Profile(), "no such name", None, {}, Progress("", None, draws=False))  # type: ignore[arg-type]

    with pytest.raises(Refused, match="no name for a topic") as caught:
        asyncio.run(work())
    assert caught.value.status is Exit.REFUSED


def test_bad_input_does_not_forget_what_is_on_its_way() -> None:
    producer, sent = FakeProducer(), Sent("t")

    async def work() -> None:
        async def chunks() -> Any:
            yield [NewRecord(b"a")]
            raise UsageMistake("bad")

        await Sender(producer, sent, Progress("sent", None, draws=False)).run(chunks())

    with pytest.raises(UsageMistake) as caught:
        asyncio.run(work())
    assert caught.value.line() == "tidegate: bad; 1 records before it were sent"


def test_nothing_waits_in_a_sender_that_was_not_used() -> None:
    assert Sender(None, Sent("t"), Progress("sent", None, draws=False))._on_their_way == deque()


class SilentProducer(FakeProducer):
    """Takes records, and nobody ever says what became of them."""

    async def send(self, _topic: str, value: bytes | None, **_named: Any) -> "asyncio.Future[Any]":
        self.seen.append(str(value or b"", "ascii"))
        return asyncio.get_running_loop().create_future()

    async def abort_transaction(self) -> None:
        raise KafkaError("nobody there")


@pytest.mark.parametrize("is_input_over", [True, False])
def test_a_broker_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch, is_input_over: bool) -> None:
    monkeypatch.setattr(sending, "WATCH_S", 0.01)

    async def work() -> None:
        async def chunks() -> Any:
            yield [NewRecord(b"a")]
            if not is_input_over:
                await asyncio.Event().wait()

        progress = Progress("sent", None, draws=False)
        await Sender(SilentProducer(), Sent("t"), progress, Transactions("id", 1_000), timeout_s=0.05).run(chunks())

    with pytest.raises(CannotReach, match="the last 1 records have arrived in t") as caught:
        asyncio.run(work())
    assert "the transaction was not committed" in caught.value.hint
