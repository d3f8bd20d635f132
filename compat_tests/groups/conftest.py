"""A broker whose groups form at once and whose sessions may be short."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from compat_tests import brokers
from compat_tests.conftest import unique_name
from compat_tests.groups.administration import described
from compat_tests.groups.member import NOT_YET, Member
from compat_tests.making import making
from compat_tests.waiting import eventually

GROUP_MAX_SIZE = 25
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.max.size": str(GROUP_MAX_SIZE),
    "offsets.topic.num.partitions": "4",
}


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """The address of the broker that all scenarios about groups share."""
    with brokers.broker(SETTINGS) as address:
        wait_for_coordinators(address)
        yield address


def wait_for_coordinators(address: str) -> None:
    """Kafka makes the topic of the groups when it is first asked for, and is ready a moment later."""
    names = [f"warm-up-{number}" for number in range(40)]  # some for every partition
    member = Member(address, names[0])
    try:
        eventually(lambda: {group.error_code for group in described(member.wire, *names)} & set(NOT_YET), set())
    finally:
        member.close()


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    """A group of this test's own."""
    return unique_name(request.node.name)


@pytest.fixture
def make_member(bootstrap: str, group: str) -> Iterator[Callable[..., Member]]:
    """Makes members by hand, each on a connection of its own."""
    with making(partial(Member, bootstrap, group)) as make:
        yield make
