"""Reading records from the command line."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from confluent_kafka import Producer

from tests.tidegate.processes import ROOT
from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker

# A while ago, but not so long that retention takes it.
START_MS = time.time_ns() // 1_000_000 - 600_000


@pytest.fixture
def filled(tidegate: Tidegate, topic: str) -> str:
    """A topic with v0..v4, a millisecond apart."""
    lines = "".join(f"{START_MS + number} k{number % 2}=v{number}\n" for number in range(5))
    assert tidegate("produce", topic, "-f", "%T %k=%v", stdin=lines).code == 0
    return topic


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["-e"], "01234"),
        (["--from", "3", "-e"], "34"),
        (["--from", "-2", "-e"], "34"),
        (["--from", "latest", "-e"], ""),
        (["--to", "2"], "01"),
        (["--from", "1", "--to", "3"], "12"),
        (["--from", f"@{START_MS + 3}", "-e"], "34"),
        (["--to", f"@{START_MS + 2}"], "01"),
        (["--since", str(START_MS + 1), "--until", str(START_MS + 3)], "12"),
        (["--since", "-5m", "-e"], ""),
        (["--count", "2"], "01"),
        (["--idle", "1"], "01234"),
        (["-e", "--key", "^k1$"], "13"),
        (["-e", "--value", "[34]"], "34"),
        (["-e", "--key", "k0", "--count", "2"], "02"),
    ],
)
def test_one_reads_from_where_to_where_one_likes(
    tidegate: Tidegate, filled: str, options: list[str], found: str
) -> None:
    assert tidegate("consume", filled, *options).out == "".join(f"v{number}\n" for number in found)


def test_headers_choose(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "a", "-H", "source=bar")
    tidegate("produce", topic, "b", "-H", "source=shop")
    tidegate("produce", topic, "c")
    assert tidegate("consume", topic, "-e", "--header", "source=bar").out == "a\n"
    assert tidegate("consume", topic, "-e", "--header", "source").out == "a\nb\n"


def test_records_are_printed_as_one_says(tidegate: Tidegate, filled: str) -> None:
    assert tidegate("consume", filled, "--count", "1", "-f", "%p/%o %k\\t%s").out == "0/0 k0\tv0"
    rows = [json.loads(line) for line in tidegate("consume", filled, "-e", "-o", "json").out.splitlines()]
    assert [row["value"] for row in rows] == ["v0", "v1", "v2", "v3", "v4"]
    assert rows[0]["timestamp_ms"] == START_MS
    assert tidegate("consume", filled, "--count", "1", "-o", "yaml").out.startswith("---\ntopic: ")


def test_a_group_goes_on_where_it_was(tidegate: Tidegate, filled: str) -> None:
    assert tidegate("consume", filled, "-g", "cli-group", "--count", "2").out == "v0\nv1\n"
    assert tidegate("consume", filled, "-g", "cli-group", "-e").out == "v2\nv3\nv4\n"
    assert tidegate("consume", filled, "-g", "cli-group", "-e").out == ""
    assert tidegate("consume", filled, "-g", "cli-other", "-e", "--no-commit").out.count("\n") == 5
    assert tidegate("consume", filled, "-g", "cli-other", "-e").out.count("\n") == 5


def test_several_topics_are_read_at_once(tidegate: Tidegate, filled: str) -> None:
    tidegate("produce", "cli-second", "w")
    assert sorted(tidegate("consume", filled, "cli-second", "-e").out.split()) == ["v0", "v1", "v2", "v3", "v4", "w"]


def test_the_end_is_reached_where_nothing_can_be_read(tidegate: Tidegate, topic: str) -> None:
    from aiokafka import AIOKafkaProducer

    from tools.cli.kafka import run

    async def abort() -> None:
        import os as environment

        producer = AIOKafkaProducer(
            bootstrap_servers=environment.environ["TIDEGATE_CLI_BOOTSTRAP"], transactional_id="cli-aborts"
        )
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"never")
        await producer.abort_transaction()
        await producer.stop()

    run(abort())
    assert tidegate("consume", topic, "-e").out == ""
    assert tidegate("consume", topic, "-e", "--isolation", "read_uncommitted").out == "never\n"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--from", "yesterday"], 2, "--from cannot be 'yesterday'"),
        (["--to", "-3"], 2, "--to cannot be '-3'"),
        (["-f", "%z"], 2, "%z"),
        (["--key", "["], 2, "no regular expression"),
        (["-p", "9", "-e"], 2, "no partition 9"),
        (["-g", "x", "--to", "3"], 2, "group"),
    ],
)
def test_what_cannot_be_is_told(tidegate: Tidegate, filled: str, options: list[str], code: int, said: str) -> None:
    ended = tidegate("consume", filled, *options)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_a_topic_that_is_not_there_is_status_4_and_not_made(tidegate: Tidegate) -> None:
    assert tidegate("consume", "cli-nowhere", "-e").code == 4
    assert tidegate("consume", "cli-nowhere", "-g", "g", "-e").code == 4
    assert tidegate("topic", "describe", "cli-nowhere").code == 4


def test_it_follows_until_it_is_interrupted(tidegate: Tidegate, filled: str, broker: RunningBroker) -> None:
    environment = {**os.environ, "TIDEGATE_CLI_BOOTSTRAP": broker.bootstrap}
    command = [sys.executable, "-m", "tidegate", "consume", filled]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert [reader.stdout.readline() for _ in range(5)][-1] == b"v4\n"
        tidegate("produce", filled, "v5")
        assert reader.stdout.readline() == b"v5\n"
        reader.send_signal(signal.SIGINT)
        assert reader.wait(30) == 130
        assert b"Traceback" not in reader.stderr.read()


def test_a_member_that_is_told_to_end_leaves_its_group(tidegate: Tidegate, filled: str, broker: RunningBroker) -> None:
    environment = {**os.environ, "TIDEGATE_CLI_BOOTSTRAP": broker.bootstrap}
    command = [sys.executable, "-m", "tidegate", "consume", filled, "--group", f"ended-{filled}"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as member:
        assert member.stdout is not None
        assert member.stderr is not None
        assert [member.stdout.readline() for _ in range(5)][-1] == b"v4\n"
        member.send_signal(signal.SIGTERM)
        assert member.wait(30) == 143
        assert member.stderr.read() == b""
    found = tidegate("group", "describe", f"ended-{filled}", "-o", "json").data
    # At once, and not when the session of a lost member would be over.
    assert (found["state"], found["members"], found["lag"]) == ("Empty", [], 0)


def test_open_transactions_do_not_keep_a_reader_of_committed_records(
    tidegate: Tidegate, topic: str, broker: RunningBroker
) -> None:
    tidegate("produce", topic, "before")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"open-{topic}"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(60) == 0
    tidegate("produce", topic, "behind")
    assert tidegate("consume", topic, "-e").out == "before\n"
    assert tidegate("consume", topic, "-e", "-g", f"g-{topic}").out == "before\n"
    assert tidegate("consume", topic, "-e", "--until", "+1h").out == "before\n"
    assert tidegate("consume", topic, "-e", "--isolation", "read_uncommitted").out == "before\nopen\nbehind\n"
    producer.abort_transaction(60)
    assert tidegate("consume", topic, "-e").out == "before\nbehind\n"


def test_topics_are_chosen_by_a_pattern(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", f"{topic}-a", "1")
    tidegate("produce", f"{topic}-b", "2")
    found = tidegate("consume", f"{topic}-.", "--regex", "-e", "-f", r"%t=%v\n")
    assert sorted(found.out.split()) == [f"{topic}-a=1", f"{topic}-b=2"]
    assert tidegate("consume", "nothing-.*", "--regex", "-e").code == 4
    assert tidegate("consume", "(", "--regex", "-e").code == 2
    assert tidegate("consume", topic, "--since", "-1h", "--from", "3").code == 2
