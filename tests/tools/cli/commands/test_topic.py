"""Topics from the command line."""

import time

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker


def test_a_topic_is_made_seen_and_deleted(tidegate: Tidegate) -> None:
    made = tidegate("topic", "create", "cli-life", "-p", "3", "-c", "retention.ms=3600000", "-o", "json")
    assert made.data == [{"topic": "cli-life", "created": True, "partitions": 3}]
    found = tidegate("topic", "describe", "cli-life", "-o", "json").data
    assert [each["partition"] for each in found["partitions"]] == [0, 1, 2]
    assert {each["name"]: each["value"] for each in found["configs"]} == {"retention.ms": "3600000"}
    assert "cli-life" in tidegate("topic", "list").out
    assert tidegate("topic", "delete", "cli-life", "--yes").out == "deleted cli-life\n"
    assert tidegate("topic", "list", "cli-life", "-o", "json").data == []


def test_a_topic_that_is_there_already_is_told(tidegate: Tidegate, topic: str) -> None:
    again = tidegate("topic", "create", topic)
    assert (again.code, "exists" in again.err) == (5, True)
    assert tidegate("topic", "create", topic, "--if-not-exists").code == 0


def test_one_of_several_that_is_refused_does_not_hide_the_others(tidegate: Tidegate, topic: str) -> None:
    made = tidegate("topic", "create", f"{topic}-a", topic, f"{topic}-b")
    assert (made.code, made.out) == (5, f"topic {topic}-a made\ntopic {topic}-b made\n")
    assert topic in made.err
    assert tidegate("topic", "describe", f"{topic}-b").code == 0
    assert tidegate("topic", "create", topic, "-o", "json").out == ""


def test_ids_are_written_as_kafkas_tools_write_them(tidegate: Tidegate, broker: RunningBroker, topic: str) -> None:
    found = tidegate("topic", "describe", topic, "-o", "json").data["topic_id"]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (described,) = admin.describe_topics(TopicCollection([topic])).values()
    # librdkafka writes ids in plain base64; Kafka's own tools, and we, in the form for URLs.
    assert found == str(described.result(60).topic_id).translate(str.maketrans("+/", "-_"))


def test_a_dry_run_makes_nothing(tidegate: Tidegate) -> None:
    assert "would be made" in tidegate("topic", "create", "cli-dry", "--dry-run").out
    assert tidegate("topic", "describe", "cli-dry").code == 4


def test_names_are_chosen_by_a_regular_expression(tidegate: Tidegate, topic: str) -> None:
    assert [each["name"] for each in tidegate("topic", "list", topic[:20] + ".*", "-o", "json").data] == [topic]
    assert tidegate("topic", "list", "[").code == 2


def test_the_brokers_own_topics_are_shown_if_asked_for(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "x")
    tidegate("consume", topic, "-g", "makes-offsets-topic", "-e")
    names = [each["name"] for each in tidegate("topic", "list", "--internal", "-o", "json").data]
    assert "__consumer_offsets" in names
    assert "__consumer_offsets" not in [each["name"] for each in tidegate("topic", "list", "-o", "json").data]


def test_settings_are_altered(tidegate: Tidegate, topic: str) -> None:
    assert tidegate("topic", "alter", topic, "--set", "retention.ms=1000", "--dry-run").code == 0
    assert tidegate("topic", "describe", topic, "-o", "json").data["configs"] == []
    assert tidegate("topic", "alter", topic, "-s", "retention.ms=1000", "-s", "max.message.bytes=5000").code == 0
    assert tidegate("topic", "alter", topic, "--unset", "retention.ms").code == 0
    left = tidegate("topic", "describe", topic, "-o", "json").data["configs"]
    assert [each["name"] for each in left] == ["max.message.bytes"]
    wrong = tidegate("topic", "alter", topic, "--set", "retention.ms=x")
    assert (wrong.code, "retention.ms" in wrong.err) == (5, True)
    assert tidegate("topic", "alter", topic).code == 2


def test_partitions_are_added(tidegate: Tidegate, topic: str) -> None:
    assert tidegate("topic", "partitions", topic, "4").code == 0
    assert len(tidegate("topic", "describe", topic, "-o", "json").data["partitions"]) == 4
    fewer = tidegate("topic", "partitions", topic, "2")
    assert fewer.code == 5
    assert fewer.err.startswith("tidegate: ")


def test_records_are_purged_up_to_an_offset_a_time_or_all(tidegate: Tidegate, topic: str) -> None:
    start_ms = time.time_ns() // 1_000_000 - 600_000
    for number in range(4):
        tidegate("produce", topic, f"v{number}", "--timestamp", f"{start_ms + number}")
    plan = tidegate("topic", "purge", topic, "--offset", "1", "--dry-run", "-o", "json").data
    assert (plan["records"], plan["dry_run"]) == (1, True)
    assert tidegate("consume", topic, "-e").out == "v0\nv1\nv2\nv3\n"
    assert tidegate("topic", "purge", topic, "--offset", "1", "--yes").code == 0
    assert tidegate("consume", topic, "-e").out == "v1\nv2\nv3\n"
    assert tidegate("topic", "purge", topic, "--before", f"{start_ms + 3}", "--yes").code == 0
    assert tidegate("consume", topic, "-e").out == "v3\n"
    assert tidegate("topic", "purge", topic, "--yes").code == 0
    assert tidegate("consume", topic, "-e").out == ""
    assert tidegate("topic", "purge", topic, "--partition", "7", "--yes").code == 2
    assert tidegate("topic", "purge", topic).code == 2, "nobody can be asked"


def test_what_nobody_has_read_is_purged_from_a_prioritised_topic(tidegate: Tidegate, topic: str) -> None:
    assert tidegate("config", "set", "topic", topic, "priority.enable=true").code == 0
    start_ms = time.time_ns() // 1_000_000 - 600_000
    for number in range(4):
        tidegate("produce", topic, f"v{number}", "--timestamp", f"{start_ms + number}")
    assert tidegate("topic", "purge", topic, "--offset", "1", "--yes").code == 0
    assert tidegate("topic", "purge", topic, "--before", f"{start_ms + 3}", "--yes").code == 0
    assert tidegate("consume", topic, "-e").out == "v3\n"
    tidegate("produce", topic, "v4")
    purged = tidegate("topic", "purge", topic, "--yes")
    assert (purged.code, "2 records were deleted" in purged.out) == (0, True), purged
    assert tidegate("consume", topic, "-e").out == ""


def test_a_topic_that_is_not_there_is_status_4(tidegate: Tidegate) -> None:
    for arguments in (
        ["describe", "gone"],
        ["delete", "gone", "--yes"],
        ["purge", "gone"],
        ["partitions", "gone", "3"],
    ):
        ended = tidegate("topic", *arguments)
        assert ended.code == 4, arguments
        assert "'gone'" in ended.err
