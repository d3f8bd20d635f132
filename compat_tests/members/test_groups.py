"""HTTP members in groups with librdkafka's and Java's: they share the partitions, and nothing is lost when one goes."""

import itertools
import json
import subprocess
from collections.abc import Callable

import pytest

from compat_tests.clients import CLIENTS, Record
from compat_tests.groups.consumers import Consumer, consumers, share, wait_until
from compat_tests.members.broker import HttpBroker
from tools.reference.java import java_command

MakeTopic = Callable[..., str]
PARTITIONS = 6


def fill(broker: HttpBroker, topic: str, count: int = 60, first: int = 0) -> set[str]:
    values = [str(number) for number in range(first, first + count)]
    records = [Record(value.encode(), partition=int(value) % PARTITIONS) for value in values]
    CLIENTS["confluent"].produce(broker.bootstrap, topic, records)
    return set(values)


def values(given: list[Consumer]) -> list[str]:
    return [value for consumer in given for _, _, value in consumer.records]


def dealt(broker: HttpBroker, group: str) -> list[list[int]]:
    """The partitions of each member, as the group's coordinator has it."""
    told = broker.call("GET", f"/groups/{group}")
    members = told.body["members"]["items"] if told.status == 200 else []
    return sorted(
        sorted(index for each in member["assignment"] or () for index in each["partitions"]) for member in members
    )


def test_http_java_and_librdkafka_members_share_a_topic(broker: HttpBroker, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(PARTITIONS)
    where = (
        "--bootstrap-server",
        broker.bootstrap,
        "--topic",
        topic,
        "--group-id",
        group,
        "--group-protocol",
        "classic",
    )
    command = java_command("VerifiableConsumer", *where, "--reset-policy", "earliest", "--session-timeout", "6000")
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as java,
        consumers(broker.bootstrap, group, topic) as start,
    ):
        try:
            members = [start("confluent"), start("http", http=broker.http), start("http", http=broker.http)]

            def is_shared() -> bool:
                held = dealt(broker, group)
                return len(held) == 4 and all(held) and sorted(itertools.chain(*held)) == list(range(PARTITIONS))

            wait_until(is_shared, members, 60)
            sent = fill(broker, topic)
            wait_until(lambda: all(member.records for member in members), members)
            members[2].close()
            members[1].kill()  # its caller is silent from now on
            wait_until(lambda: len(dealt(broker, group)) == 2, members, 60)
            sent |= fill(broker, topic, first=60)
            wait_until(lambda: len(members[0].records) > 10, members)
            java.terminate()
            assert java.stdout is not None
            events = [json.loads(line) for line in java.stdout.read().splitlines()]
            java.wait(20)
            wait_until(lambda: dealt(broker, group) == [list(range(PARTITIONS))], members, 60)
            consumed = [event for event in events if event["name"] == "records_consumed"]
            by_java = sum(event["count"] for event in consumed)
            wait_until(lambda: len(set(values(members))) + by_java >= len(sent), members)
            assert by_java > 0
        finally:
            java.kill()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("confluent", {"strategy": "cooperative-sticky"}),
        ("confluent", {"strategy": "roundrobin"}),
        ("confluentnew", {}),
    ],
    ids=["cooperative", "round-robin", "new-protocol"],
)
def test_an_http_member_shares_with_whatever_client(
    broker: HttpBroker, make_topic: MakeTopic, group: str, kind: str, options: dict[str, str]
) -> None:
    topic = make_topic(PARTITIONS)
    with consumers(broker.bootstrap, group, topic) as start:
        members = [start("http", http=broker.http), start(kind, **options)]
        wait_until(lambda: share(members, topic, PARTITIONS), members, 60)
        sent = fill(broker, topic)
        wait_until(lambda: set(values(members)) >= sent, members)
        assert sorted(values(members), key=int) == sorted(sent, key=int), "each once: nobody has died"
        members[1].close()
        wait_until(lambda: share(members[:1], topic, PARTITIONS), members[:1], 60)
        more = fill(broker, topic, first=60)
        wait_until(lambda: set(values(members)) >= more, members[:1])


def test_what_a_dead_caller_had_not_committed_is_read_by_another(
    broker: HttpBroker, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(PARTITIONS)
    sent = fill(broker, topic)
    with consumers(broker.bootstrap, group, topic) as start:
        # Without commits of its own: the broker commits for it what it is done with.
        first = start("http", http=broker.http, commit=False, session_ms=2000)
        wait_until(lambda: len(first.records) >= len(sent), [first])
        first.kill()
        second = start("confluent")
        wait_until(lambda: share([second], topic, PARTITIONS), [second], 60)
        more = fill(broker, topic, first=60)
        wait_until(lambda: set(values([second])) >= more, [second])
        assert set(values([first, second])) == sent | more
