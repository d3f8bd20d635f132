"""`/producers` and `/transactions`: transactions for callers without a Kafka library, read by any consumer."""

from typing import Annotated, Any

import msgspec

from coordinators.partitioners import PARTITIONERS
from engine.errors import BrokerError, InvalidRequest
from wire.http.elsewhere import Doors
from wire.http.given_records import BroughtRecord, Partition, TopicName, brought
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import BY_REQUESTS, DESCRIBE_THE_CLUSTER, OF_ITS_OWNER
from wire.http.routes.members import GroupOffset, Milliseconds, places_of
from wire.http.routing import Route
from wire.inner.producer import OffsetsOwner, ProducerWanted, TransactionalProducer
from wire.inner.records import SentRecord
from wire.inner.residents import Residents

MOST_RECORDS = 10_000

ProducerName = Annotated[
    str, msgspec.Meta(min_length=1, max_length=100, description="The producer, as `init` gave it.")
]
TransactionNumber = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class InitOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """As who to produce: there is one producer of a transactional id, and whoever was it before is fenced. What takes
    longer than `timeout_ms` is aborted, and so is the transaction of a caller that is silent for `session_ms`."""

    transactional_id: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    timeout_ms: Milliseconds = 60_000
    session_ms: Milliseconds = 60_000
    client_id: Annotated[str, msgspec.Meta(max_length=200)] | None = None


class ProducerPlace(msgspec.Struct):
    """Which producer."""

    producer: ProducerName


class ProducerShown(msgspec.Struct, kw_only=True):
    """A producer. It lives on the node `node_id`, whose door is at `url`; `transaction` is the number of its
    transaction, or of its last one."""

    producer: str
    transactional_id: str
    producer_id: int
    epoch: int
    state: str
    transaction: Count
    session_ms: Count
    node_id: int
    url: str


class ProducerOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Whose transaction."""

    producer: ProducerName


class EndOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Whose transaction, and which one: with its number it may be asked again, when the answer was not heard."""

    producer: ProducerName
    transaction: TransactionNumber | None = None


class PublishOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to write. `sequence` counts the publishes of the transaction from 0: with it one may be asked again, and is
    written once."""

    producer: ProducerName
    topic: TopicName
    records: Annotated[list[BroughtRecord], msgspec.Meta(min_length=1, max_length=MOST_RECORDS)]
    sequence: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None
    partitioner: str = "murmur2"


class Published(msgspec.Struct):
    """What became of a record; `offset` is -1 where it is held back, and `error` says why it was not written."""

    partition: int | None
    offset: int | None
    timestamp_ms: int | None
    error: str | None = None
    detail: str | None = None


class PublishedRecords(msgspec.Struct):
    """What became of each record, in their order; if one was not written the transaction can only be aborted."""

    transaction: Count
    state: str
    records: list[Published]


class AddPartitionOrder(msgspec.Struct, forbid_unknown_fields=True):
    """A partition that is to take part."""

    producer: ProducerName
    topic: TopicName
    partition: Partition


class AddOffsetsOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Places of a group that are committed with the transaction; where a `member` of it is named, as that member's: so
    the group refuses them if it is none any more."""

    producer: ProducerName
    group: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    member: Annotated[str, msgspec.Meta(max_length=100)] | None = None
    offsets: Annotated[list[GroupOffset], msgspec.Meta(min_length=1, max_length=1_000)]


class TransactionListed(msgspec.Struct):
    """A transactional id, and the state that its coordinator has it in."""

    transactional_id: str
    producer_id: int
    state: str


class TransactionPage(Page):
    """Transactional ids, by name."""

    items: list[TransactionListed]


class TransactionStatistics(msgspec.Struct):
    """Producers of this node's doors and how their transactions ended; `states` counts all transactional ids that the
    caller may know of."""

    counts: dict[str, int]
    states: dict[str, int]


async def init_producer(call: Call, residents: Residents, doors: Doors) -> ProducerShown:
    """Become the producer of a transactional id."""
    order: InitOrder = call.body
    wanted = ProducerWanted(order.transactional_id, order.timeout_ms, order.session_ms / 1000)
    producer = await residents.producers.init(call.caller, "http", wanted, order.client_id)
    return _shown(producer, call, doors)


async def producer_heartbeat(call: Call, residents: Residents, doors: Doors) -> ProducerShown:
    """Say that the caller still works."""
    place: ProducerPlace = call.place
    async with doors.at_home(call):
        producer = residents.producers.find(call.caller, place.producer)
        producer.heartbeat()
        return _shown(producer, call, doors)


async def close_producer(call: Call, residents: Residents, doors: Doors) -> None:
    """Produce no more; a transaction that is open is aborted."""
    place: ProducerPlace = call.place
    async with doors.at_home(call):
        await residents.producers.find(call.caller, place.producer).close()


async def begin_transaction(call: Call, residents: Residents, doors: Doors) -> ProducerShown:
    """Begin a transaction."""
    async with doors.at_home(call):
        producer = _found(call, residents)
        await producer.begin()
        return _shown(producer, call, doors)


async def publish_records(call: Call, residents: Residents, doors: Doors) -> PublishedRecords:
    """Write records that are seen when the transaction is committed."""
    order: PublishOrder = call.body
    records = [brought(each) for each in order.records]
    async with doors.at_home(call):
        producer = _found(call, residents)
        outcomes = await producer.publish(order.topic, records, order.sequence, partitioner=_partitioner(order))
        return PublishedRecords(producer.number, producer.state.value, [_published(each) for each in outcomes])


def _partitioner(order: PublishOrder) -> str:
    if order.partitioner not in PARTITIONERS:
        raise InvalidRequest(f"there is no partitioner {order.partitioner!r}, but {', '.join(sorted(PARTITIONERS))}")
    return order.partitioner


