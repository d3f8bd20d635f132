"""`/dlq`: the dead-letter topics that there are, how much lies in them, and whose letters go there.

Which letters somebody has dealt with stands in a ledger that the command line keeps (`tidegate dlq`)."""

from operator import attrgetter

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.rights import DESCRIBE_TOPIC
from coordinators.share.dead_letters import SUFFIX
from coordinators.topics import Topic, Topics
from coordinators.waiting import Breathing
from engine.partition.partitions import Partitions
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import described, each_of
from wire.http.routing import Route
from wire.inner.namespaces import Names


class DeadLetterTopic(msgspec.Struct):
    """A topic for dead letters. `letters` are offsets of the partitions that this node leads; `sources` are the topics
    whose configuration sends their letters there."""

    topic: str
    partitions: Count
    letters: Count
    sources: list[str]


class DeadLetterTopicPage(Page):
    """Topics for dead letters by name."""

    items: list[DeadLetterTopic]


async def list_letter_topics(
    call: Call, topics: Topics, partitions: Partitions, access: AccessControl
) -> DeadLetterTopicPage:
    """Topics that are named like `orders.dlq`, or that another names by `dead.letter.topic`: a page of those that the
    caller may describe, each with the sources that it may describe."""
    query: PageQuery = call.query
    breathing, sources = Breathing(), dict[str, list[str]]()
    for topic in await described(call, access, DESCRIBE_TOPIC, topics.view, attrgetter("name"), breathing):
        name = topic.config.text("dead.letter.topic") or topic.name + SUFFIX
        sources.setdefault(name, []).append(topic.name)
        await breathing.did()
    letters = [topic for topic in topics.view if topic.name in sources or topic.name.endswith(SUFFIX)]
    listed = await described(call, access, DESCRIBE_TOPIC, letters, attrgetter("name"), breathing)
    listed.sort(key=attrgetter("name"))
    items = []
    for topic in query.of(listed):
        items.append(_shown(topic, partitions, sorted(sources.get(topic.name, ())), call.names))
        await breathing.did(1 + len(topic.partitions))
    return DeadLetterTopicPage(items=items, total=len(listed), limit=query.limit, skip=query.skip)


def _shown(topic: Topic, partitions: Partitions, sources: list[str], names: Names) -> DeadLetterTopic:
    led = (partitions.get(topic.topic_id, index) for index in range(len(topic.partitions)))
    letters = sum(
        each.reported_end - each.log.start_offset
        for each in led
        if each is not None and each.replicas.not_leader is None
    )
    told = [names.told(source) for source in sources]
    return DeadLetterTopic(names.told(topic.name), len(topic.partitions), letters, told)


ROUTES = (
    Route(
        "GET",
        "/dlq",
        list_letter_topics,
        "Dead-letter topics by name, with how much lies in them",
        answer=DeadLetterTopicPage,
        query=PageQuery,
        for_tenants=True,
        rights=each_of(DESCRIBE_TOPIC),
    ),
)
