"""ListPartitionReassignments: what is on its way, and nothing else."""

import os
from typing import Any, cast

from coordinators.cluster.reassignments import begin
from coordinators.topic_view import Topic, TopicUpdate
from coordinators.topics import Topics
from engine.catalogue.records import PartitionRecord
from engine.config.resolve import BrokerSettings
from wire.kafka.apis.list_partition_reassignments import handle
from wire.kafka.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from wire.kafka.steps import Work

MOVING = OngoingTopicReassignment("moving", [OngoingPartitionReassignment(1, [3, 1, 2], [3], [2])])


def listed(topics: list[ListPartitionReassignmentsTopics] | None) -> list[OngoingTopicReassignment]:
    known = Topics(1, os.urandom, BrokerSettings())
    row = PartitionRecord.on(1, 2)
    for number, (name, rows) in enumerate({"still": (row, row), "moving": (row, begin(row, (3, 1)))}.items()):
        topic = Topic(name, bytes([number]) * 16, rows, known.settings.topic_defaults)
        known.view.apply(TopicUpdate(None, topic))
    request = ListPartitionReassignmentsRequest(topics=topics)
    work = Work(handle(request, cast("Any", None), known), lambda: 0.0)
    assert work.advance()
    return work.result.topics


def test_null_asks_for_all_that_are_under_way() -> None:
    assert listed(None) == [MOVING]


def test_only_what_is_asked_for_is_told_and_what_there_is_not_is_passed_over() -> None:
    wanted = ListPartitionReassignmentsTopics
    assert listed([wanted("moving", [0])]) == []
    assert listed([wanted("moving", [-1, 0, 1, 1, 7]), wanted("missing", [0]), wanted("still", [0, 1])]) == [MOVING]
    assert listed([]) == []
