"""`POST /topics/{topic}` and `/topics/{topic}/partitions/{partition}`: records as REST v2 takes them.

Not to be confused with `POST /topics/{topic}/messages`, which is ours.
"""

from functools import partial
from typing import Any

import msgspec

from coordinators.schemas.validation.rules import KEY, VALUE
from wire.http.messages import Call, Response
from wire.http.rest import formats
from wire.http.rest.bodies import decoded
from wire.http.rest.by_schema import MISSING, SchemaFormats, SchemaWanted
from wire.http.rest.producing import Partition, ProducedV2, RecordsV2, produced_v2, records_v2
from wire.http.rest.refusals import MEDIA_TYPE, PARTITION_NOT_FOUND, REFUSALS, RestRefusal, told_so
from wire.http.rights import BY_REQUESTS
from wire.http.routes.topics import TopicName, TopicPlace
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.inner.records import NewRecord
from wire.inner.sending import Sending

DOOR = "http"


class PartitionPlace(msgspec.Struct):
    """Which partition."""

    topic: TopicName
    partition: Partition


async def produce_v2(call: Call, inner: InnerClient, sending: Sending, schemas: SchemaFormats) -> Response:
    """Write records, each to the partition that it names or that its key chooses."""
    return await _produce(call, inner, sending, schemas, None)


async def produce_to_partition_v2(call: Call, inner: InnerClient, sending: Sending, schemas: SchemaFormats) -> Response:
    """Write records to one partition."""
    return await _produce(call, inner, sending, schemas, call.place.partition)


async def _produce(
    call: Call, inner: InnerClient, sending: Sending, schemas: SchemaFormats, partition: int | None
) -> Response:
    name = formats.of_content_type(call.request.headers.get("content-type"))
    wanted = decoded(call.request.body, RecordsV2)
    topic = call.place.topic
    with told_so():
        records, ids = await _records(call, name, wanted, partition, schemas)
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        if partition is not None:
            count = (await inner.known_topic(guest, topic, make=True)).partition_count
            if partition >= count:
                raise RestRefusal(PARTITION_NOT_FOUND, f"{topic} has partitions 0 to {count - 1}, not {partition}")
        outcomes = await sending.send(guest, topic, records)
    return _answer(produced_v2(outcomes, *ids))


async def _records(
    call: Call, name: str, wanted: RecordsV2, partition: int | None, schemas: SchemaFormats
) -> tuple[list[NewRecord], tuple[int | None, int | None]]:
    """The records, and the ids of the schemas that their keys and values went by."""
    if name not in formats.BY_SCHEMA:
        read = partial(formats.read, name)
        return records_v2(wanted, partition, read, read), (None, None)
    named = {
        KEY: SchemaWanted(name, wanted.key_schema, wanted.key_schema_id),
        VALUE: SchemaWanted(name, wanted.value_schema, wanted.value_schema_id),
    }
    used = {}
    for part, schema in named.items():
        if any(getattr(record, part) is not None for record in wanted.records):
            if not schema.names_one:
                raise RestRefusal(MISSING[part], f"there are {part}s, and neither {part}_schema nor {part}_schema_id")
            used[part] = await schemas.used(call.caller, call.place.topic, part, schema)
    key, value = used.get(KEY), used.get(VALUE)
    made = await schemas.known.in_worker(
        records_v2, wanted, partition, key.write if key else _nothing, value.write if value else _nothing
    )
    return made, (key.row.id if key else None, value.row.id if value else None)


def _nothing(given: object, what: str) -> None:  # noqa: ARG001 - where all are null
    return None


def _answer(document: Any) -> Response:
    return Response(200, msgspec.json.encode(document), MEDIA_TYPE)


ROUTES = (
    Route(
        "POST",
        "/topics/{topic}",
        produce_v2,
        "Write records (Confluent REST v2)",
        answer=ProducedV2,
        place=TopicPlace,
        body=RecordsV2,
        takes=formats.TAKEN,
        media_type=MEDIA_TYPE,
        problems=(404, 409),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "POST",
        "/topics/{topic}/partitions/{partition}",
        produce_to_partition_v2,
        "Write records to one partition (Confluent REST v2)",
        answer=ProducedV2,
        place=PartitionPlace,
        body=RecordsV2,
        takes=formats.TAKEN,
        media_type=MEDIA_TYPE,
        problems=(404, 409),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
