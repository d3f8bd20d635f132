"""A node that is cut off from etcd alone: clients and the other nodes reach it. It learns from those that its session
has ended, and tells whoever waits for it; without that they would wait until the cut ends."""

import pytest
import trio

from tests.simulation.client import Disconnected, SimulatedClient
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.history import Place, Sent
from tests.simulation.playing import cut_from_etcd, make_topic, play
from tests.simulation.running import sleep
from tests.simulation.workloads import as_it_is, made_batch, produce_request
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponsePartition

PRODUCE, METADATA = 0, 3
PLACE: Place = ("led", 0)
REPLACED = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER}
PATIENT_MS = 60_000
"""As long as a producer would wait for an answer that does not come."""
TOLD_WITHIN_S = 4.0
IN_SYNC_S = 5.0
SEEDS = (1, 2, 3)


async def _produce(client: SimulatedClient, mark: str) -> int:
    """The code of the answer."""
    request = produce_request(PLACE, made_batch([(Sent(PLACE, mark), (), as_it_is)], -1, -1, -1))
    request.timeout_ms = PATIENT_MS
    answer = await client.ask(PRODUCE, 9, request, PLACE)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


async def _until_produced(client: SimulatedClient, mark: str) -> None:
    while True:
        try:
            if await _produce(client, mark) == 0:
                return
        except Disconnected:
            continue
        await client.again(PLACE)


async def _known(client: SimulatedClient) -> MetadataResponsePartition:
    """What that node says of the partition."""
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=PLACE[0])], allow_auto_topic_creation=False)
    answer = await client.ask(METADATA, 9, wanted)
    partition: MetadataResponsePartition = answer.topics[0].partitions[0]
    return partition


async def _until_in_sync(client: SimulatedClient) -> MetadataResponsePartition:
    while len((known := await _known(client)).isr_nodes) < 3 or known.error_code:
        await sleep(0.1)
    return known


async def _cut_off(cluster: SimulatedCluster) -> None:
    await make_topic(cluster.client(), PLACE[0])
    await _until_produced(cluster.client(), "first")
    await sleep(IN_SYNC_S)
    before = await _until_in_sync(cluster.client())
    led_by = cluster.nodes[before.leader_id - 1].host
    waiting = cluster.client(led_by)
    ways = cut_from_etcd(cluster, [led_by])
    cut_at = trio.current_time()
    code = 0
    with trio.fail_after(TOLD_WITHIN_S):
        while code == 0:
            code = await _produce(waiting, "while it is cut off")
    assert code in REPLACED
    told = await _known(waiting)
    assert (told.error_code, told.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1), "it says that somebody leads"
    assert told.leader_epoch == before.leader_epoch
    await _until_produced(cluster.client(), "meanwhile")
    assert trio.current_time() < cut_at + 2 * TOLD_WITHIN_S
    cluster.network.heal(ways)
    again = await _until_in_sync(waiting)
    assert again.leader_epoch > before.leader_epoch


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_etcd_does_not_hear_learns_from_the_others_that_it_was_replaced(seed: int) -> None:
    play(seed, _cut_off)
