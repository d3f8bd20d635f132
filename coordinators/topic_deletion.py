"""Deleting topics in two steps, each of which can be repeated after a crash.

First the topic leaves the catalogue's active rows: it is gone for clients, and its name is free. A row under
`deleting/` keeps its id until its files are removed; then that row goes too.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from coordinators.topic_view import Plan, PlanBuilder, Topic, TopicView
from engine.catalogue.catalogue import Commit, Compare, Delete, Put
from engine.catalogue.records import TopicRecord
from engine.errors import BrokerError, InvalidRequest, UnknownTopicId, UnknownTopicOrPartition
from engine.ids import TopicId, id_text


def plan_delete(view: TopicView, wanted: Sequence[str | TopicId]) -> Plan[Topic]:
    """One change for all topics of a request, each by name (text) or by id (bytes)."""
    builder = PlanBuilder[Topic]()
    found = [_find(view, each) for each in wanted]
    times_named = Counter(topic.name for topic in found if isinstance(topic, Topic))
    for topic in found:
        if isinstance(topic, BrokerError):
            builder.refuse(topic)
        elif times_named[topic.name] > 1:
            builder.refuse(InvalidRequest("Duplicate topic name."))
        else:
            builder.add(topic, _deletion(topic))
    return builder.finish()


def plan_finish(deleting: Mapping[TopicId, TopicRecord], topic_ids: Sequence[TopicId]) -> Commit:
    """The files of these topics are gone: nothing of them remains."""
    return Commit((), tuple(Delete(deleting[each].deleting_key) for each in topic_ids if each in deleting))


def _find(view: TopicView, wanted: str | TopicId) -> Topic | BrokerError:
    if isinstance(wanted, str):
        return view.by_name.get(wanted) or UnknownTopicOrPartition(f"The topic '{wanted}' does not exist.")
    return view.by_id.get(wanted) or UnknownTopicId(f"No topic has the id {id_text(wanted)}.")


def _deletion(topic: Topic) -> Commit:
    record = topic.record
    rows: list[Put | Delete] = [Delete(record.key), Put(record.deleting_key, record.encode())]
    rows += [Delete(record.partition_key(index)) for index in range(topic.partition_count)]
    return Commit((Compare(record.key, topic.revision),), tuple(rows))
