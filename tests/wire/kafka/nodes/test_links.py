"""Links between nodes: a follower's fetches go over them both ways, and what breaks is made anew."""

from pathlib import Path

import pytest
import trio
from attrs import evolve
from trio.testing import trio_test

from coordinators.replication.ports import Asked, Given, LinkBroken, Replica, ReplicaAnswer, ReplicaFetch, SnapshotPiece
from engine.deferred import Deferred
from engine.errors import FetchSessionNotFound, NotLeader, SnapshotNotFound
from tests.wire.kafka.door import until
from tests.wire.kafka.nodes.pair import CLIENT, HOST, PORT, RECORD, SERVER, Pair, pair
from tests.wire.kafka.requests import batch, create_topic, produced
from wire.kafka.listeners import NodeWays
from wire.kafka.messages.fetch import FetchRequest
from wire.kafka.messages.fetch_snapshot import FetchSnapshotRequest
from wire.kafka.messages.metadata import MetadataRequest
from wire.kafka.nodes.links import ReplicaLink
from wire.kafka.nodes.replica_messages import FETCH_VERSIONS, fetch_request
from wire.kafka.nodes.trust import NodeTrust


def fetch_of(*asked: Asked, number: int = 1) -> ReplicaFetch:
    return ReplicaFetch(CLIENT, 7, 0, number, list(asked), [], 500, 1 << 20, 1 << 16)


async def topic_of(made: Pair) -> bytes:
    client = await made.door.connect()
    await create_topic(client, "t", 2)
    await produced(client, "t", batch())
    topic_id: bytes = made.door.broker.node.topics.by_name["t"].topic_id
    return topic_id


