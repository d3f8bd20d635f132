"""What a leader makes of its followers' fetches: whose word counts, what each is sent, and when it is answered."""

import trio
from trio.testing import MockClock, trio_test

from coordinators.replication.ports import Asked, Given, Replica, ReplicaAnswer, ReplicaFetch
from engine.deferred import Deferred
from engine.errors import (
    FencedLeaderEpoch,
    FetchSessionNotFound,
    InvalidFetchSessionEpoch,
    NotLeader,
    OffsetOutOfRange,
    StaleNodeEpoch,
    UnknownLeaderEpoch,
    UnknownTopicId,
)
from tests.coordinators.replication.world import LOG, STAGE, ReplicaNode, replication
from tests.engine.logs import batch

EPOCH = 1


class Peer:
    """A follower on node 2 that says what the test tells it to."""

    def __init__(self, leader: ReplicaNode) -> None:
        self.leader, self.followers = leader, leader.replication.followers
        self.session = self.number = 0

    def fetch(self, *asked: Asked, wait_ms: int = 0, max_bytes: int = 1 << 20, **changed: object) -> Given | object:
        """What is said of the logs; a value that comes later if it has to wait."""
        node_epoch = self.leader.replicas.nodes.by_id[2].epoch
        fetch = ReplicaFetch(2, node_epoch, self.session, self.number, asked, (), wait_ms, max_bytes, 1 << 20)
        fetch = fetch if not changed else _with(fetch, **changed)
        answer = self.followers.serve(fetch)
        if isinstance(answer, ReplicaAnswer) and answer.error is None:
            self.session = answer.session
        self.number += 1
        return answer

    def given(self, *asked: Asked, **options: object) -> list[Given]:
        answer = self.fetch(*asked, **options)
        assert isinstance(answer, ReplicaAnswer)
        assert answer.error is None
        return list(answer.given)


def _with(fetch: ReplicaFetch, **changed: object) -> ReplicaFetch:
    fields = {name: getattr(fetch, name) for name in fetch.__struct_fields__}
    return ReplicaFetch(**{**fields, **changed})


def ask(offset: int, last_epoch: int = -1, *, epoch: int = EPOCH, replica: Replica = LOG, start: int = 0) -> Asked:
    return Asked(replica, offset, epoch, last_epoch, start)


def lone(**options: object) -> object:
    """Node 1 leads, node 2 is registered and holds a replica."""
    return replication(1, isr=(1,), replicas=(1, 2), **options)


async def peer_of(world: object) -> Peer:
    leader = world.nodes[1]
    node = ReplicaNode(2, world)
    world.register(node)
    nodes = leader.replicas.nodes.by_id
    await world.until(lambda: 2 in nodes and nodes[2].epoch == node.epoch)
    return Peer(leader)


