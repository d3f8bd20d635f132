"""Groups of real consumers: sharing, rebalancing, committing, dying, alone and of mixed clients."""

import itertools
from collections.abc import Callable

import pytest

from compat_tests.clients import CLIENTS, Record
from compat_tests.groups.consumers import KINDS, Consumer, consumers, share, wait_until

MakeTopic = Callable[..., str]
PARTITIONS = 6
MIXES = [*itertools.combinations(KINDS, 2), KINDS]


def fill(bootstrap: str, topic: str, count: int = 60, first: int = 0) -> set[str]:
    values = [str(number) for number in range(first, first + count)]
    records = [Record(value.encode(), partition=int(value) % PARTITIONS) for value in values]
    CLIENTS["confluent"].produce(bootstrap, topic, records)
    return set(values)


def values(*given: Consumer) -> list[str]:
    return [value for consumer in given for _, _, value in consumer.records]


@pytest.mark.parametrize("kind", KINDS)
def test_a_consumer_goes_on_where_the_last_one_committed(
    bootstrap: str, make_topic: MakeTopic, group: str, kind: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    first_half = fill(bootstrap, topic)
    with consumers(bootstrap, group, topic) as start:
        one = start(kind)
        wait_until(lambda: set(values(one)) == first_half, [one])
        one.close()
        second_half = fill(bootstrap, topic, first=60)
        two = start(kind)
        wait_until(lambda: set(values(two)) == second_half, [two])
        assert one.errors == two.errors == []


@pytest.mark.parametrize("kind", KINDS)
def test_members_share_a_topic_and_give_up_their_share(
    bootstrap: str, make_topic: MakeTopic, group: str, kind: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with consumers(bootstrap, group, topic) as start:
        members = [start(kind)]
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        members += [start(kind), start(kind)]
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(*members)) >= sent, members)
        members.pop().close()
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        sent |= fill(bootstrap, topic, first=60)
        wait_until(lambda: set(values(*members)) >= {each for each in sent if int(each) >= 60}, members)


@pytest.mark.parametrize("kinds", MIXES, ids="-".join)
def test_members_of_different_clients_share_a_topic(
    bootstrap: str, make_topic: MakeTopic, group: str, kinds: tuple[str, ...]
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with consumers(bootstrap, group, topic) as start:
        members = [start(kind) for kind in kinds]
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(*members)) >= sent, members)


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_a_killed_member_goes_to_the_others(
    bootstrap: str, make_topic: MakeTopic, group: str, kind: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    sent = fill(bootstrap, topic)
    with consumers(bootstrap, group, topic) as start:
        one, two = start(kind, session_ms=1500), start(kind, session_ms=1500)
        wait_until(lambda: share([one, two], topic, PARTITIONS) and set(values(one, two)) >= sent, [one, two])
        two.kill()
        later = fill(bootstrap, topic, first=60)
        wait_until(lambda: len(one.assigned) == PARTITIONS and set(values(one)) >= later, [one])


def test_a_cooperative_rebalance_leaves_partitions_where_they_are(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with consumers(bootstrap, group, topic) as start:
        members = [start(strategy="cooperative-sticky")]
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        before = set(members[0].assigned)
        members.append(start(strategy="cooperative-sticky"))
        wait_until(lambda: share(members, topic, PARTITIONS), members)
        revoked = [event["revoked"] for event in members[0].events if "revoked" in event]
        assert [len(each) for each in revoked if each] == [PARTITIONS // 2], "only what moves is revoked, once"
        assert members[0].assigned < before
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(*members)) >= sent, members)


@pytest.mark.parametrize("kind", ["confluent", "aio"])
def test_static_members_are_restarted_one_by_one_without_a_rebalance(
    bootstrap: str, make_topic: MakeTopic, group: str, kind: str
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    names = ["a", "b", "c"]
    with consumers(bootstrap, group, topic) as start:
        members = {name: start(kind, instance=name, session_ms=15_000) for name in names}
        wait_until(lambda: share(list(members.values()), topic, PARTITIONS), list(members.values()))
        for name in names:
            held = members[name].assigned
            others = [member for other, member in members.items() if other != name]
            rebalances = [member.rebalances for member in others]
            members[name].kill()
            members[name] = start(kind, instance=name, session_ms=15_000)
            wait_until(lambda name=name, held=held: members[name].assigned == held, list(members.values()))
            assert [member.rebalances for member in others] == rebalances
        sent = fill(bootstrap, topic)
        wait_until(lambda: set(values(*members.values())) >= sent, list(members.values()))
