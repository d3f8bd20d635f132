"""Working from a share group by command: records printed and settled, or given to a program."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.cli.conftest import Tidegate

PROGRAM = """
import os, sys
value = sys.stdin.read()
with open(sys.argv[1], "a") as seen:
    seen.write(f"{value} {os.environ['TIDEGATE_OFFSET']} {os.environ['TIDEGATE_DELIVERY_COUNT']}\\n")
sys.exit({"good": 0, "later": 75 if os.environ["TIDEGATE_DELIVERY_COUNT"] == "1" else 0}.get(value, 1))
"""


@pytest.fixture
def group(tidegate: Tidegate, topic: str) -> str:
    """A share group that begins at the start of the topic and does not wait with another attempt."""
    name = f"w-{topic}"
    settings = ("share.auto.offset.reset=earliest", "share.retry.backoff.ms=0")
    assert tidegate("config", "set", "group", name, *settings).code == 0
    return name


def test_records_are_printed_and_accepted(tidegate: Tidegate, topic: str, group: str) -> None:
    tidegate("produce", topic, "a", "b", "c")
    assert tidegate("consume", topic, "--share", group, "--count", "2", "-f", "%o %v\\n").out == "0 a\n1 b\n"
    assert tidegate("consume", topic, "--share", group, "--count", "1").out == "c\n"
    assert tidegate("share", "offsets", group, "-o", "json").data[0]["lag"] == 0


def test_what_is_released_comes_again(tidegate: Tidegate, topic: str, group: str) -> None:
    tidegate("produce", topic, "a")
    for _ in range(2):
        assert tidegate("consume", topic, "--share", group, "--count", "1", "--settle", "release").out == "a\n"
    assert tidegate("consume", topic, "--share", group, "--count", "1").out == "a\n"


def test_what_is_released_waits_as_long_as_one_likes(tidegate: Tidegate, topic: str, group: str) -> None:
    tidegate("produce", topic, "a")
    assert tidegate("consume", topic, "--share", group, "--count", "1", "--release", "--retry-in", "10m").out == "a\n"
    assert tidegate("consume", topic, "--share", group, "--idle", "1").out == ""


def test_what_is_rejected_is_a_dead_letter(tidegate: Tidegate, topic: str, group: str) -> None:
    tidegate("produce", topic, "a")
    assert tidegate("consume", topic, "--share", group, "--count", "1", "--reject").out == "a\n"
    assert tidegate("consume", f"{topic}.dlq", "--count", "1").out == "a\n"


def test_what_is_renewed_is_nobody_elses_until_the_end(tidegate: Tidegate, topic: str, group: str) -> None:
    tidegate("config", "set", "group", group, "share.record.lock.duration.ms=1000")
    tidegate("produce", topic, "a", "b", "c")
    command = [sys.executable, "-m", "tidegate", "consume", topic, "--share", group, "--renew", "--count", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert [holder.stdout.readline() for _ in range(2)] == [b"a\n", b"b\n"]
        assert tidegate("consume", topic, "--share", group, "--idle", "3").out == "c\n", "longer than a lock lasts"
        holder.send_signal(signal.SIGINT)
    assert tidegate("consume", topic, "--share", group, "--count", "2").out == "a\nb\n"


def test_a_record_is_settled_in_one_way(tidegate: Tidegate, topic: str) -> None:
    ended = tidegate("consume", topic, "--share", "g", "--accept", "--renew")
    assert (ended.code, "--accept and --renew exclude each other" in ended.err) == (2, True)


def test_a_programs_exit_status_decides(tidegate: Tidegate, topic: str, group: str, tmp_path: Path) -> None:
    tidegate("produce", topic, "good", "later", "bad")
    program, seen = tmp_path / "work.py", tmp_path / "seen"
    program.write_text(PROGRAM)
    command = f"{sys.executable} {program} {seen}"
    ended = tidegate("consume", topic, "--share", group, "--exec", command, "--count", "4")
    assert (ended.code, ended.out) == (0, "")
    assert sorted(seen.read_text().splitlines()) == ["bad 2 1", "good 0 1", "later 1 1", "later 1 2"]
    assert {"2 accept", "1 release", "1 reject"} == set(ended.err.strip().split(", "))
    assert tidegate("consume", f"{topic}.dlq", "-e").out == "bad\n"


def test_it_ends_after_silence(tidegate: Tidegate, topic: str, group: str) -> None:
    tidegate("produce", topic, "a")
    assert tidegate("consume", topic, "--share", group, "--idle", "3").out == "a\n"


@pytest.mark.parametrize("option", [["--from", "earliest"], ["-e"], ["--group", "g"], ["--key", "x"]])
def test_a_share_group_decides_itself_what_is_read(tidegate: Tidegate, topic: str, option: list[str]) -> None:
    ended = tidegate("consume", topic, "--share", "g", *option)
    assert (ended.code, "exclude each other" in ended.err) == (2, True)


def test_a_program_that_there_is_not_is_told(tidegate: Tidegate, topic: str, group: str) -> None:
    tidegate("produce", topic, "a")
    ended = tidegate("consume", topic, "--share", group, "--exec", "/nowhere/at-all", "--count", "1")
    assert (ended.code, "/nowhere/at-all" in ended.err) == (2, True)
