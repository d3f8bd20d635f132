"""How nodes know each other: what each way to pretend comes to."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from engine.errors import IllegalSaslState, SaslAuthenticationFailed
from tests.wire.kafka.door import Client
from tests.wire.kafka.nodes.pair import CLIENT, SECRET, SERVER, counting, pair
from tests.wire.kafka.requests import fetch
from wire.kafka.messages.fetch import ReplicaState
from wire.kafka.messages.fetch_snapshot import FetchSnapshotRequest
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest
from wire.kafka.nodes.trust import MECHANISM, NONCE_BYTES, LinkKind, NodeLink, NodeName, NodeTrust

CLUSTER_AUTHORIZATION_FAILED, ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED = 31, 34, 58
EPOCH = 7


def server(start: int = 0, secret: bytes = SECRET) -> NodeTrust:
    return NodeTrust(SERVER, counting(start), secret)


def client(node_id: int = CLIENT, secret: bytes = SECRET) -> NodeTrust:
    return NodeTrust(node_id, counting(100), secret)


def test_two_nodes_show_each_other_who_they_are() -> None:
    asking, answering = client().ask(EPOCH, SERVER), server().answer()
    challenge, nobody = answering.take(asking.hello)
    assert nobody is None, "nothing is shown yet"
    assert answering.take(asking.take(challenge)) == (b"", NodeLink(NodeName(CLIENT, EPOCH), LinkKind.FOLLOWER, 0))


def test_who_does_not_know_the_secret_is_nobody() -> None:
    asking, answering = client(secret=b"guessed").ask(EPOCH, SERVER), server().answer()
    challenge, _ = answering.take(asking.hello)
    with pytest.raises(SaslAuthenticationFailed):
        asking.take(challenge)
    with pytest.raises(SaslAuthenticationFailed):
        answering.take(bytes(32))


def test_a_recorded_exchange_proves_nothing_later() -> None:
    asking, answering = client().ask(EPOCH, SERVER), server().answer()
    proof = asking.take(answering.take(asking.hello)[0])
    later = server(1).answer()
    later.take(asking.hello)
    with pytest.raises(SaslAuthenticationFailed):
        later.take(proof)


def test_a_recorded_challenge_proves_nothing_to_another_client() -> None:
    """A server that does not compare the client's nonce could be played from a recording."""
    asking, answering = client().ask(EPOCH, SERVER), server().answer()
    recorded, _ = answering.take(asking.hello)
    other = NodeTrust(CLIENT, counting(200), SECRET).ask(EPOCH, SERVER)
    with pytest.raises(SaslAuthenticationFailed):
        other.take(recorded)


def test_the_servers_nonce_is_part_of_the_proof() -> None:
    asking, answering = client().ask(EPOCH, SERVER), server().answer()
    challenge, _ = answering.take(asking.hello)
    with pytest.raises(SaslAuthenticationFailed):
        asking.take(b"\xff" * NONCE_BYTES + challenge[NONCE_BYTES:])


def test_a_proof_that_is_sent_back_is_none() -> None:
    asking, answering = client().ask(EPOCH, SERVER), server().answer()
    challenge, _ = answering.take(asking.hello)
    with pytest.raises(SaslAuthenticationFailed):
        answering.take(challenge[NONCE_BYTES:])


def test_a_node_does_not_answer_for_another_one_nor_for_itself() -> None:
    for hello in (client().ask(EPOCH, 3).hello, client(SERVER).ask(EPOCH, SERVER).hello):
        with pytest.raises(SaslAuthenticationFailed):
            server().answer().take(hello)


def test_after_a_failure_the_exchange_is_over() -> None:
    asking, answering = client().ask(EPOCH, SERVER), server().answer()
    proof = asking.take(answering.take(asking.hello)[0])
    with pytest.raises(SaslAuthenticationFailed):
        answering.take(bytes(32))
    with pytest.raises(SaslAuthenticationFailed):
        answering.take(proof)


@pytest.mark.parametrize("size", [0, 1, 47, 10_000])
def test_messages_of_another_size_are_refused(size: int) -> None:
    with pytest.raises(SaslAuthenticationFailed):
        server().answer().take(bytes(size))
    asking, answering = client().ask(EPOCH, SERVER), server().answer()
    with pytest.raises(SaslAuthenticationFailed):
        asking.take(bytes(size))
    answering.take(asking.hello)
    with pytest.raises(SaslAuthenticationFailed):
        answering.take(bytes(size))