@trio_test
async def test_a_followers_fetch_reaches_its_leader_and_the_answer_comes_back(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        topic_id = await topic_of(made)
        log, stage = Replica(topic_id, 0), Replica(topic_id, 0, True)
        fetch = fetch_of(Asked(log, 5, 3, 2, 1), Asked(stage, 9, 3, -1))
        partition = made.door.broker.node.partitions.get(topic_id, 0)
        assert partition is not None
        read = partition.read(0, 1 << 16, at_least_one=True, committed=False).log_read
        assert read is not None
        made.followers.answer = ReplicaAnswer(
            None,
            77,
            [
                Given(log, None, 6, 1, records=read.regions),
                Given(stage, None, 9, 0, 4, (2, 8), 3, b"records"),
            ],
        )
        link = await made.links.connect(RECORD)
        answer = await link.fetch(fetch)
        assert made.followers.fetches == [fetch]
        assert (answer.error, answer.session, [each.replica for each in answer.given]) == (None, 77, [log, stage])
        first, second = answer.given
        assert isinstance(first.records, memoryview)
        assert len(first.records) == read.size, "the records of the log"
        assert (second.segment, second.divergence, second.snapshot) == (4, (2, 8), 3)
        await link.aclose()


@trio_test
async def test_refusals_come_back_as_what_they_were(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        replica = Replica(await topic_of(made), 1)
        refusal = NotLeader("moved", 3, 8)
        made.followers.answer = ReplicaAnswer(FetchSessionNotFound("gone"), given=[Given(replica, refusal)])
        link = await made.links.connect(RECORD)
        answer = await link.fetch(fetch_of(Asked(replica, 0, 0, -1)))
        assert isinstance(answer.error, FetchSessionNotFound)
        error = answer.given[0].error
        assert isinstance(error, NotLeader)
        assert (error.leader, error.leader_epoch) == (3, 8)


@trio_test
async def test_a_follower_takes_over_a_checkpoint_piece_by_piece(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        stage = Replica(await topic_of(made), 0, True)
        link = await made.links.connect(RECORD)
        made.followers.piece = SnapshotPiece(100, 40, b"the rest")
        piece = await link.snapshot(stage, 2, 1000, 40)
        assert (piece.size, piece.position, bytes(piece.data)) == (100, 40, b"the rest")
        made.followers.piece = Deferred.refused(SnapshotNotFound("a later one is kept"))
        with pytest.raises(SnapshotNotFound):
            await link.snapshot(stage, 2, 1000, 48)
        made.followers.piece = NotLeader("moved", 3, 8)
        with pytest.raises(NotLeader):
            await link.snapshot(stage, 2, 1000, 48)
        assert made.followers.snapshots[0] == (stage, 2, 1000, 40)


@trio_test
async def test_a_node_is_told_what_the_other_takes_and_goes_no_higher(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        link = await made.links.open(RECORD)
        assert link.taken is not None
        assert link.taken[FetchSnapshotRequest.API_KEY][1] >= 1, "clients are not told of it"
        link.taken = {**link.taken, FetchRequest.API_KEY: (4, 16)}
        with pytest.raises(LinkBroken, match=r"Fetch in versions 17 to 17, the other takes versions 4 to 16"):
            await ReplicaLink(link, CLIENT).fetch(fetch_of())
        answer = await link.ask(MetadataRequest(topics=[]), (0, 99), 5.0)
        assert answer.cluster_id


@trio_test
async def test_a_node_is_reached_by_any_of_its_listeners(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        dial = made.links.dial

        async def dial_some(host: str, port: int) -> trio.abc.HalfCloseableStream:
            if host == "inside.example":
                raise OSError("no way there")
            return await dial(host, port)

        made.links.dial = dial_some
        node = evolve(RECORD, listeners=("PLAINTEXT://inside.example:1", *RECORD.listeners))
        assert (await made.links.open(node)).taken
        for listeners, reason in (((), "listens nowhere"), (("PLAINTEXT://inside.example:1",), "no way there")):
            with pytest.raises(LinkBroken, match=reason):
                await made.links.open(evolve(RECORD, listeners=listeners))


@trio_test
async def test_nodes_go_by_the_listener_that_is_for_them(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        made.links.ways = NodeWays("NODES")
        node = evolve(RECORD, listeners=("PLAINTEXT://inside.example:1", f"NODES://{HOST}:{PORT}"))
        assert (await made.links.open(node)).taken
        with pytest.raises(LinkBroken, match=f"none of PLAINTEXT://{HOST}:{PORT} is for nodes"):
            await made.links.open(RECORD)


@trio_test
async def test_what_is_encrypted_is_not_talked_to_in_clear(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        with pytest.raises(LinkBroken, match="SSL is encrypted, and this node has no certificates to trust"):
            await made.links.open(evolve(RECORD, listeners=(f"SSL://{HOST}:{PORT}",)))


@trio_test
async def test_a_node_that_does_not_know_the_secret_gets_no_link(tmp_path: Path) -> None:
    async with pair(tmp_path, NodeTrust(SERVER, bytes, b"another secret")) as made:
        with pytest.raises(LinkBroken, match="secret"):
            await made.links.connect(RECORD)


@trio_test
async def test_a_node_by_itself_takes_nobody_for_a_node(tmp_path: Path) -> None:
    async with pair(tmp_path, NodeTrust(SERVER, bytes)) as made:
        with pytest.raises(LinkBroken):
            await made.links.connect(RECORD)


@trio_test
async def test_a_shared_link_is_made_once_and_again_when_it_has_broken(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:

        async def ask() -> None:
            answer = await made.shared.ask(SERVER, MetadataRequest(topics=[]), (0, 12))
            assert answer.brokers[0].node_id == SERVER

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
        assert (made.dialled, made.shared.statistics()) == (1, {"links": 1})
        for connection in tuple(made.server.connections.values()):
            connection.close("for the test")
        await until(lambda: made.shared.statistics() == {"links": 0})
        await ask()
        assert made.dialled == 2


@trio_test
async def test_a_node_that_cannot_be_reached_is_left_alone_for_a_moment(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        made.refuses = True
        for _ in range(10):
            with pytest.raises(LinkBroken):
                await made.shared.ask(SERVER, MetadataRequest(topics=[]), (0, 12))
        assert made.dialled == 1
        with pytest.raises(LinkBroken, match="not there"):
            await made.shared.ask(3, MetadataRequest(topics=[]), (0, 12))


@trio_test
async def test_nobody_waits_for_a_node_that_is_gone(tmp_path: Path) -> None:
    """A cut line says nothing: that the node has gone comes from the catalogue."""
    async with pair(tmp_path) as made:
        made.followers.answer = Deferred()
        waiting = fetch_request(fetch_of(Asked(Replica(await topic_of(made), 0), 0, 0, -1)))

        async def ask() -> None:
            with pytest.raises(LinkBroken, match="gone"):
                await made.shared.ask(SERVER, waiting, FETCH_VERSIONS, timeout_s=60)

        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await until(lambda: bool(made.followers.fetches))
                made.links.nodes.by_id[SERVER] = evolve(RECORD, incarnation="another life")
