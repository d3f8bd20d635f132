"""DescribeLogDirs (35), versions 1-4: what the data directory holds (KIP-113, KIP-827).

Null topics mean all. UIs ask it of every node and take a node without an answer for offline. A size is that of the log
and of what is delayed or prioritised. There is one directory, so no replica is on its way to another one.
"""

import shutil
from collections.abc import Collection

import trio

from coordinators.records.directory import PartitionDirectory
from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER, Need, Rights
from wire.kafka.slices import slices_of

KEY = 35
VERSIONS = (1, 4)
RIGHTS = Rights(
    Need(DESCRIBE_CLUSTER),
    refuse=lambda _request, _version, error: DescribeLogDirsResponse(error_code=error_code(error)),
)


async def handle(
    request: DescribeLogDirsRequest, _: Context, directory: PartitionDirectory, workers: Workers
) -> DescribeLogDirsResponse:
    """Sizes of the partitions asked for, and of the disk."""
    wanted: dict[str, Collection[int]] = {}
    for asked in request.topics or ():
        if asked.topic in directory.topics.by_name:
            wanted[asked.topic] = dict.fromkeys((*wanted.get(asked.topic, ()), *asked.partitions))
    if request.topics is None:
        wanted = {topic.name: range(topic.partition_count) for topic in directory.topics.by_name.values()}
    topics = []
    for some in slices_of(tuple(wanted.items())):
        topics += [_topic(name, indexes, directory) for name, indexes in some]
        await trio.lowlevel.checkpoint()
    disk = await in_worker(workers, shutil.disk_usage, directory.partitions.data_dir)
    result = DescribeLogDirsResult(
        log_dir=directory.partitions.data_dir,
        topics=[topic for topic in topics if topic.partitions],
        total_bytes=disk.total,
        usable_bytes=disk.free,
    )
    return DescribeLogDirsResponse(results=[result])


def _topic(name: str, indexes: Collection[int], directory: PartitionDirectory) -> DescribeLogDirsTopic:
    topic = directory.topics.by_name.get(name)
    entry = DescribeLogDirsTopic(name=name)
    for index in indexes if topic is not None else ():
        assert topic is not None
        partition = directory.partitions.get(topic.topic_id, index)
        if partition is not None:
            size = sum(each.log.size_bytes for each in partition.logs)
            entry.partitions.append(DescribeLogDirsPartition(partition_index=index, partition_size=size))
    return entry