def test_a_node_by_itself_has_nobody_to_trust() -> None:
    with pytest.raises(IllegalSaslState):
        NodeTrust(SERVER, bytes).answer()


def meet(trust: NodeTrust, kind: LinkKind, number: int, epoch: int = EPOCH) -> NodeLink:
    asking, answering = client().ask(epoch, SERVER, kind, number), trust.answer()
    _, link = answering.take(asking.take(answering.take(asking.hello)[0]))
    assert link is not None
    return link


def test_of_connections_that_replace_each_other_only_the_last_counts() -> None:
    trust, writes = server(), LinkKind.WRITES
    follower, first, second = meet(trust, LinkKind.FOLLOWER, 1), meet(trust, writes, 4), meet(trust, writes, 5)
    late, other_kind = meet(trust, writes, 3), meet(trust, LinkKind.LETTERS, 1)
    replaced = [trust.is_replaced(each) for each in (follower, first, second, late, other_kind)]
    assert replaced == [False, True, False, True, False]


def test_one_that_was_made_in_the_nodes_next_life_replaces_those_before() -> None:
    """A process that has lost its session goes on in another epoch: what it had asked before it asks again."""
    trust, writes = server(), LinkKind.WRITES
    before, after = meet(trust, writes, 5), meet(trust, writes, 6, EPOCH + 1)
    late = meet(trust, writes, 7)
    assert [trust.is_replaced(each) for each in (before, after, late)] == [True, False, True]


# -- over the wire


async def authenticate(somebody: Client, message: bytes) -> Any:
    return await somebody.ask(SaslAuthenticateRequest(message))


@trio_test
async def test_a_client_is_told_that_nobody_is_asked_who_it_is(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        somebody = made.client()
        for version in (0, 1):
            for mechanism in ("PLAIN", "SCRAM-SHA-256", ""):
                answer = await somebody.ask(SaslHandshakeRequest(mechanism), version)
                assert (answer.error_code, answer.mechanisms) == (ILLEGAL_SASL_STATE, [])
        assert (await somebody.ask(SaslHandshakeRequest(MECHANISM), 0)).error_code == ILLEGAL_SASL_STATE
        for version in (0, 1, 2):
            answer = await somebody.ask(SaslAuthenticateRequest(b"\0a\0b"), version)
            assert answer.error_code == ILLEGAL_SASL_STATE


@trio_test
async def test_a_failed_exchange_begins_again_with_a_handshake(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        somebody = made.client()
        assert (await somebody.ask(SaslHandshakeRequest(MECHANISM))).error_code == 0
        assert (await authenticate(somebody, b"hello")).error_code == SASL_AUTHENTICATION_FAILED
        assert (await authenticate(somebody, client().ask(EPOCH, SERVER).hello)).error_code == ILLEGAL_SASL_STATE


@trio_test
async def test_a_node_is_only_the_node_that_it_has_shown_to_be(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        node = made.client()
        asking = client().ask(EPOCH, SERVER)
        await node.ask(SaslHandshakeRequest(MECHANISM))
        request = fetch("", topic_id=b"\1" * 16)
        request.replica_state = ReplicaState(CLIENT)
        challenge = (await authenticate(node, asking.hello)).auth_bytes
        assert (await node.ask(request, 17)).error_code == CLUSTER_AUTHORIZATION_FAILED, "it has shown nothing yet"
        assert (await authenticate(node, asking.take(bytes(challenge)))).error_code == 0
        assert (await node.ask(request, 17)).error_code == 0
        request.replica_state = ReplicaState(CLIENT + 1)
        assert (await node.ask(request, 17)).error_code == CLUSTER_AUTHORIZATION_FAILED
        assert [each.node_id for each in made.followers.fetches] == [CLIENT]
        posing = await node.ask(FetchSnapshotRequest(replica_id=CLIENT + 1))
        assert posing.error_code == CLUSTER_AUTHORIZATION_FAILED
        await node.ask(SaslHandshakeRequest("PLAIN"))
        request.replica_state = ReplicaState(CLIENT)
        assert (await node.ask(request, 17)).error_code == CLUSTER_AUTHORIZATION_FAILED, "it began anew"


@trio_test
async def test_a_client_takes_no_checkpoints(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        answer = await made.client().ask(FetchSnapshotRequest(replica_id=CLIENT))
        assert answer.error_code == CLUSTER_AUTHORIZATION_FAILED
        assert made.followers.snapshots == []
