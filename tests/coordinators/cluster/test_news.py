"""What changes of the catalogue are read as."""

from coordinators.cluster.news import read_news, read_whole
from engine.catalogue.catalogue import Entry, Event
from engine.catalogue.records import PartitionRecord, TopicRecord, broker_configs_key, encode, group_configs_key

TOPIC = TopicRecord("t", bytes(16), 1)
ROW = PartitionRecord.on(1)


def test_each_revision_is_one_piece_of_news() -> None:
    first, second = read_news(
        [
            Event(3, TOPIC.key, TOPIC.encode()),
            Event(3, TOPIC.partition_key(0), ROW.encode()),
            Event(4, TOPIC.key, None),
        ]
    )
    assert (first.revision, first.topics, first.partitions) == (3, {"t": (TOPIC, 3)}, {TOPIC.id: {0: ROW}})
    assert (second.revision, second.topics) == (4, {"t": (None, 4)})


def test_configs_come_with_their_rows_revisions_and_go() -> None:
    rows = {broker_configs_key(None): {"a": "1"}, group_configs_key("x/y"): {"share.order": "key"}}
    (put,) = read_news([Event(7, key, encode(configs)) for key, configs in rows.items()])
    assert put.broker_configs == {None: ({"a": "1"}, 7)}
    assert put.group_configs == {"x/y": ({"share.order": "key"}, 7)}
    (gone,) = read_news([Event(8, key, None) for key in rows])
    assert (gone.broker_configs, gone.group_configs) == ({None: ({}, 0)}, {"x/y": ({}, 0)})


def test_of_all_that_there_is_what_was_known_and_lacks_is_gone() -> None:
    key = group_configs_key("kept")
    whole = read_whole(9, [Entry(key, encode({"share.order": "key"}), 5)], known=[key, group_configs_key("gone")])
    assert whole.revision == 9
    assert whole.group_configs == {"gone": ({}, 0), "kept": ({"share.order": "key"}, 5)}


def test_rows_of_other_kinds_are_passed_on_as_they_are() -> None:
    (news,) = read_news([Event(7, "users/alice", b"{}"), Event(7, "users/bob", None)])
    assert news.others == {"users/alice": (b"{}", 7), "users/bob": (None, 0)}
