"""Cooperative rebalances of a large classic group (KIP-429): how long they take, and what goes on meanwhile.

When members notice a rebalance is their own affair: by their next heartbeat, here every 200 ms. librdkafka looks at its
group every 500 ms only, so its rounds take so long whatever the broker does. The times are said (`pytest -rP`), and
bounded loosely: a test machine may be busy.
"""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from compat_tests.groups.crowd import HEARTBEAT_MS, Crowd, crowd, longest_gap_s, steady_writes, wait_for
from compat_tests.java.program import java_program

MakeTopic = Callable[..., str]
MEMBERS, PARTITIONS = 20, 100
LONGEST_S = 10.0
EVERY_S = 0.1
JAVA_CROWD = Path(__file__).with_name("CooperativeCrowd.java")
ROUNDS = 2


def check_change(everybody: Crowd, what: str, change: Callable[[], object]) -> None:
    """Changes the group; the partitions that stay with their members have to be theirs throughout."""
    everybody.forget_what_was()
    before = [(member, set(member.held)) for member in everybody.members]
    began_s = time.monotonic()
    change()
    ended_s = everybody.wait_until_balanced(PARTITIONS)
    staying = everybody.members
    kept = [(member, each) for member, held in before if member in staying for each in held & member.held]
    assert len(kept) >= PARTITIONS - 2 * PARTITIONS // MEMBERS, "hardly anything moves"
    assert [each for member, each in kept if each in member.revoked] == []
    reached_s = time.monotonic()
    wait_for(lambda: all(member.has_read_since(reached_s, each) for member, each in kept), staying)
    gap_s = max(longest_gap_s(member, each, (began_s, ended_s)) for member, each in kept)
    print(f"{what}: settled in {ended_s - began_s:.2f} s, at most {gap_s:.2f} s without a record where nothing moved")
    assert ended_s - began_s < LONGEST_S


def test_twenty_members_take_one_more_in_and_let_one_go(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with crowd(bootstrap, group, topic, MEMBERS) as everybody, steady_writes(bootstrap, topic, PARTITIONS, EVERY_S):
        everybody.wait_until_balanced(PARTITIONS)
        check_change(everybody, "a member joins", everybody.add)
        leaving = everybody.members[0]
        check_change(everybody, "a member leaves", lambda: everybody.dismiss(leaving))


def test_java_members_take_one_more_in_and_let_one_go(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=PARTITIONS)
    numbers = (MEMBERS, PARTITIONS, HEARTBEAT_MS, ROUNDS)
    command = [*java_program(JAVA_CROWD), bootstrap, topic, group, *map(str, numbers)]
    with steady_writes(bootstrap, topic, PARTITIONS, EVERY_S):
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    print(done.stdout)
    *lines, last = [line.split() for line in done.stdout.splitlines()] or [[]]
    assert last == ["done"], done.stdout + done.stderr
    assert [line[0] for line in lines] == ["join", "leave"] * ROUNDS
    for _, took_ms, kept, revoked, _ in lines:
        assert int(took_ms) < LONGEST_S * 1000
        assert int(kept) >= PARTITIONS - 2 * PARTITIONS // MEMBERS
        assert revoked == "0"


def test_what_stays_is_read_while_a_member_takes_its_time_to_let_go(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with crowd(bootstrap, group, topic, 4) as everybody, steady_writes(bootstrap, topic, PARTITIONS, EVERY_S):
        everybody.wait_until_balanced(PARTITIONS)
        slow, *others = everybody.members
        slow.may_let_go.clear()
        newcomer = everybody.add()
        wait_for(slow.letting_go.is_set, everybody.members)
        # The rebalance cannot end now: what the others keep has to go on, and what they give up has no reader.
        since_s = time.monotonic()
        wait_for(
            lambda: all(member.has_read_since(since_s, each) for member in others for each in list(member.held)),
            everybody.members,
        )
        assert not everybody.is_balanced(PARTITIONS)
        slow.may_let_go.set()
        everybody.wait_until_balanced(PARTITIONS)
        assert newcomer.held
