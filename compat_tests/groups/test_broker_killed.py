"""kill -9 of the broker under groups: stable ones go on in their generation, committed offsets are there."""

from collections.abc import Iterator

import pytest

from compat_tests import admin, brokers
from compat_tests.groups.administration import described
from compat_tests.groups.broker import MortalBroker, mortal_broker
from compat_tests.groups.conftest import SETTINGS, wait_for_coordinators
from compat_tests.groups.consumers import KINDS, consumers, share, wait_until
from compat_tests.groups.member import Member
from compat_tests.groups.test_clients import PARTITIONS, fill, values

pytestmark = pytest.mark.skipif(brokers.target() != "tidegate", reason="starts Tidegate on data of its own")


@pytest.fixture
def broker() -> Iterator[MortalBroker]:
    with mortal_broker(SETTINGS) as running:
        wait_for_coordinators(running.bootstrap)
        yield running


def restart(broker: MortalBroker) -> None:
    """For members made by hand, which do not ask again, as clients do, while the coordinator loads its groups."""
    broker.restart()
    wait_for_coordinators(broker.bootstrap)


def test_a_stable_group_keeps_its_generation(broker: MortalBroker) -> None:
    admin.create_topic(broker.bootstrap, "t")
    before = Member(broker.bootstrap, "g", instance="static")
    before.settle(b"assigned")
    assert before.commit("t", 42, metadata="note") == 0
    restart(broker)
    after = Member(broker.bootstrap, "g", instance="static", member_id=before.member_id, generation=before.generation)
    assert after.heartbeat() == 0
    assert bytes(after.sync().assignment) == b"assigned"
    (group,) = described(after.wire, "g")
    assert (group.group_state, [member.member_id for member in group.members]) == ("Stable", [before.member_id])
    assert (after.fetch("t").committed_offset, after.fetch("t").metadata) == (42, "note")
    assert after.commit("t", 43) == 0


def test_a_member_that_does_not_come_back_is_out_after_its_session(broker: MortalBroker) -> None:
    member = Member(broker.bootstrap, "g", session_ms=4000)
    member.settle()
    restart(broker)
    watcher = Member(broker.bootstrap, "g")

    def states() -> str:
        return str(described(watcher.wire, "g")[0].group_state)

    assert states() == "Stable"
    wait_until(lambda: states() == "Empty", [])


@pytest.mark.parametrize("kind", KINDS)
def test_consumers_go_on_without_a_rebalance(broker: MortalBroker, kind: str) -> None:
    bootstrap = broker.bootstrap
    admin.create_topic(bootstrap, "t", PARTITIONS)
    with consumers(bootstrap, "g", "t") as start:
        members = [start(kind, session_ms=15_000), start(kind, session_ms=15_000)]
        wait_until(lambda: share(members, "t", PARTITIONS), members)
        sent = fill(bootstrap, "t")
        wait_until(lambda: set(values(*members)) >= sent, members)
        rebalances = [member.rebalances for member in members]
        broker.restart()
        later = fill(bootstrap, "t", first=60)
        wait_until(lambda: set(values(*members)) >= later, members, seconds=60)
        assert [member.rebalances for member in members] == rebalances
