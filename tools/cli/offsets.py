"""Offsets of partitions: where they begin and end, and which offset belongs to a time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from coordinators.group.moving import TIME_MARK, WAYS, NoSuchWay, goal, is_time
from tools.cli.errors import UsageMistake
from tools.cli.kafka import Kafka, check
from tools.cli.times import moment_ms
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

LATEST, EARLIEST = -1, -2
Place = tuple[str, int]
"""A topic and a partition of it."""


async def leaders(kafka: Kafka, topics: Iterable[str]) -> dict[Place, int]:
    """Every partition of these topics and the node that leads it."""
    found = await kafka.topics(sorted(set(topics)))
    return {
        (topic.name or "", partition.partition_index): partition.leader_id
        for topic in found
        for partition in sorted(topic.partitions, key=lambda each: each.partition_index)
    }


async def list_offsets(kafka: Kafka, times: Mapping[Place, int], *, committed: bool = False) -> dict[Place, int]:
    """For each partition the first offset at or after a time, -1 if there is none; or LATEST, or EARLIEST."""
    if not times:
        return {}

    async def ask() -> dict[Place, int]:
        led = await leaders(kafka, (topic for topic, _ in times))
        by_node: dict[int, dict[str, list[ListOffsetsPartition]]] = defaultdict(lambda: defaultdict(list))
        for place, time_ms in times.items():
            if place not in led:
                check(3, f"{place[0]}-{place[1]}")
            by_node[led[place]][place[0]].append(ListOffsetsPartition(partition_index=place[1], timestamp=time_ms))
        found: dict[Place, int] = {}
        for node, topics in by_node.items():
            found |= await _ask_node(kafka, node, topics, committed=committed)
        return found

    return await kafka.patiently(ask)


async def _ask_node(
    kafka: Kafka, node: int, topics: Mapping[str, list[ListOffsetsPartition]], *, committed: bool
) -> dict[Place, int]:
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(committed),
        topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        timeout_ms=round(kafka.profile.timeout_s * 1_000),
    )
    found = {}
    for topic in (await kafka.call(request, node=node)).topics:
        for partition in topic.partitions:
            check(partition.error_code, f"{topic.name}-{partition.partition_index}")
            found[topic.name, partition.partition_index] = partition.offset
    return found


async def bounds(kafka: Kafka, topics: Iterable[str], *, committed: bool = False) -> dict[Place, tuple[int, int]]:
    """Where each partition of these topics begins and ends; `committed`: for who reads no open transactions."""
    places = await leaders(kafka, topics)
    starts = await list_offsets(kafka, dict.fromkeys(places, EARLIEST))
    ends = await list_offsets(kafka, dict.fromkeys(places, LATEST), committed=committed)
    return {place: (starts[place], ends[place]) for place in places}


async def at_time(kafka: Kafka, places: Iterable[Place], time_ms: int) -> dict[Place, int]:
    """The first offset at or after a time; the end where nothing is as late."""
    wanted = list(places)
    found = await list_offsets(kafka, dict.fromkeys(wanted, time_ms))
    missing = [place for place in wanted if found[place] < 0]
    return found | await list_offsets(kafka, dict.fromkeys(missing, LATEST))


async def goals(
    kafka: Kafka,
    places: list[Place],
    found: Mapping[Place, tuple[int, int]],
    offsets: Mapping[Place, int],
    target: str,
    now_ms: int,
) -> dict[Place, int]:
    """Where `--to` leads in each partition, from where one is there, within what is there."""
    if is_time(target):
        return await at_time(kafka, places, moment_ms(target.removeprefix(TIME_MARK), now_ms))
    try:
        return {place: goal(target, *found[place], offsets.get(place)) for place in places}
    except NoSuchWay:
        raise UsageMistake(f"--to cannot be {target!r}", WAYS) from None
