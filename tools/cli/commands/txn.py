"""`tidegate txn`: transactions that are open or were, and how to end one that hangs."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import typer

from tools.cli.completion import topic_names, transaction_names
from tools.cli.errors import Exit, NotFound, Refused, UsageMistake
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.kafka import TRANSACTION_COORDINATOR, Kafka, check, connected, run
from tools.cli.offsets import Place, leaders
from tools.cli.output import Column
from tools.cli.times import duration_ms, moment_text, span_text
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
OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")
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


@command(
    app,
    "describe",
    examples=("tidegate txn describe billing-1", "tidegate txn describe billing-1 -o json | jq .age_ms"),
)
def describe(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID", help="A transactional id.", autocompletion=transaction_names)],
) -> None:
    """One transactional id: how long its transaction has been open, and where it has written."""
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


HANGING = (
    Column("topic"),
    Column("partition", right=True),
    Column("start_offset", "from offset", right=True),
    Column("producer_id", "producer", right=True),
    Column("producer_epoch", "epoch", right=True),
    Column("last_timestamp_ms", "last write (UTC)", moment_text),
    Column("age_ms", "age", span_text, right=True),
    Column("transactional_id", "id"),
    Column("hangs"),
)


@command(
    app,
    "hanging",
    examples=(
        "tidegate txn hanging",
        "tidegate txn hanging --topic orders --older-than 15m",
        "tidegate txn hanging --all -o json",
    ),
)
def hanging(
    context: typer.Context,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", "-t", help="Of this topic.", autocompletion=topic_names)
    ] = None,
    older: Annotated[str, typer.Option("--older-than", metavar="SPAN", help="Open at least so long.")] = "0s",
    everything: Annotated[bool, typer.Option("--all", help="All that are open, also those that do not hang.")] = False,
) -> None:
    """Transactions that are open in a partition while their coordinator knows nothing of them.

    They keep readers of committed records from going on, and no timeout ends them; 'txn abort' does.
    Ends with status 1 if there are some."""
    at = session(context)
    least_ms = duration_ms(older)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            return await find_open(kafka, topics or (), at.now_ms())

    rows = [row for row in run(work()) if row["age_ms"] is None or row["age_ms"] >= least_ms]
    shown = [row for row in rows if everything or row["hangs"]]
    at.output.rows(shown, HANGING, empty="no open transactions" if everything else "no transaction hangs")
    stuck = next((row for row in shown if row["hangs"]), None)
    if stuck is not None:
        if at.output.is_for_people:
            place = f"--topic {stuck['topic']} --partition {stuck['partition']} --start-offset {stuck['start_offset']}"
            at.output.note(f"to end one: tidegate txn abort {place}")
        raise typer.Exit(Exit.FAILED)


async def find_open(kafka: Kafka, topics: Sequence[str], now_ms: int) -> list[dict[str, Any]]:
    """Every open transaction of every partition, and whether it hangs."""
    names = list(topics) or [topic.name or "" for topic in (await kafka.metadata()).topics]
    rows = await _open(kafka, names, now_ms)
    known = await _known(kafka)
    for row in rows:
        row["transactional_id"], places = known.get(row["producer_id"], (None, ()))
        row["hangs"] = f"{row['topic']}-{row['partition']}" not in places
    if any(row["hangs"] for row in rows):
        # Some may have ended between the two questions: only what is still open hangs.
        still = {_identity(row) for row in await _open(kafka, names, now_ms)}
        rows = [row for row in rows if not row["hangs"] or _identity(row) in still]
    return sorted(rows, key=_identity)


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["topic"], row["partition"], row["start_offset"], row["producer_id"]


async def _known(kafka: Kafka) -> dict[int, tuple[str, list[str]]]:
    """What the coordinators know to be open: by producer id the transactional id, and where it has written."""
    answers = await kafka.everywhere(ListTransactionsRequest(state_filters=list(OPEN_STATES)))
    found = {}
    for each in (each for answer in answers for each in answer.transaction_states):
        try:
            described = await _described(kafka, each.transactional_id, 0)
        except Refused as error:
            if error.status is not Exit.NOT_FOUND:
                raise
            continue
        found[each.producer_id] = (str(each.transactional_id), described["partitions"])
    return found


async def _open(kafka: Kafka, topics: Sequence[str], now_ms: int) -> list[dict[str, Any]]:
    led = await leaders(kafka, topics)
    rows: list[dict[str, Any]] = []
    for node in sorted(set(led.values())):
        places = [place for place, leader in led.items() if leader == node]
        rows += [row async for row in _open_at(kafka, node, places, now_ms)]
    return rows


async def _open_at(kafka: Kafka, node: int, places: list[Place], now_ms: int) -> AsyncIterator[dict[str, Any]]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in places:
        by_topic.setdefault(topic, []).append(index)
    wanted = [TopicRequest(name=topic, partition_indexes=indexes) for topic, indexes in by_topic.items()]
    for topic in (await kafka.call(DescribeProducersRequest(topics=wanted), node=node)).topics:
        for partition in topic.partitions:
            check(partition.error_code, f"{topic.name}-{partition.partition_index}", partition.error_message)
            for each in partition.active_producers:
                if each.current_txn_start_offset >= 0:
                    last_ms = each.last_timestamp if each.last_timestamp >= 0 else None
                    yield {
                        "topic": topic.name,
                        "partition": partition.partition_index,
                        "start_offset": each.current_txn_start_offset,
                        "producer_id": each.producer_id,
                        "producer_epoch": each.producer_epoch,
                        "last_timestamp_ms": last_ms,
                        "age_ms": None if last_ms is None else now_ms - last_ms,
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
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A transactional id.", autocompletion=transaction_names)
    ] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", help="Or: the transaction that is open in this topic,")
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="in this partition,")] = None,
    start_offset: Annotated[
        int | None, typer.Option("--start-offset", min=0, help="beginning there, as 'txn hanging' tells.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Abort the open transaction of an id, whose producer is fenced; or one that hangs in a partition.

    By its place, only that partition's part is ended: use it for what 'txn hanging' lists."""
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
