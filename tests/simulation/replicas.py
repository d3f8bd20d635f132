"""In the end every replica is in sync again, and holds what its leader holds, byte for byte."""

from collections.abc import Sequence

from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.history import History, Place
from tests.simulation.node import SimulatedNode
from tests.simulation.running import sleep

ATTEMPTS, LOOKS_S = 120, 0.5


async def compare_replicas(cluster: SimulatedCluster, history: History, places: Sequence[Place]) -> None:
    """Wait until they are in sync, and compare them up to the least of their high watermarks."""
    for place in places:
        for _ in range(ATTEMPTS):
            held = [found for node in cluster.nodes if (found := _partition(node, place)) is not None]
            if _are_in_sync(held):
                break
            await sleep(LOOKS_S)
        else:
            rows = [(one.replicas.row.leader, one.replicas.row.isr) for one in held]
            history.wrong("not in sync again", f"{place}: {rows}")
            continue
        history.note("compared", place, len(held))
        if not _are_alike(held):
            history.wrong("replicas differ", place)
        stages = [one.stage_log for one in held if one.stage_log is not None]
        if not _are_alike(stages):
            history.wrong("stages differ", place)


def _partition(node: SimulatedNode, place: Place) -> Partition | None:
    if node.runtime is None or not node.is_serving:
        return None
    parts = node.runtime.parts.node
    topic = parts.topics.by_name.get(place[0])
    return None if topic is None else parts.partitions.get(topic.topic_id, place[1])


def _are_in_sync(held: Sequence[Partition]) -> bool:
    rows = [one.replicas.row for one in held]
    return (
        bool(rows)
        and all(row == rows[0] and set(row.isr) == set(row.replicas) for row in rows)
        and (len(rows) == len(rows[0].replicas))
    )


def _are_alike(logs: Sequence[DurableLog]) -> bool:
    if not logs:
        return True
    start = max(each.log.start_offset for each in logs)
    end = min(each.high_watermark.offset for each in logs)
    return len({_bytes(each, start, end) for each in logs}) == 1


def _bytes(log: DurableLog, start: int, end: int) -> bytes:
    """All batches in between."""
    found, offset = [], start
    while offset < end:
        data = b"".join(region.read() for region in log.log.read(offset, 1, log.log.end, at_least_one=True).regions)
        if not data:
            break
        found.append(data)
        offset = int.from_bytes(data[:8]) + int.from_bytes(data[23:27]) + 1
    return b"".join(found)
