"""Brokers of one cluster in this process, on a real etcd, each with both of its doors."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import trio

from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.door import Client, until
from tidegate.etcd import RunningEtcd
from wire.kafka.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest


@asynccontextmanager
async def cluster_doors(directory: Path, nodes: int = 2, **settings: object) -> AsyncIterator[dict[int, HttpDoor]]:
    """By the nodes' numbers, from 1 on; all have entered, and each knows all."""
    etcd = RunningEtcd(directory / "etcd")
    await trio.to_thread.run_sync(etcd.start)
    try:
        async with AsyncExitStack() as stack:
            doors = {}
            for number in range(1, nodes + 1):
                own: dict[str, object] = {
                    "node.id": number,
                    "etcd.endpoints": etcd.url,
                    "trace.events.topic.enable": False,
                }
                # Brokers that stop one after the other need not wait for each other.
                own |= {"controlled.shutdown.max.wait.ms": 1000, **settings}
                doors[number] = await stack.enter_async_context(open_http_door(directory / f"node-{number}", own))
            for door in doors.values():
                known = door.broker.node.controller.replicas.nodes.by_id
                await until(lambda known=known: sum(node.is_eligible for node in known.values()) == nodes)
            yield doors
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(etcd.stop)


async def create_on(client: Client, name: str, *replicas: tuple[int, ...]) -> None:
    """A topic whose partitions lie on these nodes."""
    assigned = [CreatableReplicaAssignment(index, list(nodes)) for index, nodes in enumerate(replicas)]
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assigned)
    result = (await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000))).topics[0]
    assert result.error_code == 0, result.error_message
