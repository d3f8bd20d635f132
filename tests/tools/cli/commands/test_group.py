"""Groups from the command line."""

import os
import subprocess
import sys
import time

import pytest

from tests.tidegate.processes import ROOT
from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker

PATIENCE_S = 60.0


@pytest.fixture
def group(tidegate: Tidegate, topic: str) -> str:
    """A group that has read two of five records and has no members."""
    tidegate("produce", topic, *(f"v{number}" for number in range(5)))
    tidegate("consume", topic, "-g", f"g-{topic}", "--count", "2")
    return f"g-{topic}"


def committed(tidegate: Tidegate, group: str) -> list[int]:
    return [each["committed_offset"] for each in tidegate("group", "lag", group, "-o", "json").data["offsets"]]


def test_groups_are_listed_with_their_lag(tidegate: Tidegate, group: str) -> None:
    rows = {row["group"]: row for row in tidegate("group", "list", "--lag", "-o", "json").data}
    assert rows[group] == {"group": group, "type": "classic", "state": "Empty", "lag": 3}
    assert group in tidegate("group", "list", "--state", "empty").out
    assert group not in tidegate("group", "list", "--state", "stable").out


def test_a_group_is_described(tidegate: Tidegate, group: str, topic: str) -> None:
    found = tidegate("group", "describe", group, "-o", "json").data
    assert (found["state"], found["lag"], found["members"]) == ("Empty", 3, [])
    assert found["offsets"] == [
        {"topic": topic, "partition": 0, "committed_offset": 2, "end_offset": 5, "lag": 3, "member": None}
    ]
    assert "lag 3" in tidegate("group", "describe", group).out


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_shown_and_keep_their_offsets(
    tidegate: Tidegate, topic: str, broker: RunningBroker, protocol: str
) -> None:
    from confluent_kafka import Consumer

    name = f"g-{topic}"
    tidegate("produce", topic, "a")
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": name,
        "client.id": "reader",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer({**settings, "group.protocol": protocol})
    try:
        consumer.subscribe([topic])
        deadline = time.monotonic() + PATIENCE_S
        while (message := consumer.poll(0.5)) is None or message.error():
            assert time.monotonic() < deadline
        consumer.commit(message, asynchronous=False)
        found = tidegate("group", "describe", name, "-o", "json").data
        assert (found["type"], found["state"]) == (protocol, "Stable")
        assert [each["partitions"] for each in found["members"]] == [[f"{topic}-0"]]
        assert found["offsets"][0]["member"] == "reader"
        refused = tidegate("group", "reset", name, "--to", "earliest", "--yes")
        assert (refused.code, "has members" in refused.err) == (5, True)
        assert tidegate("group", "delete", name, "--yes").code == 5
    finally:
        consumer.close()
    assert committed(tidegate, name) == [1]


def test_lag_is_a_check_for_scripts(tidegate: Tidegate, group: str) -> None:
    assert tidegate("group", "lag", group, "--max", "3").code == 0
    assert tidegate("group", "lag", group, "--max", "2").code == 1


@pytest.mark.parametrize(
    ("target", "offset"),
    [("earliest", 0), ("latest", 5), ("4", 4), ("99", 5), ("-1", 1), ("+2", 4), ("-99", 0), ("@+1h", 5), ("@-1h", 0)],
)
def test_offsets_are_moved_after_a_dry_run(tidegate: Tidegate, group: str, target: str, offset: int) -> None:
    plan = tidegate("group", "reset", group, "--to", target, "--dry-run", "-o", "json").data
    assert [move["new_offset"] for move in plan["moves"]] == [offset]
    assert committed(tidegate, group) == [2]
    assert tidegate("group", "reset", group, "--to", target, "--yes").code == 0
    assert committed(tidegate, group) == [offset]


def test_a_group_may_be_made_at_an_offset(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "a", "b", "c")
    assert tidegate("group", "reset", "cli-new", "--to", "1", "--topic", topic, "--yes").code == 0
    assert tidegate("consume", topic, "-g", "cli-new", "-e").out == "b\nc\n"


def test_a_group_is_deleted(tidegate: Tidegate, group: str) -> None:
    assert tidegate("group", "delete", group, "--yes").out == f"deleted {group}\n"


def test_what_was_deleted_is_told_though_another_is_not_there(tidegate: Tidegate, group: str) -> None:
    ended = tidegate("group", "delete", "cli-gone-1", group, "cli-gone-2", "--yes")
    assert (ended.code, ended.out) == (4, f"deleted {group}\n")
    assert [line.split(";")[0] for line in ended.err.splitlines()] == [
        "tidegate: no group 'cli-gone-1'",
        "tidegate: no group 'cli-gone-2'",
    ]
    told = tidegate("group", "delete", "cli-gone-1", "--yes", "-o", "json")
    assert (told.data["deleted"], [each["name"] for each in told.data["refused"]]) == ([], ["cli-gone-1"])
    assert tidegate("group", "describe", group).code == 4


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["describe", "gone"], 4),
        (["lag", "gone"], 4),
        (["delete", "gone", "--yes"], 4),
        (["reset", "gone", "--to", "earliest", "--yes"], 4),
    ],
)
def test_a_group_that_is_not_there_is_status_4(tidegate: Tidegate, arguments: list[str], code: int) -> None:
    ended = tidegate("group", *arguments)
    assert ended.code == code
    assert "gone" in ended.err


def test_a_wrong_target_is_told(tidegate: Tidegate, group: str) -> None:
    assert "--to cannot be 'yesterday'" in tidegate("group", "reset", group, "--to", "yesterday", "--yes").err


def test_a_deleted_topic_does_not_hide_the_group(tidegate: Tidegate, group: str, topic: str) -> None:
    tidegate("topic", "delete", topic, "--yes")
    assert tidegate("group", "describe", group).code in (0, 4)


def test_a_running_member_may_be_this_very_program(tidegate: Tidegate, topic: str, broker: RunningBroker) -> None:
    tidegate("produce", topic, "a")
    command = [sys.executable, "-m", "tidegate", "consume", topic, "--group", "cli-live"]
    environment = {**os.environ, "TIDEGATE_CLI_BOOTSTRAP": broker.bootstrap}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as member:
        try:
            assert member.stdout is not None
            assert member.stdout.readline() == b"a\n"
            assert tidegate("group", "describe", "cli-live", "-o", "json").data["state"] == "Stable"
        finally:
            member.terminate()
