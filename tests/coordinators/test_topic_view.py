"""The view in memory follows its changes."""

from coordinators.topic_view import PlanBuilder, Topic, TopicUpdate, TopicView
from engine.catalogue.catalogue import Commit, Compare, Put
from engine.catalogue.records import PartitionRecord
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidTopic

TOPIC = Topic("a.b", b"1" * 16, (PartitionRecord.on(1),), BrokerSettings().topic_defaults)


def test_a_topic_is_found_by_name_and_id() -> None:
    view = TopicView()
    view.apply(TopicUpdate(None, TOPIC))
    assert view.by_name["a.b"] is view.by_id[TOPIC.topic_id] is TOPIC
    assert list(view) == [TOPIC]


def test_a_colliding_topic_is_another_one() -> None:
    view = TopicView()
    view.add(TOPIC)
    assert view.colliding("a_b") == "a.b"
    assert view.colliding("a.b") is None
    view.apply(TopicUpdate(TOPIC, None))
    assert view.colliding("a_b") is None


def test_the_brokers_own_topics_are_internal() -> None:
    assert not TOPIC.internal
    assert Topic("__consumer_offsets", b"2" * 16, (), TOPIC.config).internal


def test_clients_are_told_of_internal_topics_but_for_those_that_they_are_to_read() -> None:
    assert Topic("__consumer_offsets", b"2" * 16, (), TOPIC.config).hidden
    events = Topic("__trace_events", b"2" * 16, (), TOPIC.config)
    assert (events.internal, events.hidden, TOPIC.hidden) == (True, False, False)


def test_a_plan_joins_its_changes_and_keeps_the_order_of_its_results() -> None:
    builder = PlanBuilder[str]()
    builder.add("first", Commit((Compare("a", 0),), (Put("a", b""),)))
    builder.refuse(InvalidTopic("no"))
    builder.add("third", Commit((), (Put("b", b""),)))
    plan = builder.finish()
    assert [str(result) for result in plan.results] == ["first", "no", "third"]
    assert [change.key for change in plan.commit.changes] == ["a", "b"]
    assert plan.commit.compares == (Compare("a", 0),)
    assert not plan.empty
