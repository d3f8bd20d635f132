"""A node whose session is in doubt asks the others whether they have seen it end."""

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock, trio_test

from coordinators.cluster.hearsay import ASKED_EVERY_S, ASKED_S, Hearsay, has_ended
from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import LinkBroken
from engine.catalogue.records import NodeRecord
from tests.coordinators.cluster.members import cluster

EPOCH = 20


@pytest.mark.parametrize(
    ("known", "revision", "ended"),
    [
        (NodeRecord(1, (), epoch=EPOCH), 90, False),
        (NodeRecord(1, (), epoch=EPOCH + 7), 90, True),
        # That node is behind: it knows of the life before.
        (NodeRecord(1, (), epoch=EPOCH - 7), EPOCH - 1, False),
        # A new life has begun and not entered yet: it has no epoch.
        (NodeRecord(1, ()), 90, False),
        (None, 90, True),
        (None, EPOCH - 1, False),
    ],
)
def test_what_is_known_of_a_life(known: NodeRecord | None, revision: int, ended: bool) -> None:
    nodes = Nodes({} if known is None else {1: known})
    assert has_ended(nodes, revision, 1, EPOCH) == ended


@define(eq=False)
class Others:
    """What they say when they are asked: nothing, ever, for None."""

    told: dict[int, bool | LinkBroken | None]
    asked: list[tuple[float, int, int]] = field(factory=list)

    async def ask(self, node_id: int, epoch: int) -> bool:
        self.asked.append((trio.current_time(), node_id, epoch))
        told = self.told[node_id]
        await trio.lowlevel.checkpoint()
        if told is None:
            await trio.sleep_forever()
        if isinstance(told, LinkBroken):
            raise told
        return bool(told)


@trio_test
async def test_nobody_is_asked_while_etcd_confirms_the_session(jumping: MockClock) -> None:
    async with cluster() as three:
        member, *_ = await three.start(1, 2, 3)
        others, began = Others({2: True, 3: True}), trio.current_time()
        hearsay = Hearsay(member.membership, lambda: 3 if trio.current_time() < began + 60 else 2, others.ask)
        three.nursery.start_soon(hearsay.run)
        await trio.sleep(100)
        assert (others.asked, member.events) == ([], ["unfenced"])


@trio_test
async def test_it_is_asked_again_as_long_as_nobody_has_seen_the_end(jumping: MockClock) -> None:
    async with cluster() as three:
        member, *_ = await three.start(1, 2, 3)
        others, began = Others({2: False, 3: LinkBroken("gone")}), trio.current_time()
        three.nursery.start_soon(Hearsay(member.membership, lambda: began + 2 - trio.current_time(), others.ask).run)
        await trio.sleep(2 + 4.5 * ASKED_EVERY_S)
        epoch = member.membership.epoch
        assert {(node_id, told) for _, node_id, told in others.asked} == {(2, epoch), (3, epoch)}
        times = [at - began for at, node_id, _ in others.asked if node_id == 2]
        assert times == pytest.approx([2 + turn * ASKED_EVERY_S for turn in range(5)], abs=0.1)
        assert member.events == ["unfenced"]


@trio_test
async def test_a_node_that_hears_of_its_end_gives_up_what_it_leads_and_begins_anew(jumping: MockClock) -> None:
    async with cluster() as three:
        member, *_ = await three.start(1, 2, 3)
        first = member.membership.epoch
        # One never answers, and another is found out only when it is asked again.
        others = Others({2: None, 3: False})
        three.nursery.start_soon(Hearsay(member.membership, lambda: -1, others.ask).run)
        await trio.sleep(ASKED_S)
        others.told[3] = True
        await trio.sleep(ASKED_S + ASKED_EVERY_S)
        assert (member.events, member.membership.epoch) == (["unfenced", "fenced"], 0)
        asked = len(others.asked)
        await trio.sleep(10)
        assert len(others.asked) == asked, "who is no member has nothing to doubt"
        # etcd is heard again, and the session has indeed ended.
        others.told = {2: False, 3: False}
        member.catalogue.end_session()
        await three.until(lambda: member.membership.epoch > first)
        assert (member.events[2:], member.membership.lives) == (["unfenced"], 2)


@trio_test
async def test_the_end_of_an_earlier_life_is_no_news(jumping: MockClock) -> None:
    async with cluster() as two:
        member, _ = await two.start(1, 2)
        first = member.membership.epoch
        member.membership.hear_of_end(first - 1, 2)
        member.membership.hear_of_end(0, 2)
        await trio.sleep(5)
        assert (member.events, member.membership.lives) == (["unfenced"], 1)
        member.catalogue.end_session()
        await two.until(lambda: member.membership.epoch > first)
        member.membership.hear_of_end(first, 2)
        await trio.sleep(5)
        assert (member.events, member.membership.lives) == (["unfenced", "fenced", "unfenced"], 2), "it came late"
