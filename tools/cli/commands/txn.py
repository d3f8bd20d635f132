"""`tidegate txn`: transactions that are open or were, and how to end one that hangs."""

from typing import Annotated, Any

import typer

from tools.cli.errors import NotFound, UsageMistake
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.kafka import TRANSACTION_COORDINATOR, Kafka, check, connected, run
from tools.cli.offsets import leaders
from tools.cli.output import Column
from tools.cli.times import moment_text, span_text
from wire.kafka.messages.describe_producers import DescribeProducersRequest, TopicRequest
from wire.kafka.messages.describe_transactions import DescribeTransactionsRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.list_transactions import ListTransactionsRequest
from wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

app = group("Transactions: list, look at, find those that hang, abort.")
LIST = (Column("transactional_id", "id"), Column("producer_id", "producer", right=True), Column("state"))
FIELDS = (
    Column("transactional_id", "id"),
    Column("state"),
    Column("producer_id", "producer"),
    Column("producer_epoch", "epoch"),
    Column("start_ms", "begun", moment_text),
    Column("age_ms", "age", span_text),
    Column("timeout_ms", "timeout", span_text),
    Column("partitions"),
)


@command(app, "list", examples=("tidegate txn list", "tidegate txn list --state Ongoing"))
def list_all(
    context: typer.Context,
    state: Annotated[str | None, typer.Option("--state", help="Only those in this state, such as Ongoing.")] = None,
) -> None:
    """List transactional ids with their states."""
    at = session(context)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            answers = await kafka.everywhere(ListTransactionsRequest(state_filters=[state] if state else []))
        if any(answer.unknown_state_filters for answer in answers):
            raise UsageMistake(f"no transaction is ever in the state {state!r}", "e.g. Ongoing, CompleteCommit, Empty")
        return [
            {
                "transactional_id": each.transactional_id,
                "producer_id": each.producer_id,
                "state": each.transaction_state,
            }
            for answer in answers
            for each in sorted(answer.transaction_states, key=lambda each: each.transactional_id)
        ]

    at.output.rows(run(work()), LIST, empty="no transactions")


@command(app, "describe", examples=("tidegate txn describe billing-1",))
def describe(
    context: typer.Context, name: Annotated[str, typer.Argument(metavar="ID", help="A transactional id.")]
) -> None:
    """One transactional id: how long its transaction is open, and where it has written."""
    at = session(context)

    async def work() -> dict[str, Any]:
        async with connected(at.profile) as kafka:
            return await _described(kafka, name, at.now_ms())

    at.output.fields(run(work()), FIELDS)


async def _described(kafka: Kafka, name: str, now_ms: int) -> dict[str, Any]:
    node = await kafka.coordinator(name, TRANSACTION_COORDINATOR)
    request = DescribeTransactionsRequest(transactional_ids=[name])

    async def ask() -> Any:
        (found,) = (await kafka.call(request, node=node)).transaction_states
        check(found.error_code, name)
        return found

    found = await kafka.patiently(ask)
    begun = found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None
    return {
        "transactional_id": name,
        "state": found.transaction_state,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "start_ms": begun,
        "age_ms": None if begun is None else now_ms - begun,
        "timeout_ms": found.transaction_timeout_ms,
        "partitions": [f"{topic.topic}-{index}" for topic in found.topics for index in topic.partitions],
    }


@command(
    app,
    "abort",
    examples=(
        "tidegate txn abort billing-1",
        "tidegate txn abort --topic orders --partition 0 --start-offset 1234 --yes",
    ),
)
def abort(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="A transactional id.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Or: of the transaction that hangs here,")] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="in this partition,")] = None,
    start_offset: Annotated[int | None, typer.Option("--start-offset", min=0, help="beginning there.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Abort the open transaction of an id, whose producer is fenced; or one that hangs in a partition."""
    at = session(context)
    if (name is None) == (topic is None or partition is None or start_offset is None):
        raise UsageMistake("what is to be aborted?", "give an ID, or --topic, --partition and --start-offset")
    what = name if name is not None else f"{topic}-{partition} from offset {start_offset}"
    confirm(f"Abort the transaction {what}?", yes=yes)
    if name is not None:
        facts = run(_abort_id(at, name))
    else:
        assert topic is not None
        assert partition is not None
        assert start_offset is not None
        facts = run(_abort_at(at, topic, partition, start_offset))
    at.output.done(f"aborted {what}", **facts)


async def _abort_id(at: Session, name: str) -> dict[str, Any]:
    """By taking over the id, as its producer would after a crash: what is open is aborted, the old producer fenced."""
    async with connected(at.profile) as kafka:
        known = await _described(kafka, name, at.now_ms())
        node = await kafka.coordinator(name, TRANSACTION_COORDINATOR)
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=max(known["timeout_ms"], 1))

        async def ask() -> Any:
            answer = await kafka.call(request, node=node)
            check(answer.error_code, name)
            return answer

        answer = await kafka.patiently(ask)
    return {"transactional_id": name, "was": known["state"], "producer_epoch": answer.producer_epoch}


async def _abort_at(at: Session, topic: str, partition: int, start_offset: int) -> dict[str, Any]:
    async with connected(at.profile) as kafka:
        led = await leaders(kafka, [topic])
        if (topic, partition) not in led:
            check(3, f"{topic}-{partition}")
        node = led[topic, partition]
        asked = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[partition])])
        found = (await kafka.call(asked, node=node)).topics[0].partitions[0]
        check(found.error_code, f"{topic}-{partition}", found.error_message)
        open_ones = [each for each in found.active_producers if each.current_txn_start_offset == start_offset]
        if not open_ones:
            begun = sorted(each.current_txn_start_offset for each in found.active_producers)
            hint = f"open ones begin at {', '.join(str(each) for each in begun if each >= 0) or 'none'}"
            raise NotFound(f"no open transaction begins at offset {start_offset} of {topic}-{partition}", hint)
        (producer,) = open_ones
        marker = WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transaction_result=False,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
            coordinator_epoch=max(producer.coordinator_epoch, 0),
        )
        answer = await kafka.call(WriteTxnMarkersRequest(markers=[marker]), node=node)
        check(answer.markers[0].topics[0].partitions[0].error_code, f"{topic}-{partition}")
    return {"topic": topic, "partition": partition, "producer_id": producer.producer_id}
