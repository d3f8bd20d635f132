"""The registry of topics: from the plan to the catalogue to memory, through restarts and crashes."""

import time
from pathlib import Path
from typing import Any

import pytest

from coordinators.topics import TopicDeletionDisabled, TopicSpec
from engine.catalogue.catalogue import CatalogueConflict, Commit, Put
from engine.catalogue.sqlite import SqliteCatalogue


def test_topics_are_there_after_a_restart(desk: Any) -> None:
    made = [desk.create("a", 3), desk.create("b", 12, {"retention.ms": "5"})]
    assert list(desk.restart().by_name.values()) == made


def test_a_change_committed_and_not_applied_is_there_after_a_restart(desk: Any) -> None:
    plan = desk.topics.plan_create([TopicSpec("a", 2)])
    desk.catalogue.commit(plan.commit)
    assert desk.topics.by_name == {}
    assert desk.restart().by_name["a"].partition_count == 2


def test_a_plan_made_against_an_older_state_is_refused_and_changes_nothing(desk: Any) -> None:
    early, late = desk.topics.plan_create([TopicSpec("a", 1)]), desk.topics.plan_create([TopicSpec("a", 2)])
    desk.commit(late.commit)
    with pytest.raises(CatalogueConflict):
        desk.commit(early.commit)
    assert desk.restart().by_name["a"].partition_count == 2


def test_applying_tells_what_is_new_and_what_is_gone(desk: Any) -> None:
    (made,) = desk.commit(desk.topics.plan_create([TopicSpec("a")]).commit)
    assert (made.before, made.after) == (None, desk.topics.by_name["a"])
    (gone,) = desk.commit(desk.topics.plan_delete(["a"]).commit)
    assert (gone.before, gone.after) == (made.after, None)


def test_deletion_can_be_forbidden(desk: Any) -> None:
    desk.create("a")
    desk.restart({"delete.topic.enable": False})
    plan = desk.topics.plan_delete(["a"])
    assert plan.empty
    assert isinstance(plan.results[0], TopicDeletionDisabled)


def test_other_rows_of_the_catalogue_are_left_alone(desk: Any) -> None:
    desk.catalogue.commit(Commit(changes=(Put("later/feature", b"\xff"),)))
    desk.create("a")
    assert set(desk.restart().by_name) == {"a"}


def test_a_topic_with_a_setting_of_another_version_still_loads(desk: Any) -> None:
    topic = desk.create("a", 1, {"retention.ms": "5"})
    row = topic.record.encode().replace(b"retention.ms", b"later.version")
    desk.catalogue.commit(Commit(changes=(Put(topic.record.key, row),)))
    assert desk.restart().by_name["a"].config.overrides == {}


def test_a_thousand_topics_in_a_hundred_requests_are_made_in_time(tmp_path: Path, desk: Any) -> None:
    desk.catalogue = SqliteCatalogue.open(str(tmp_path / "catalogue.sqlite"))
    desk.restart()
    began = time.monotonic()
    for request in range(100):
        desk.run(desk.topics.plan_create([TopicSpec(f"topic-{request}-{number}") for number in range(10)]))
    assert time.monotonic() - began < 5
    assert len(desk.restart().by_name) == 1_000
    desk.catalogue.close()
