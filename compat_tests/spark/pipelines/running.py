"""Runs a pipeline as the command does, in the session that all scenarios share."""

from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions

from compat_tests.admin import admin_client
from tools.pipelines import PIPELINES


def run(name: str, bootstrap: str, /, **options: Any) -> int:
    """The exit status; options by their names, as in a configuration file."""
    pipeline = PIPELINES[name]
    return pipeline.run(pipeline.values({"bootstrap": bootstrap, "quiet": True, **options}))


def committed(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    """The offsets of a group, as lag monitors see them."""
    (answer,) = admin_client(bootstrap).list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return {(place.topic, place.partition): place.offset for place in answer.result(20).topic_partitions}
