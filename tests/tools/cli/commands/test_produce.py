"""Sending records from the command line."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidegate.processes import ROOT
from tests.tools.cli.conftest import Tidegate


def read(tidegate: Tidegate, topic: str, form: str) -> list[str]:
    return tidegate("consume", topic, "-e", "-f", form + r"\n").out.splitlines()


def test_values_on_the_command_line_are_records(tidegate: Tidegate, topic: str) -> None:
    sent = tidegate("produce", topic, "a", "b", "-k", "key", "-H", "source=shop", "-H", "flag", "-o", "json").data
    assert sent == {
        "topic": topic,
        "records": 2,
        "held": 0,
        "made_topic": False,
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


@pytest.mark.parametrize("arguments", [["", "--null"], ["--cancel", "x"], ["--json", '{"headers": {"a": "b"}}']])
def test_a_record_of_nothing_is_refused(tidegate: Tidegate, topic: str, arguments: list[str]) -> None:
    ended = tidegate("produce", topic, *arguments)
    assert ended.code == 2
    assert "--key" in ended.err


def test_a_topic_that_sending_has_made_is_told(tidegate: Tidegate, topic: str) -> None:
    said = tidegate("produce", f"new-{topic}", "x")
    assert (said.code, said.out) == (0, f"1 record to new-{topic}: partition 0 at 0\n")
    assert f"there was no topic new-{topic}; it was made" in said.err
    assert tidegate("produce", f"new-{topic}", "x").err == ""
    assert tidegate("produce", f"newer-{topic}", "x", "-o", "json").data["made_topic"] is True


@pytest.mark.parametrize("expiry", [["--ttl", "1s"], ["--expires-at", "+1s"]])
def test_an_expiry_that_nobody_looks_at_is_told(tidegate: Tidegate, topic: str, expiry: list[str]) -> None:
    said = tidegate("produce", topic, "x", *expiry)
    assert (said.code, f"{expiry[0]} does nothing here" in said.err) == (0, True)
    assert "does nothing" not in tidegate("produce", topic, "x", "--delay", "1h", *expiry).err
    assert "does nothing" not in tidegate("produce", topic, "x", "--priority", "low", *expiry).err


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


def test_all_records_are_readable_at_once_or_none(tidegate: Tidegate, topic: str) -> None:
    sent = tidegate("produce", topic, "--transactional-id", f"id-{topic}", "-o", "json", stdin="a\nb\n").data
    assert sent["transactions"] == {"id": f"id-{topic}", "ended": "committed", "count": 1}
    failed = tidegate(
        "produce", topic, "--transactional-id", f"id-{topic}", "--json", stdin='{"value":"c"}\nnonsense\n'
    )
    assert (failed.code, "record 2 of the input" in failed.err, "nothing stays" in failed.err) == (2, True, True)
    assert read(tidegate, topic, "%v") == ["a", "b"]
    assert tidegate("txn", "describe", f"id-{topic}", "-o", "json").data["state"] == "CompleteAbort"


def test_a_transaction_for_every_so_many_records(tidegate: Tidegate, topic: str) -> None:
    options = ["--transactional-id", f"id-{topic}", "--transaction-every", "2"]
    assert tidegate("produce", topic, *options, stdin="a\nb\nc\n").out.endswith("; 2 transactions committed\n")
    refused = tidegate(
        "produce",
        topic,
        *options,
        "--json",
        stdin='{"value":"d"}\n{"value":"e"}\n{"value":"f","headers":{"tide-ttl":"x"}}\n',
    )
    assert refused.code == 5
    assert "the transaction was aborted, 1 transactions before it stay" in refused.err
    assert read(tidegate, topic, "%v") == ["a", "b", "c", "d", "e"]


def test_a_transaction_may_be_aborted_to_see_what_readers_do(tidegate: Tidegate, topic: str) -> None:
    assert tidegate("produce", topic, "a", "--transactional-id", f"id-{topic}", "--abort").code == 0
    assert read(tidegate, topic, "%v") == []
    assert tidegate("consume", topic, "-e", "--isolation", "read_uncommitted").out == "a\n"


def test_files_may_be_records(tidegate: Tidegate, topic: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00\n\xff" * 50_000)
    (tmp_path / "b").write_bytes(b"short")
    tidegate("produce", topic, "--file", str(tmp_path / "a"), "--file", str(tmp_path / "b"), "--whole")
    assert read(tidegate, topic, "%S") == ["150000", "5"]


def test_lines_may_be_encoded(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "-f", "%k{hex} %v{base64}", stdin="00ff AP/+\n")
    assert read(tidegate, topic, "%k{hex} %v{base64}") == ["00ff AP/+"]


def start(*arguments: str, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "tidegate", "produce", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_line_is_sent_when_it_is_there(tidegate: Tidegate, topic: str) -> None:
    with start(topic, environment={}) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        assert tidegate("consume", topic, "--count", "1", "--idle", "60").out == "first\n"
        out, _ = process.communicate(b"second\n", timeout=60)
    assert out.decode() == f"2 records to {topic}: partition 0 at 0-1\n"


def test_ctrl_c_ends_at_once_and_aborts(tidegate: Tidegate, topic: str) -> None:
    with start(topic, "--transactional-id", f"id-{topic}", environment={}) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        uncommitted = ["--isolation", "read_uncommitted", "--count", "1", "--idle", "60"]
        assert tidegate("consume", topic, *uncommitted).out == "first\n"
        process.send_signal(signal.SIGINT)
        # Its input stays open: it does not wait for it.
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert read(tidegate, topic, "%v") == []
    assert tidegate("txn", "describe", f"id-{topic}", "-o", "json").data["state"] == "CompleteAbort"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--transaction-every", "2"], "give --transactional-id too"),
        (["--abort"], "give --transactional-id too"),
        (["--transactional-id", "x", "--acks", "1"], "needs --acks all"),
        (["--transactional-id", "x", "--transaction-timeout", "soon"], "no span of time"),
    ],
)
def test_what_transactions_need_is_told(tidegate: Tidegate, topic: str, options: list[str], said: str) -> None:
    ended = tidegate("produce", topic, "x", *options)
    assert (ended.code, said in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--delay", "1h"], "has not held the records back"),
        (["--at", "+1h"], "has not held the records back"),
        (["--priority", "high"], "has no priorities"),
        (["--cancel", "x", "-k", "k"], "cancelled nothing"),
    ],
)
def test_what_the_broker_has_not_done_is_told(tidegate: Tidegate, topic: str, options: list[str], said: str) -> None:
    # Like a topic of a broker that has no such things.
    assert tidegate("topic", "alter", topic, "--set", "extensions.enable=false").code == 0
    ended = tidegate("produce", topic, "x", *options)
    assert (ended.code, ended.out) == (1, f"1 record to {topic}\n")
    assert said in ended.err
