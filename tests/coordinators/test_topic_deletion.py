"""A deleted topic is gone at once; what it leaves behind is remembered until it is removed."""

from typing import Any

import pytest

from coordinators.topic_view import Topic
from engine.errors import InvalidRequest, UnknownTopicId, UnknownTopicOrPartition


def test_a_topic_is_deleted_by_name(desk: Any) -> None:
    topic = desk.create("t", 2)
    desk.run(desk.topics.plan_delete(["t"]))
    assert desk.topics.by_name == {}
    assert desk.topics.by_id == {}
    assert set(desk.topics.deleting) == {topic.topic_id}


def test_a_topic_is_deleted_by_id(desk: Any) -> None:
    topic = desk.create("t")
    assert desk.run(desk.topics.plan_delete([topic.topic_id])).name == "t"
    assert desk.topics.by_name == {}


def test_a_deletion_cut_short_is_known_after_a_restart(desk: Any) -> None:
    topic = desk.create("t", 2)
    desk.run(desk.topics.plan_delete(["t"]))
    restarted = desk.restart()
    assert restarted.by_name == {}
    assert restarted.deleting[topic.topic_id].partition_count == 2


def test_after_its_files_are_gone_nothing_of_a_topic_remains(desk: Any) -> None:
    topic = desk.create("t", 2)
    desk.run(desk.topics.plan_delete(["t"]))
    desk.commit(desk.topics.plan_finish_delete([topic.topic_id]))
    assert desk.topics.deleting == {}
    assert desk.catalogue.entries("")[1] == []


def test_finishing_a_deletion_twice_does_no_harm(desk: Any) -> None:
    topic = desk.create("t")
    desk.run(desk.topics.plan_delete(["t"]))
    desk.commit(desk.topics.plan_finish_delete([topic.topic_id]))
    assert desk.topics.plan_finish_delete([topic.topic_id]).changes == ()


def test_a_topic_made_again_while_the_old_one_is_cleaned_up_inherits_nothing(desk: Any) -> None:
    old = desk.create("t", 3, {"retention.ms": "5"})
    desk.run(desk.topics.plan_delete(["t"]))
    new = desk.create("t", 1)
    assert new.topic_id != old.topic_id
    assert new.config.overrides == {}
    assert new.partition_count == 1
    desk.commit(desk.topics.plan_finish_delete([old.topic_id]))
    assert desk.restart().by_name["t"] == new


def test_after_a_deletion_a_colliding_name_is_free(desk: Any) -> None:
    desk.create("a.b")
    desk.run(desk.topics.plan_delete(["a.b"]))
    assert desk.create("a_b").name == "a_b"


def test_what_does_not_exist_cannot_be_deleted(desk: Any) -> None:
    desk.create("t")
    plan = desk.topics.plan_delete(["none", bytes(16), "t"])
    assert [type(result) for result in plan.results] == [UnknownTopicOrPartition, UnknownTopicId, Topic]


@pytest.mark.parametrize("by_id", [False, True])
def test_a_topic_named_twice_is_refused(desk: Any, by_id: bool) -> None:
    topic = desk.create("t")
    plan = desk.topics.plan_delete(["t", topic.topic_id if by_id else "t"])
    assert [type(result) for result in plan.results] == [InvalidRequest, InvalidRequest]
    assert plan.empty
