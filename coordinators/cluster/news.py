"""What the catalogue's changes say, typed: one `News` for each revision, read from the events of a watch.

Reading needs nothing but the events, so it runs in a thread; what follows from it is found out on the loop.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Protocol

from attrs import Factory, define

from coordinators.tenants.rows import TenantRecord
from engine.catalogue.catalogue import Entry, Event
from engine.catalogue.records import (
    BROKER_CONFIGS,
    BROKER_DEFAULT,
    CONTROLLER,
    DELETING,
    GROUP_CONFIGS,
    NODES,
    PARTITIONS,
    TENANTS,
    TOPICS,
    ControllerRecord,
    NodeRecord,
    PartitionRecord,
    TopicRecord,
    decode_configs,
    partition_of,
)
from engine.ids import TopicId


@define
class News:
    """What changed with one revision; None stands for what is gone."""

    revision: int
    topics: dict[str, tuple[TopicRecord | None, int]] = Factory(dict)
    """By name, with the revision of the topic's own row."""
    partitions: dict[TopicId, dict[int, PartitionRecord]] = Factory(dict)
    """Rows that go, go with their topic."""
    deleting: dict[TopicId, TopicRecord | None] = Factory(dict)
    broker_configs: dict[int | None, tuple[dict[str, str], int]] = Factory(dict)
    """By node, with the row's revision; None is the default of all nodes."""
    group_configs: dict[str, tuple[dict[str, str], int]] = Factory(dict)
    """By group, with the row's revision; 0 where it is gone."""
    tenants: dict[str, tuple[TenantRecord | None, int]] = Factory(dict)
    """By name, with the row's revision."""
    nodes: dict[int, NodeRecord | None] = Factory(dict)
    controllers: tuple[ControllerRecord | None, int] | None = None
    """Who is the controller now, with the row's revision; None if that has not changed."""
    others: dict[str, tuple[bytes | None, int]] = Factory(dict)
    """Rows of any other kind by their keys, as they are written, with their revisions; None and 0 for one that is gone.
    Whoever they concern reads them (`ReplicaManager.row_followers`)."""

    @property
    def is_of_nodes(self) -> bool:
        """Whether it tells of nodes that come, go or take over something."""
        return bool(self.nodes) or self.controllers is not None


class RowFollower(Protocol):
    """Whoever keeps rows of a kind of its own in memory: users, rules, quotas. Only the event loop calls it."""

    def take(self, news: News) -> None:
        """What a revision changed; `news.others` has its rows, among those of others."""

    def row_keys(self) -> Iterable[str]:
        """The keys of the rows that it holds."""


def read_news(events: Iterable[Event]) -> list[News]:
    """[thread] One after the other, in the order of revisions."""
    return [_of_revision(revision, each) for revision, each in groupby(events, key=lambda event: event.revision)]


def read_whole(revision: int, entries: Sequence[Entry], known: Iterable[str] = ()) -> News:
    """[thread] All that the catalogue holds, as one piece of news; of the `known` rows those that it lacks are gone."""
    present = {entry.key for entry in entries}
    gone = [Event(revision, key, None) for key in known if key not in present]
    return _of_revision(revision, [*gone, *(Event(entry.revision, entry.key, entry.value) for entry in entries)])


def _of_revision(revision: int, events: Iterable[Event]) -> News:
    news = News(revision)
    for event in events:
        _note(news, event)
    return news


def _note(news: News, event: Event) -> None:
    key, value = event.key, event.value
    if key.startswith(PARTITIONS):
        if value is not None:
            topic_id, index = partition_of(key)
            news.partitions.setdefault(topic_id, {})[index] = _partition(value)
    elif key.startswith(TOPICS):
        record = None if value is None else TopicRecord.decode(value)
        news.topics[key.removeprefix(TOPICS)] = record, event.revision
    elif key.startswith(DELETING):
        topic_id = bytes.fromhex(key.removeprefix(DELETING))
        news.deleting[topic_id] = None if value is None else TopicRecord.decode(value)
    elif key.startswith(BROKER_CONFIGS):
        named = key.removeprefix(BROKER_CONFIGS)
        configs = {} if value is None else decode_configs(Entry(key, value, event.revision))
        news.broker_configs[None if named == BROKER_DEFAULT else int(named)] = (
            configs,
            0 if value is None else event.revision,
        )
    elif key.startswith(GROUP_CONFIGS):
        group_id = key.removeprefix(GROUP_CONFIGS)
        if value is None:
            news.group_configs[group_id] = {}, 0
        else:
            news.group_configs[group_id] = decode_configs(Entry(key, value, event.revision)), event.revision
    elif key.startswith(TENANTS):
        tenant = None if value is None else TenantRecord.decode(value)
        news.tenants[key.removeprefix(TENANTS)] = tenant, event.revision
    elif key.startswith(NODES):
        news.nodes[int(key.removeprefix(NODES))] = None if value is None else NodeRecord.decode(value)
    elif key == CONTROLLER:
        news.controllers = (None, 0) if value is None else (ControllerRecord.decode(value), event.revision)
    else:
        news.others[key] = value, 0 if value is None else event.revision


@lru_cache(maxsize=1000)
def _partition(value: bytes) -> PartitionRecord:
    """Thousands of partitions that lie on the same nodes have rows of the same bytes."""
    return PartitionRecord.decode(value)
