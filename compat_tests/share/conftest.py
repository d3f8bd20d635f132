"""A broker whose share groups settle at once and whose locks may be short."""

import os
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from compat_tests import admin, brokers
from compat_tests.conftest import unique_name
from compat_tests.making import making
from compat_tests.share.asking import ask, prepare_group
from compat_tests.share.member import ShareMember
from compat_tests.waiting import eventually
from compat_tests.wire.connection import Wire
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest

GROUP_MAX_SIZE = 25
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.share.max.size": str(GROUP_MAX_SIZE),
    "offsets.topic.num.partitions": "4",
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "500",
}
MakeMember = Callable[..., ShareMember]
MakeTopic = Callable[..., str]


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """The address of the broker that all scenarios about share groups have in common."""
    running = os.environ.get("COMPAT_BOOTSTRAP")
    if running:
        warm_up(running)
        yield running
    else:
        with brokers.broker(SETTINGS) as address:
            warm_up(address)
            yield address


def warm_up(address: str) -> None:
    """Kafka makes the topics of its coordinators when they are first asked for, and is ready a moment later."""
    with Wire(address) as wire:
        names = [f"warm-up-{number}" for number in range(40)]  # some for every partition

        def errors() -> set[int]:
            answer = ask(wire, FindCoordinatorRequest(key_type=0, coordinator_keys=names), 4)
            return {each.error_code for each in answer.coordinators}

        eventually(errors, {0}, seconds=30)
    topic = unique_name("warm-up")
    admin.create_topic(address, topic)
    make_known(address, names[0], topic)


def make_known(address: str, group: str, topic: str, partitions: int = 1) -> None:
    """Kafka hands out a topic's records only once a member of the group has had them assigned."""
    member = ShareMember(address, group)
    assert member.join(topic).error_code == 0
    expected = {member.topic_id(topic): list(range(partitions))}
    eventually(lambda: (member.beat(), member.assigned)[1], expected, seconds=30)
    member.leave()
    member.close()


@pytest.fixture
def make_queue(bootstrap: str, group: str, make_topic: MakeTopic) -> MakeTopic:
    """Creates a topic that the group knows."""

    def make(partitions: int = 1, **configs: object) -> str:
        topic = make_topic(partitions, **configs)
        make_known(bootstrap, group, topic, partitions)
        return topic

    return make


@pytest.fixture
def group(bootstrap: str, request: pytest.FixtureRequest) -> str:
    """A group of this test's own, which begins at the start of its topics."""
    name = unique_name(request.node.name)
    prepare_group(bootstrap, name)
    return name


@pytest.fixture
def make_member(bootstrap: str, group: str) -> Iterator[MakeMember]:
    """Makes members by hand, each on a connection of its own."""
    with making(partial(ShareMember, bootstrap, group)) as make:
        yield make
