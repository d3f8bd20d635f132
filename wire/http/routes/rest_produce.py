"""`POST /topics/{topic}` and `/topics/{topic}/partitions/{partition}`: records as REST v2 takes them.

Not to be confused with `POST /topics/{topic}/messages`, which is ours.
"""

from typing import Any

import msgspec

from wire.http.messages import Call, Response
from wire.http.rest import formats
from wire.http.rest.bodies import decoded
from wire.http.rest.producing import Partition, ProducedV2, RecordsV2, produced_v2, records_v2
from wire.http.rest.refusals import MEDIA_TYPE, PARTITION_NOT_FOUND, REFUSALS, RestRefusal, told_so
from wire.http.rights import OPEN
from wire.http.routes.topics import TopicName, TopicPlace
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.inner.sending import Sending

DOOR = "http"


class PartitionPlace(msgspec.Struct):
    """Which partition."""

    topic: TopicName
    partition: Partition


async def produce_v2(call: Call, inner: InnerClient, sending: Sending) -> Response:
    """Write records, each to the partition that it names or that its key chooses."""
    return await _produce(call, inner, sending, None)


async def produce_to_partition_v2(call: Call, inner: InnerClient, sending: Sending) -> Response:
    """Write records to one partition."""
    return await _produce(call, inner, sending, call.place.partition)


async def _produce(call: Call, inner: InnerClient, sending: Sending, partition: int | None) -> Response:
    name = formats.of_content_type(call.request.headers.get("content-type"))
    wanted = decoded(call.request.body, RecordsV2)
    topic = call.place.topic
    records = records_v2(wanted, name, partition)
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        if partition is not None:
            count = (await inner.known_topic(guest, topic, make=True)).partition_count
            if partition >= count:
                raise RestRefusal(PARTITION_NOT_FOUND, f"{topic} has partitions 0 to {count - 1}, not {partition}")
        outcomes = await sending.send(guest, topic, records)
    return _answer(produced_v2(outcomes))


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
        problems=(404,),
        refusals=REFUSALS,
        rights=OPEN,
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
        problems=(404,),
        refusals=REFUSALS,
        rights=OPEN,
    ),
)
