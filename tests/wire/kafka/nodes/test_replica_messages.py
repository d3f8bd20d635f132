"""What one side of a replication writes, the other reads, through the codec."""

from typing import Any

from hypothesis import given as for_any
from hypothesis import strategies as some

from coordinators.replication.ports import (
    NO_SNAPSHOT,
    Asked,
    Given,
    Replica,
    ReplicaAnswer,
    ReplicaFetch,
    SnapshotPiece,
    stage_id,
)
from engine.errors import BrokerError, FencedLeaderEpoch, NotLeader, OffsetOutOfRange, UnknownLeaderEpoch
from wire.kafka.codec import request_decoder, request_encoder, response_decoder, response_encoder
from wire.kafka.nodes.replica_messages import (
    FETCH_VERSION,
    SNAPSHOT_VERSION,
    fetch_request,
    fetch_response,
    read_answer,
    read_fetch,
    read_snapshot_request,
    read_snapshot_response,
    snapshot_request,
    snapshot_response,
)

TOPICS = [bytes([number]) * 16 for number in (1, 2, 3)]
STAGES = {stage_id(topic) for topic in TOPICS}

offsets = some.integers(-1, 2**63 - 1)
epochs = some.integers(-1, 2**31 - 1)
sizes = some.integers(0, 2**31 - 1)
replicas = some.builds(Replica, some.sampled_from(TOPICS), some.integers(0, 5), some.booleans())
asked = some.builds(Asked, replicas, offsets, epochs, epochs, offsets)
fetches = some.builds(
    ReplicaFetch, sizes, offsets, sizes, sizes, some.lists(asked), some.lists(replicas), sizes, sizes, sizes
)
refusals = some.one_of(
    some.none(),
    some.builds(NotLeader, some.just("moved"), epochs, epochs),
    some.builds(FencedLeaderEpoch, some.just("older"), epochs, epochs),
    some.just(OffsetOutOfRange("below")),
    some.just(UnknownLeaderEpoch("newer")),
)
# The epoch is -1 where the logs have nothing in common.
divergences = some.none() | some.tuples(some.integers(-1, 2**31 - 1), some.integers(0, 2**62))
given = some.builds(
    Given, replicas, refusals, offsets, offsets, offsets, divergences, offsets, some.binary(max_size=100)
)
answers = some.builds(ReplicaAnswer, refusals, sizes, some.lists(given))


def sent(encoder: Any, decoder: Any, message: Any, version: int) -> Any:
    data = b"".join(bytes(part) for part in encoder(message.API_KEY, version)(message))
    return decoder(message.API_KEY, version)(data, 0)


def told(error: BrokerError | None) -> tuple[object, ...]:
    return type(error), getattr(error, "leader", None), getattr(error, "leader_epoch", None)


@for_any(fetches)
def test_a_fetch_arrives_as_it_was_sent(fetch: ReplicaFetch) -> None:
    request = sent(request_encoder, request_decoder, fetch_request(fetch), FETCH_VERSION)
    assert read_fetch(request, fetch.node_id, STAGES.__contains__) == fetch


@for_any(answers)
def test_an_answer_arrives_as_it_was_sent(answer: ReplicaAnswer) -> None:
    response = sent(response_encoder, response_decoder, fetch_response(answer), FETCH_VERSION)
    arrived = read_answer(response, STAGES.__contains__)
    # Who leads is told of partitions, not of the whole.
    assert (type(arrived.error), arrived.session) == (type(answer.error), answer.session)
    for was, became in zip(answer.given, arrived.given, strict=True):
        assert told(became.error) == told(was.error)
        became.error = was.error
        became.records = bytes(became.records)  # type: ignore[arg-type]
        assert became == was


@for_any(replicas, epochs, offsets, offsets, sizes, some.binary(max_size=100))
def test_a_checkpoints_piece_arrives(
    replica: Replica, epoch: int, offset: int, position: int, size: int, data: bytes
) -> None:
    request = snapshot_request(2, replica, epoch, offset, position)
    arrived = sent(request_encoder, request_decoder, request, SNAPSHOT_VERSION)
    ((name, wanted),) = read_snapshot_request(arrived, STAGES.__contains__)
    assert wanted == (replica, epoch, offset, position)
    response = snapshot_response([(name, wanted, SnapshotPiece(size, position, data))])
    piece = read_snapshot_response(sent(response_encoder, response_decoder, response, SNAPSHOT_VERSION))
    assert (piece.size, piece.position, bytes(piece.data)) == (size, position, data)


def test_a_log_needs_no_snapshot_unless_it_is_told_so() -> None:
    answer = ReplicaAnswer(given=[Given(Replica(TOPICS[0], 0))])
    response = sent(response_encoder, response_decoder, fetch_response(answer), FETCH_VERSION)
    assert read_answer(response, STAGES.__contains__).given[0].snapshot == NO_SNAPSHOT


def test_a_log_that_has_nothing_in_common_with_its_leaders_is_told_to_begin_anew() -> None:
    answer = ReplicaAnswer(given=[Given(Replica(TOPICS[0], 0), divergence=(-1, 0))])
    response = sent(response_encoder, response_decoder, fetch_response(answer), FETCH_VERSION)
    assert read_answer(response, STAGES.__contains__).given[0].divergence == (-1, 0)