async def add_partition(call: Call, residents: Residents, doors: Doors) -> ProducerShown:
    """Have a partition take part, before anything is written there."""
    order: AddPartitionOrder = call.body
    async with doors.at_home(call):
        producer = _found(call, residents)
        await producer.add_partitions(order.topic, [order.partition])
        return _shown(producer, call, doors)


async def add_offsets(call: Call, residents: Residents, doors: Doors) -> ProducerShown:
    """Commit a group's places together with the transaction: read, work, write, exactly once."""
    order: AddOffsetsOrder = call.body
    async with doors.at_home(call):
        producer = _found(call, residents)
        await producer.add_offsets(_member(order, call, residents), places_of(order.offsets))
        return _shown(producer, call, doors)


def _member(order: AddOffsetsOrder, call: Call, residents: Residents) -> OffsetsOwner:
    if order.member is None:
        return OffsetsOwner(order.group)
    membership = residents.members.find(call.caller, order.member, order.group).membership
    return OffsetsOwner(order.group, membership.member_id, membership.generation)


async def commit_transaction(call: Call, residents: Residents, doors: Doors) -> ProducerShown:
    """Commit: everything is seen, or nothing."""
    return await _end(call, residents, doors, committed=True)


async def abort_transaction(call: Call, residents: Residents, doors: Doors) -> ProducerShown:
    """Abort: nothing is seen."""
    return await _end(call, residents, doors, committed=False)


async def _end(call: Call, residents: Residents, doors: Doors, *, committed: bool) -> ProducerShown:
    order: EndOrder = call.body
    async with doors.at_home(call):
        producer = _found(call, residents)
        await producer.end(committed=committed, number=order.transaction)
        return _shown(producer, call, doors)


async def list_transactions(call: Call, residents: Residents) -> TransactionPage:
    """Transactional ids by name, a page of them, whichever node coordinates them."""
    query: PageQuery = call.query
    found = await residents.producers.transactions(call.caller, "http")
    items = [
        TransactionListed(each.transactional_id, each.producer_id, each.transaction_state) for each in query.of(found)
    ]
    return TransactionPage(items=items, total=len(found), limit=query.limit, skip=query.skip)


async def transaction_statistics(call: Call, residents: Residents) -> TransactionStatistics:
    """Producers, and how transactions ended."""
    states: dict[str, int] = {}
    for each in await residents.producers.transactions(call.caller, "http"):
        states[each.transaction_state] = states.get(each.transaction_state, 0) + 1
    return TransactionStatistics(residents.producers.statistics(), states)


def _found(call: Call, residents: Residents) -> TransactionalProducer:
    return residents.producers.find(call.caller, call.body.producer)


def _published(outcome: SentRecord | BrokerError) -> Published:
    if isinstance(outcome, BrokerError):
        return Published(None, None, None, type(outcome).__name__, str(outcome))
    return Published(outcome.partition, outcome.offset, outcome.timestamp_ms)


def _shown(producer: TransactionalProducer, call: Call, doors: Doors) -> ProducerShown:
    return ProducerShown(
        producer=producer.id,
        transactional_id=producer.wanted.transactional_id,
        producer_id=producer.identity.producer_id,
        epoch=producer.identity.epoch,
        state=producer.state.value,
        transaction=producer.number,
        session_ms=int(producer.wanted.session_s * 1000),
        node_id=doors.inner.topics.node_id,
        url=doors.own_url(call),
    )


_PRODUCER: dict[str, Any] = {
    "answer": ProducerShown,
    "problems": (404, 409, 503),
    "rights": OF_ITS_OWNER,
    "for_tenants": True,
}
_WRITER = {**_PRODUCER, "rights": BY_REQUESTS}

ROUTES = (
    Route(
        "POST",
        "/producers/init",
        init_producer,
        "Become the producer of a transactional id",
        answer=ProducerShown,
        body=InitOrder,
        status=201,
        problems=(409,),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "POST",
        "/producers/{producer}/heartbeat",
        producer_heartbeat,
        "Say that a producer's caller still works",
        place=ProducerPlace,
        **_PRODUCER,
    ),
    Route(
        "POST",
        "/producers/{producer}/close",
        close_producer,
        "Close a producer; its transaction is aborted",
        place=ProducerPlace,
        status=204,
        problems=(404, 409, 503),
        for_tenants=True,
        rights=OF_ITS_OWNER,
    ),
    Route("POST", "/transactions/begin", begin_transaction, "Begin a transaction", body=ProducerOrder, **_PRODUCER),
    Route(
        "POST",
        "/transactions/publish",
        publish_records,
        "Write records in a transaction",
        **{**_WRITER, "answer": PublishedRecords, "body": PublishOrder},
    ),
    Route(
        "POST",
        "/transactions/add-partition",
        add_partition,
        "Have a partition take part in a transaction",
        body=AddPartitionOrder,
        **_WRITER,
    ),
    Route(
        "POST",
        "/transactions/offsets",
        add_offsets,
        "Commit a group's places with a transaction",
        body=AddOffsetsOrder,
        **_WRITER,
    ),
    Route("POST", "/transactions/commit", commit_transaction, "Commit a transaction", body=EndOrder, **_PRODUCER),
    Route("POST", "/transactions/abort", abort_transaction, "Abort a transaction", body=EndOrder, **_PRODUCER),
    Route(
        "GET",
        "/transactions",
        list_transactions,
        "Transactional ids and their states",
        answer=TransactionPage,
        query=PageQuery,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "GET",
        "/transactions/stats",
        transaction_statistics,
        "Producers, and how transactions ended",
        answer=TransactionStatistics,
        rights=DESCRIBE_THE_CLUSTER,
    ),
)