@trio_test
async def test_what_was_sent_is_not_sent_again_before_the_follower_has_it_durable(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        peer.leader.append()
        (given,) = peer.given(ask(0))
        assert (given.size > 0, given.error) == (True, None)
        peer.leader.append()
        assert [each.size for each in peer.given()] in ([], [0])
        (given,) = peer.given(ask(1, EPOCH))
        assert given.size > 0


@trio_test
async def test_sessions_and_lives_that_are_over_are_refused(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        for error, changed in (
            (FetchSessionNotFound, {"session": 99}),
            (StaleNodeEpoch, {"node_epoch": 1}),
            (StaleNodeEpoch, {"node_id": 9}),
        ):
            answer = peer.fetch(ask(0), **changed)
            assert isinstance(answer, ReplicaAnswer)
            assert isinstance(answer.error, error)
        peer.number = 0
        peer.given(ask(0))
        answer = peer.fetch(number=7)
        assert isinstance(answer, ReplicaAnswer)
        assert isinstance(answer.error, InvalidFetchSessionEpoch)
        assert peer.leader.partition.replicas.durable_end(2) == 0


@trio_test
async def test_whoever_comes_with_another_epoch_is_told_and_not_counted(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        for asked, error in (
            (ask(0, epoch=0), FencedLeaderEpoch),
            (ask(0, epoch=2), UnknownLeaderEpoch),
            (ask(0, replica=Replica(b"x" * 16, 0)), UnknownTopicId),
        ):
            (given,) = peer.given(asked)
            assert isinstance(given.error, error)
        assert peer.leader.partition.replicas.durable_end(2) is None
        world.change_row(replicas=(1,))
        await trio.sleep(1)
        (given,) = peer.given(ask(0))
        assert isinstance(given.error, NotLeader)


@trio_test
async def test_a_log_that_has_left_the_leaders_is_told_where_and_not_counted(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        peer.leader.append(batch(3))
        await trio.sleep(0.1)
        await world.elect(1)
        peer.leader.append()
        epoch = peer.leader.partition.leader_epoch
        for offset, last_epoch, divergence in ((9, 1, (1, 3)), (9, 2, (2, 4)), (5, 0, (0, 0))):
            (given,) = peer.given(ask(offset, last_epoch, epoch=epoch))
            assert given.divergence == divergence
        (given,) = peer.given(ask(9, -1, epoch=epoch))
        assert given.divergence == (epoch, 4), "an empty log that begins past the end"
        assert peer.leader.partition.replicas.durable_end(2) is None
        (given,) = peer.given(ask(3, 1, epoch=epoch))
        assert given.divergence is None
        assert peer.leader.partition.replicas.durable_end(2) == 3


@trio_test
async def test_who_lacks_the_beginning_is_told_where_it_is(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        for _ in range(3):
            peer.leader.append()
        await trio.sleep(0.1)
        peer.leader.log.delete_records(2)
        (given,) = peer.given(ask(0))
        assert isinstance(given.error, OffsetOutOfRange)
        assert given.start_offset == 2


@trio_test
async def test_a_fetch_waits_for_records_and_no_longer_than_it_may(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        peer.given(ask(0))
        answers: list[ReplicaAnswer] = []
        waiting = peer.fetch(wait_ms=500)
        assert isinstance(waiting, Deferred)
        waiting.when_settled(answers.append, answers.append)
        await trio.sleep(0.1)
        peer.leader.append()
        await trio.sleep(0.1)
        assert [each.size > 0 for each in answers[0].given] == [True]
        peer.given(ask(1, EPOCH))
        waiting = peer.fetch(wait_ms=500)
        assert isinstance(waiting, Deferred)
        waiting.when_settled(answers.append, answers.append)
        await trio.sleep(0.6)
        assert len(answers) == 2, "it is told of the high watermark, or of nothing"


@trio_test
async def test_the_next_fetch_ends_the_wait_of_the_one_before(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        peer.given(ask(0))
        first = peer.fetch(wait_ms=500)
        assert isinstance(first, Deferred)
        peer.fetch(wait_ms=500)
        assert first.settled
        assert peer.followers.statistics() == {"sessions": 1, "logs": 1, "waiting": 1}


@trio_test
async def test_a_batch_is_sent_whole_however_little_room_is_left(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        peer.leader.append(batch(5, size=1000))
        (given,) = peer.given(ask(0), max_bytes=100)
        assert given.size > 5000


@trio_test
async def test_a_node_that_lives_anew_has_nothing_until_it_says_so(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        peer.leader.append()
        await trio.sleep(0.1)
        peer.given(ask(1, EPOCH))
        assert peer.leader.partition.replicas.durable_end(2) == 1
        again = await peer_of(world)
        again.given(ask(0, replica=STAGE))
        assert peer.leader.partition.replicas.durable_end(2) is None


@trio_test
async def test_nothing_is_kept_of_a_partition_that_has_gone(jumping: MockClock) -> None:
    async with lone() as world:
        peer = await peer_of(world)
        peer.given(ask(0), ask(0, replica=STAGE))
        world.change_row(replicas=(2,), isr=(2,), leader=2, leader_epoch=2)
        await trio.sleep(1)
        assert peer.followers.statistics()["logs"] == 0
        assert not peer.followers._following
        assert not peer.leader.replication.in_sync._followers
