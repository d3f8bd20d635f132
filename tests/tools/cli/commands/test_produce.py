"""Sending records from the command line."""

from pathlib import Path

import pytest

from tests.tools.cli.conftest import Tidegate


def read(tidegate: Tidegate, topic: str, form: str) -> list[str]:
    return tidegate("consume", topic, "-e", "-f", form + r"\n").out.splitlines()


def test_values_on_the_command_line_are_records(tidegate: Tidegate, topic: str) -> None:
    sent = tidegate("produce", topic, "a", "b", "-k", "key", "-H", "source=shop", "-H", "flag", "-o", "json").data
    assert sent == {
        "topic": topic,
        "records": 2,
        "held": 0,
        "partitions": [{"partition": 0, "records": 2, "first_offset": 0, "last_offset": 1}],
    }
    assert read(tidegate, topic, "%o %k %v %h") == ["0 key a source=shop,flag=NULL", "1 key b source=shop,flag=NULL"]


def test_every_line_of_the_input_is_a_record(tidegate: Tidegate, topic: str, tmp_path: Path) -> None:
    assert tidegate("produce", topic, stdin="a\nb\n").out == f"2 records to {topic}: partition 0 at 0-1\n"
    (tmp_path / "in").write_bytes(b"c;d")
    tidegate("produce", topic, "--file", str(tmp_path / "in"), "-D", ";")
    assert read(tidegate, topic, "%v") == ["a", "b", "c", "d"]


def test_lines_have_keys_by_a_separator_or_a_format(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "-K", ":", stdin="k1:v1\n")
    tidegate("produce", topic, "-f", "%T %k=%v", stdin="1790000000000 k2=v2\n")
    assert read(tidegate, topic, "%k %v")[0] == "k1 v1"
    assert read(tidegate, topic, "%k %v %T")[1] == "k2 v2 1790000000000"
    assert tidegate("produce", topic, "-K", ":", stdin="no separator\n").code == 2


def test_what_consume_prints_as_json_is_sent_again(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "a", "-k", "k", "-H", "h=1")
    copied = tidegate("consume", topic, "-e", "-o", "json").out
    assert tidegate("produce", topic, "--json", stdin=copied).code == 0
    first, second = read(tidegate, topic, "%k %v %h %T")
    assert first == second


def test_a_null_value_is_a_tombstone(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "", "-Z", "-k", "k")
    tidegate("produce", topic, "", "-k", "k")
    assert read(tidegate, topic, "%S") == ["-1", "0"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_are_compressed(tidegate: Tidegate, topic: str, codec: str) -> None:
    assert tidegate("produce", topic, f"by {codec}", "-z", codec).code == 0
    assert f"by {codec}" in read(tidegate, topic, "%v")


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_one_may_wait_for_all_the_leader_or_nobody(tidegate: Tidegate, topic: str, acks: str) -> None:
    assert tidegate("produce", topic, acks, "--acks", acks, "-o", "json").data["records"] == 1


def test_records_go_to_partitions_as_one_says(tidegate: Tidegate) -> None:
    tidegate("topic", "create", "cli-partitions", "-p", "3")
    tidegate("produce", "cli-partitions", "a", "b", "c", "--partitioner", "round-robin")
    assert sorted(read(tidegate, "cli-partitions", "%p")) == ["0", "1", "2"]
    tidegate("produce", "cli-partitions", "d", "-p", "2")
    assert "2 d" in read(tidegate, "cli-partitions", "%p %v")
    missing = tidegate("produce", "cli-partitions", "e", "-p", "3")
    assert (missing.code, "no partition 3" in missing.err) == (2, True)


def test_a_delayed_record_waits(tidegate: Tidegate, topic: str) -> None:
    sent = tidegate("produce", topic, "later", "and later", "--delay", "1h")
    assert sent.out == f"2 records to {topic}; 2 held back for 1h\n"
    assert read(tidegate, topic, "%v") == []
    assert len(tidegate("pending", "list", topic, "-o", "json").data) == 2


def test_a_delayed_record_is_cancelled_by_another(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "later", "--delay", "1h", "-k", "bob", "--schedule-id", "call")
    assert tidegate("produce", topic, "-k", "bob", "--cancel", "call").code == 0
    assert tidegate("pending", "fate", topic, "call", "-o", "json").data["fate"] == "CANCELLED"


def test_a_critical_record_overtakes(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "first", "--priority", "low")
    tidegate("produce", topic, "second", "--priority", "critical", "--ttl", "1h")
    assert read(tidegate, topic, "%v") == ["second", "first"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--priority", "urgent"], 2, "no priority"),
        (["--delay", "soon"], 2, "no span of time"),
        (["--at", "noon"], 2, "no point in time"),
        (["--delay", "1s", "--at", "now"], 2, "exclude each other"),
        (["--delay", "1h", "--schedule-id", "x"], 5, "needs a record with a key"),
        (["-H", "tide-delay=x"], 5, "INVALID_RECORD: tide-delay must be"),
        (["-K", ":", "-f", "%v"], 2, "exclude each other"),
    ],
)
def test_what_cannot_be_is_told(tidegate: Tidegate, topic: str, options: list[str], code: int, said: str) -> None:
    ended = tidegate("produce", topic, "x", *options)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert read(tidegate, topic, "%v") == []


def test_many_records_go_in_windows(tidegate: Tidegate, topic: str) -> None:
    sent = tidegate("produce", topic, "-o", "json", stdin="".join(f"{number}\n" for number in range(12_000)))
    assert sent.data["records"] == 12_000
    assert read(tidegate, topic, "%v") == [str(number) for number in range(12_000)]
