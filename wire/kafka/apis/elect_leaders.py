"""ElectLeaders (43), versions 0-2: elects preferred leaders, or from version 1 unclean ones (KIP-183, KIP-460).

Any node does it. An unclean election is held where a partition has no leader: first among those that lose nothing, then
among all that are alive, whatever `unclean.leader.election.enable` says, for whoever asks takes it on himself. Without
a list all partitions are meant; those that need no election are then left out of the answer, as in Kafka.
"""

from collections.abc import Sequence

import trio

from coordinators.cluster.leader_elections import LeaderElections
from engine.errors import BrokerError, InvalidRequest, RequestTimedOut
from wire.kafka.errors import error_code
from wire.kafka.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_CLUSTER, Need, Rights

KEY = 43
VERSIONS = (0, 2)
RIGHTS = Rights(Need(ALTER_CLUSTER), refuse=lambda request, _, error: _refused(request, error))

PREFERRED = 0
UNCLEAN = 1
SLICE = 1_000
"""So many results are put together in one go."""


async def handle(request: ElectLeadersRequest, _: Context, elections: LeaderElections) -> ElectLeadersResponse:
    """Elect, and tell of each partition what became of it."""
    if request.election_type not in (PREFERRED, UNCLEAN):
        return _refused(request, InvalidRequest(f"election type {request.election_type} is unknown"))
    topics = request.topic_partitions
    wanted = None if topics is None else [(each.topic, index) for each in topics for index in each.partitions]
    try:
        with trio.fail_after(max(request.timeout_ms, 0) / 1000):
            outcomes = await elections.elect(wanted, unclean=request.election_type == UNCLEAN)
    except trio.TooSlowError:
        return _refused(request, RequestTimedOut("the election takes longer than the request waits"))
    except BrokerError as error:
        return _refused(request, error)
    results: dict[str, list[PartitionResult]] = {}
    for number, ((topic, index), outcome) in enumerate(outcomes.items(), 1):
        results.setdefault(topic, []).append(_result(index, outcome))
        if number % SLICE == 0:
            await trio.lowlevel.checkpoint()
    return ElectLeadersResponse(replica_election_results=[ReplicaElectionResult(*each) for each in results.items()])


def _result(index: int, error: BrokerError | None) -> PartitionResult:
    return PartitionResult(index) if error is None else PartitionResult(index, error_code(error), str(error))


def _refused(request: ElectLeadersRequest, error: BrokerError) -> ElectLeadersResponse:
    """Version 0 has no place for an error but at the partitions."""
    topics: Sequence[TopicPartitions] = request.topic_partitions or ()
    return ElectLeadersResponse(
        error_code=error_code(error),
        replica_election_results=[
            ReplicaElectionResult(each.topic, [_result(index, error) for index in each.partitions]) for each in topics
        ],
    )
