"""`/v3/clusters/...`: the cluster, its topics, and records written, as v3 of Confluent's REST proxy has it.

`POST .../records` takes one record, or many JSON objects one behind the other: each is answered by an object of its
own, in their order. A request that goes on is answered while it comes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from coordinators.cluster.nodes import NodeIdentity
from coordinators.schemas.validation.rules import KEY, VALUE
from coordinators.topics import Topics
from engine.errors import BrokerError
from wire.http.config import HttpLimits
from wire.http.messages import AnswerSink, Call, Request, Response
from wire.http.rest.addresses import base_url
from wire.http.rest.bodies import decoded
from wire.http.rest.by_schema import SchemaFormats, SchemaWanted
from wire.http.rest.clusters import (
    ClustersV3,
    ClusterV3,
    Describing,
    NewTopicV3,
    PartitionsV3,
    TopicsV3,
    TopicV3,
)
from wire.http.rest.producing import (
    BatchV3,
    EntriesV3,
    EntryV3,
    FailureV3,
    ProducedV3,
    RecordV3,
    SuccessV3,
    Uses,
    failed_v3,
    produced_v3,
    record_v3,
)
from wire.http.rest.refusals import REFUSALS, RestErrorDocument, RestRefusal, told_so
from wire.http.rest.streams import NotObjects, ObjectStream, TooLong
from wire.http.rest.topics_v2 import create_topic, described
from wire.http.rights import BY_REQUESTS, OPEN
from wire.http.routes.topics import TopicName
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.inner.records import NewRecord, SentRecord
from wire.inner.sending import Outcome, Sending
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from wire.kafka.messages.metadata import MetadataRequest

DOOR = "http"
DEFAULT = -1
TIMEOUT_MS = 30_000
MULTI_STATUS = 207


class ClusterPlace(msgspec.Struct):
    """Which cluster."""

    cluster: str


class ClusterTopicPlace(msgspec.Struct):
    """Which topic of which cluster."""

    cluster: str
    topic: TopicName


# -- what there is


async def list_clusters_v3(call: Call, identity: NodeIdentity, topics: Topics) -> ClustersV3:
    """The cluster that this node belongs to."""
    return _describing(call, identity, topics).clusters()


async def describe_cluster_v3(call: Call, identity: NodeIdentity, topics: Topics) -> ClusterV3:
    """The cluster by its id."""
    return _describing(call, identity, topics).cluster()


async def list_topics_v3(call: Call, identity: NodeIdentity, topics: Topics, inner: InnerClient) -> TopicsV3:
    """Topics that the caller may know of, by name."""
    describing = _describing(call, identity, topics)
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, MetadataRequest(None))
    found = [each for each in answer.topics if not each.error_code]
    return describing.topics(sorted(found, key=lambda each: each.name or ""))


async def describe_topic_v3(call: Call, identity: NodeIdentity, topics: Topics, inner: InnerClient) -> TopicV3:
    """One topic."""
    describing = _describing(call, identity, topics)
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        return describing.topic(await described(inner, guest, call.place.topic))


async def list_partitions_v3(call: Call, identity: NodeIdentity, topics: Topics, inner: InnerClient) -> PartitionsV3:
    """The partitions of a topic."""
    describing = _describing(call, identity, topics)
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        return describing.partitions(await described(inner, guest, call.place.topic))


async def create_topic_v3(call: Call, identity: NodeIdentity, topics: Topics, inner: InnerClient) -> TopicV3:
    """Make a topic."""
    describing, wanted = _describing(call, identity, topics), call.body
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        await create_topic(inner, guest, wanted, {each.name: each.value for each in wanted.configs})
        return describing.topic(await described(inner, guest, wanted.topic_name))


async def delete_topic_v3(call: Call, identity: NodeIdentity, inner: InnerClient) -> None:
    """Delete a topic with all its records."""
    _check_cluster(call, identity)
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        state = DeleteTopicState(name=call.place.topic)
        answer = await inner.ask(guest, DeleteTopicsRequest([state], TIMEOUT_MS))
        _check(answer.responses)


def _describing(call: Call, identity: NodeIdentity, topics: Topics) -> Describing:
    _check_cluster(call, identity)
    return Describing(base_url(call, topics), identity.cluster_id)


def _check_cluster(call: Call, identity: NodeIdentity) -> None:
    asked = getattr(call.place, "cluster", identity.cluster_id)
    if asked != identity.cluster_id:
        raise RestRefusal(404, f"this is the cluster {identity.cluster_id}, not {asked}")


def _check(results: Any) -> None:
    for each in results:
        if each.error_code:
            raise broker_error(each.error_code, each.error_message or code_name(each.error_code))


# -- records


async def produce_batch_v3(
    call: Call, identity: NodeIdentity, inner: InnerClient, sending: Sending, schemas: SchemaFormats
) -> Response:
    """Write several records, each with its own id in the answer."""
    _check_cluster(call, identity)
    entries, topic = call.body.entries, call.place.topic
    if len({each.id for each in entries}) < len(entries):
        raise RestRefusal(400, "two entries have one id")
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        uses = await schemas.uses(call.caller, topic, _wanted(entries))
        made, outcomes = await _written(entries, uses, guest, topic, sending)
    answer = BatchV3([], [])
    for entry, new, outcome in zip(entries, made, outcomes, strict=True):
        if isinstance(outcome, SentRecord):
            assert new is not None, "what was written was made"
            told = produced_v3(entry, new, outcome, identity.cluster_id, topic, uses)
            answer.successes.append(SuccessV3(id=entry.id, **msgspec.structs.asdict(told)))
        else:
            answer.failures.append(FailureV3(entry.id, *failed_v3(outcome)))
    return Response(MULTI_STATUS, msgspec.json.encode(answer))


def _wanted(records: Sequence[RecordV3]) -> set[tuple[str, SchemaWanted]]:
    """The schemas that keys and values go by; what is wrong with a record is told with it."""
    found = set()
    for record in records:
        for part, given in ((KEY, record.key), (VALUE, record.value)):
            try:
                wanted = None if given is None else given.wanted
            except RestRefusal:
                continue
            if wanted is not None:
                found.add((part, wanted))
    return found


async def _written(
    records: list[RecordV3] | list[EntryV3], uses: Uses, guest: Guest, topic: str, sending: Sending
) -> tuple[list[NewRecord | None], list[Outcome | RestRefusal]]:
    """The records as they were made, and what became of each; those that could not be made are refused alone."""
    made: list[NewRecord | None] = []
    outcomes: list[Outcome | RestRefusal] = []
    for record in records:
        try:
            made.append(record_v3(record, uses))
            outcomes.append(RestRefusal(500, "nothing was said of it"))
        except RestRefusal as refusal:
            made.append(None)
            outcomes.append(refusal)
    places = [place for place, new in enumerate(made) if new is not None]
    if places:
        news = [new for new in made if new is not None]
        try:
            sent: list[Outcome] = await sending.send(guest, topic, news)
        except BrokerError as error:
            sent = [error] * len(places)
        for place, outcome in zip(places, sent, strict=True):
            outcomes[place] = outcome
    return made, outcomes


async def produce_v3(
    call: Call,
    identity: NodeIdentity,
    inner: InnerClient,
    sending: Sending,
    limits: HttpLimits,
    schemas: SchemaFormats,
) -> Response:
    """Write a record, or many: JSON objects one behind the other, each answered by an object, as they come."""
    _check_cluster(call, identity)
    if call.request.pieces is None:
        raise RestRefusal(415, f"records come as {' or '.join(STREAMED)}: set the Content-Type")
    objects = ObjectStream(limits.max_request_bytes)
    first = await _some(objects, call.request)
    if not first:
        raise RestRefusal(400, "there is no record in the body")

    async def write(sink: AnswerSink) -> None:
        some = first
        with inner.guest(call.caller, DOOR) as guest:
            while some:
                writing = _Writing(call, guest, identity.cluster_id, sending, schemas)
                answers = await _answered(some, writing)
                await sink.send(b"".join(msgspec.json.encode(each) + b"\r\n" for each in answers))
                try:
                    some = await _some(objects, call.request)
                except RestRefusal as refusal:
                    await sink.send(msgspec.json.encode(RestErrorDocument(*failed_v3(refusal))) + b"\r\n")
                    return

    return Response(200, write=write)


async def _some(objects: ObjectStream, request: Request) -> list[bytes]:
    """The objects that come next; none at the end of the body."""
    assert request.pieces is not None, "the route takes bodies in pieces"
    try:
        async for piece in request.pieces:
            if found := list(objects.receive(piece)):
                return found
    except (NotObjects, TooLong):
        raise RestRefusal(400, "the body is not one JSON object behind the other, or one is too large") from None
    if not objects.is_between:
        raise RestRefusal(400, "the body does not end with a whole JSON object")
    return []


class _Writing(NamedTuple):
    """What a stream of records is written with."""

    call: Call
    guest: Guest
    cluster_id: str
    sending: Sending
    schemas: SchemaFormats


async def _answered(objects: list[bytes], writing: _Writing) -> list[ProducedV3 | RestErrorDocument]:
    """One answer for each, in their order; what cannot be read is refused alone."""
    records: list[RecordV3] = []
    unreadable: dict[int, RestRefusal] = {}
    for number, each in enumerate(objects):
        try:
            records.append(decoded(each, RecordV3))
        except RestRefusal as refusal:
            unreadable[number] = refusal
    topic = writing.call.place.topic
    uses = await writing.schemas.uses(writing.call.caller, topic, _wanted(records))
    made, outcomes = await _written(records, uses, writing.guest, topic, writing.sending)
    told = iter(zip(records, made, outcomes, strict=True))
    answers: list[ProducedV3 | RestErrorDocument] = []
    for number in range(len(objects)):
        if number in unreadable:
            answers.append(RestErrorDocument(*failed_v3(unreadable[number])))
            continue
        record, new, outcome = next(told)
        if isinstance(outcome, SentRecord) and new is not None:
            answers.append(produced_v3(record, new, outcome, writing.cluster_id, topic, uses))
        elif not isinstance(outcome, SentRecord):
            answers.append(RestErrorDocument(*failed_v3(outcome)))
    return answers


_TOPICS = "/v3/clusters/{cluster}/topics"
STREAMED = ("application/json", "application/x-ndjson")
ROUTES = (
    Route(
        "GET",
        "/v3/clusters",
        list_clusters_v3,
        "The cluster (REST v3)",
        answer=ClustersV3,
        refusals=REFUSALS,
        for_tenants=True,
        rights=OPEN,
    ),
    Route(
        "GET",
        "/v3/clusters/{cluster}",
        describe_cluster_v3,
        "The cluster by its id (REST v3)",
        answer=ClusterV3,
        place=ClusterPlace,
        problems=(404,),
        refusals=REFUSALS,
        for_tenants=True,
        rights=OPEN,
    ),
    Route(
        "GET",
        _TOPICS,
        list_topics_v3,
        "Topics by name (REST v3)",
        answer=TopicsV3,
        place=ClusterPlace,
        problems=(404,),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "POST",
        _TOPICS,
        create_topic_v3,
        "Make a topic (REST v3)",
        answer=TopicV3,
        place=ClusterPlace,
        body=NewTopicV3,
        status=201,
        problems=(403, 404, 409),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "GET",
        f"{_TOPICS}/{{topic}}",
        describe_topic_v3,
        "One topic (REST v3)",
        answer=TopicV3,
        place=ClusterTopicPlace,
        problems=(404,),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "DELETE",
        f"{_TOPICS}/{{topic}}",
        delete_topic_v3,
        "Delete a topic with all its records (REST v3)",
        place=ClusterTopicPlace,
        status=204,
        problems=(403, 404),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "GET",
        f"{_TOPICS}/{{topic}}/partitions",
        list_partitions_v3,
        "The partitions of a topic (REST v3)",
        answer=PartitionsV3,
        place=ClusterTopicPlace,
        problems=(404,),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "POST",
        f"{_TOPICS}/{{topic}}/records",
        produce_v3,
        "Write a record, or many JSON objects one behind the other (REST v3)",
        answer=ProducedV3,
        place=ClusterTopicPlace,
        body=RecordV3,
        takes=STREAMED,
        piecewise=STREAMED,
        problems=(404,),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "POST",
        f"{_TOPICS}/{{topic}}/records:batch",
        produce_batch_v3,
        "Write several records (REST v3)",
        answer=BatchV3,
        place=ClusterTopicPlace,
        body=EntriesV3,
        status=MULTI_STATUS,
        problems=(404,),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
