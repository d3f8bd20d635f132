"""Groups of real consumers that speak the new protocol: sharing, rebalancing, committing, and mixed with others."""

import time
from collections.abc import Callable

import pytest

from compat_tests import admin
from compat_tests.brokers import target
from compat_tests.clients import CLIENTS, Record
from compat_tests.conftest import unique_name
from compat_tests.groups.broker import mortal_broker
from compat_tests.groups.consumers import Consumer, consumers, share, wait_until

MakeTopic = Callable[..., str]
PARTITIONS = 6
NEW = "confluentnew"


def fill(bootstrap: str, topic: str, count: int = 60, first: int = 0) -> set[str]:
    values = [str(number) for number in range(first, first + count)]
    records = [Record(value.encode(), partition=int(value) % PARTITIONS) for value in values]
    CLIENTS["confluent"].produce(bootstrap, topic, records)
    return set(values)


def values(*given: Consumer) -> list[str]:
    return [value for consumer in given for _, _, value in consumer.records]


def balanced(members: list[Consumer], topic: str, partitions: int) -> bool:
    """Whether they share the topic, and evenly: the rebalance is over."""
    sizes = {len(member.assigned) for member in members}
    return share(members, topic, partitions) and max(sizes) - min(sizes) <= 1


def test_a_consumer_goes_on_where_the_last_one_committed(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=PARTITIONS)
    first_half = fill(bootstrap, topic)
    with consumers(bootstrap, group, topic) as start:
        one = start(NEW)
        wait_until(lambda: set(values(one)) == first_half, [one])
        one.close()
        second_half = fill(bootstrap, topic, first=60)
        two = start(NEW)
        wait_until(lambda: set(values(two)) == second_half, [two])
        assert one.errors == two.errors == []


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_share_a_topic_and_what_they_keep_never_stops(
    bootstrap: str, make_topic: MakeTopic, group: str, assignor: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with consumers(bootstrap, group, topic) as start:
        members = [start(NEW, assignor=assignor)]
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        before = set(members[0].assigned)
        members += [start(NEW, assignor=assignor)]
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        gone = {tuple(place) for event in members[0].events for place in event.get("revoked", ())}
        assert gone == before - members[0].assigned, "nothing else was ever revoked"
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(*members)) >= sent, members)
        members.pop().close()
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        assert members[0].errors == []


def test_new_partitions_and_new_topics_are_read(bootstrap: str, group: str) -> None:
    prefix = unique_name("seen")
    admin.create_topic(bootstrap, f"{prefix}-a", 1, {})
    with consumers(bootstrap, group, f"^{prefix}.*") as start:
        member = start(NEW)
        wait_until(lambda: member.assigned == {(f"{prefix}-a", 0)}, [member])
        admin.create_topic(bootstrap, f"{prefix}-b", 2, {})
        wanted = {(f"{prefix}-a", 0), (f"{prefix}-b", 0), (f"{prefix}-b", 1)}
        wait_until(lambda: member.assigned == wanted, [member], seconds=60)


def test_members_of_both_protocols_share_a_topic_on_the_way_to_the_new_one_and_back(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with consumers(bootstrap, group, topic) as start:
        old = [start("confluent", strategy="range"), start("kafkapython")]
        wait_until(lambda: share(old, topic, PARTITIONS), old)
        new = [start(NEW)]
        wait_until(lambda: share(old + new, topic, PARTITIONS), old + new, seconds=60)
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(*old, *new)) >= sent, old + new)
        for member in old:
            member.close()
        wait_until(lambda: share(new, topic, PARTITIONS), new, seconds=60)
        back = [start("confluent", strategy="range")]
        wait_until(lambda: share(back + new, topic, PARTITIONS), back + new, seconds=60)
        new[0].close()
        wait_until(lambda: share(back, topic, PARTITIONS), back, seconds=60)
        later = fill(bootstrap, topic, first=60)
        wait_until(lambda: set(values(*back)) >= later, back)


def test_static_members_are_restarted_one_by_one_without_a_rebalance(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    names = ["a", "b", "c"]
    with consumers(bootstrap, group, topic) as start:
        members = {name: start(NEW, instance=name) for name in names}
        wait_until(lambda: share(list(members.values()), topic, PARTITIONS), list(members.values()), seconds=60)
        for name in names:
            held = set(members[name].assigned)
            others = [member for other, member in members.items() if other != name]
            rebalances = [member.rebalances for member in others]
            members[name].close()
            members[name] = start(NEW, instance=name)
            wait_until(lambda name=name, held=held: members[name].assigned == held, list(members.values()))
            assert [member.rebalances for member in others] == rebalances
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(*members.values())) >= sent, list(members.values()))


def test_a_static_member_that_is_rolled_back_to_the_classic_protocol_has_its_place_again(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with consumers(bootstrap, group, topic) as start:
        other, new = start("confluent", strategy="range"), start(NEW, instance="i")
        wait_until(lambda: balanced([other, new], topic, PARTITIONS), [other, new], seconds=60)
        held, rebalances = set(new.assigned), other.rebalances
        new.close()
        back = start("confluent", strategy="range", instance="i")
        wait_until(lambda: back.assigned == held, [other, back], seconds=60)
        assert other.rebalances == rebalances, "nobody else has to move"
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(other, back)) >= sent, [other, back])
        listed = admin.admin_client(bootstrap).list_consumer_groups().result(20).valid
        assert [each.type.name for each in listed if each.group_id == group] == ["CLASSIC"]


@pytest.mark.skipif(target() == "kafka", reason="Kafka's members come back every five seconds at the earliest")
def test_a_rebalance_of_twenty_members_settles_soon(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=100)
    with consumers(bootstrap, group, topic) as start:
        members = [start(NEW) for _ in range(20)]
        wait_until(lambda: balanced(members, topic, 100), members, seconds=60)
        before = [set(member.assigned) for member in members]
        began = time.monotonic()
        members.pop().leave()
        wait_until(lambda: balanced(members, topic, 100), members)
        took = time.monotonic() - began
        assert all(was <= member.assigned for was, member in zip(before, members, strict=False)), "nothing stopped"
        # Under half a second where nothing else runs. Members that earlier tests killed are waited for and counted
        # for 45 s, and the more there are the longer is everybody's interval.
        print(f"settled in {took:.2f} s")
        assert took < 10


@pytest.mark.skipif(target() == "kafka", reason="what a restart leaves of Kafka is Kafka's own business")
def test_members_live_through_a_broker_that_is_killed() -> None:
    with mortal_broker({"offsets.topic.num.partitions": "2"}) as broker:
        topic, group = unique_name("mortal"), unique_name("group")
        admin.create_topic(broker.bootstrap, topic, PARTITIONS, {})
        with consumers(broker.bootstrap, group, topic) as start:
            members = [start(NEW), start(NEW)]
            wait_until(lambda: share(members, topic, PARTITIONS), members)
            rebalances = [member.rebalances for member in members]
            for number in range(3):
                broker.restart()
                sent = fill(broker.bootstrap, topic, first=60 * number)
                wait_until(lambda sent=sent: set(values(*members)) >= sent, members, seconds=60)
            assert share(members, topic, PARTITIONS)
            assert [member.rebalances for member in members] == rebalances, "nobody lost its share"
