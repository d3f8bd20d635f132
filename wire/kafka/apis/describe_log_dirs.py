"""DescribeLogDirs (35), versions 1-4: what the data directory holds (KIP-113, KIP-827).

Null topics mean all. UIs ask it of every node and take a node without an answer for offline.
"""

import shutil

from wire.kafka.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from wire.kafka.request import Context

KEY = 35
VERSIONS = (1, 4)


async def handle(request: DescribeLogDirsRequest, context: Context) -> DescribeLogDirsResponse:
    """Sizes of the partitions asked for, and of the disk."""
    node = context.node
    if request.topics is None:
        wanted = {topic.name: list(range(topic.partition_count)) for topic in node.topics.by_name.values()}
    else:
        wanted = {topic.topic: topic.partitions for topic in request.topics}
    topics = [_topic(name, indexes, context) for name, indexes in wanted.items()]
    disk = await node.in_thread(shutil.disk_usage, node.partitions.data_dir)
    result = DescribeLogDirsResult(
        log_dir=node.partitions.data_dir,
        topics=[topic for topic in topics if topic.partitions],
        total_bytes=disk.total,
        usable_bytes=disk.free,
    )
    return DescribeLogDirsResponse(results=[result])


def _topic(name: str, indexes: list[int], context: Context) -> DescribeLogDirsTopic:
    node = context.node
    topic = node.topics.by_name.get(name)
    entry = DescribeLogDirsTopic(name=name)
    for index in indexes if topic is not None else ():
        assert topic is not None
        partition = node.partitions.get(topic.topic_id, index)
        if partition is not None:
            entry.partitions.append(
                DescribeLogDirsPartition(partition_index=index, partition_size=partition.log.size_bytes)
            )
    return entry
