"""`/dlq`: the dead-letter topics that there are, how much lies in them, and whose letters go there.

Which letters somebody has dealt with stands in a ledger that the command line keeps (`tidegate dlq`)."""

import msgspec

from coordinators.share.dead_letters import SUFFIX
from coordinators.topics import Topic, Topics
from coordinators.waiting import Breathing
from engine.partition.partitions import Partitions
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import DESCRIBE_THE_CLUSTER
from wire.http.routing import Route


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


async def list_letter_topics(call: Call, topics: Topics, partitions: Partitions) -> DeadLetterTopicPage:
    """Topics that are named like `orders.dlq`, or that another names by `dead.letter.topic`."""
    query: PageQuery = call.query
    breathing, sources = Breathing(), dict[str, list[str]]()
    for topic in list(topics.by_name.values()):
        name = topic.config.text("dead.letter.topic") or topic.name + SUFFIX
        sources.setdefault(name, []).append(topic.name)
        await breathing.did()
    names = sorted(name for name in topics.by_name if name in sources or name.endswith(SUFFIX))
    items = []
    for name in query.of(names):
        found = topics.by_name.get(name)
        if found is not None:
            items.append(_shown(found, partitions, sorted(sources.get(name, ()))))
            await breathing.did(1 + len(found.partitions))
    return DeadLetterTopicPage(items=items, total=len(names), limit=query.limit, skip=query.skip)


def _shown(topic: Topic, partitions: Partitions, sources: list[str]) -> DeadLetterTopic:
    led = (partitions.get(topic.topic_id, index) for index in range(len(topic.partitions)))
    letters = sum(
        each.reported_end - each.log.start_offset
        for each in led
        if each is not None and each.replicas.not_leader is None
    )
    return DeadLetterTopic(topic.name, len(topic.partitions), letters, sources)


ROUTES = (
    Route(
        "GET",
        "/dlq",
        list_letter_topics,
        "Dead-letter topics by name, with how much lies in them",
        answer=DeadLetterTopicPage,
        query=PageQuery,
        rights=DESCRIBE_THE_CLUSTER,
    ),
)
