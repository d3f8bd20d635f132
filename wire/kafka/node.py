"""What the Kafka door needs of the broker around it: topics, partitions, time, threads, limits."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from attrs import define, field, frozen

from coordinators.controller import Controller
from coordinators.group.groups import Groups
from coordinators.internal_topics import InternalTopics
from coordinators.producer_ids import ProducerIds
from coordinators.records.directory import PartitionDirectory
from coordinators.records.long_polls import LongPolls
from coordinators.records.reading import Reading
from coordinators.release.releases import Releases
from coordinators.topics import Topic, Topics
from coordinators.tracing.tracing import Tracing
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import in_worker, until_durable
from engine.clock import Clock
from engine.errors import BrokerError
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.timers import Timers
from engine.workers import Workers
from wire.kafka.fetch_sessions import FetchSessions
from wire.kafka.opening_room import OpeningRoom
from wire.kafka.refused_headers import RefusedHeaders

T = TypeVar("T")
SETTLE_S = 10.0


@frozen
class Limits:
    """Bounds of the door, from the broker's configuration."""

    max_frame_bytes: int = 100 * 1024 * 1024
    max_control_frame_bytes: int = 8 * 1024 * 1024
    max_large_request_bytes: int = 256 * 1024 * 1024
    max_connections: int = 10_000
    max_connections_per_address: int = 10_000
    max_idle_ms: int = 600_000
    max_requests_in_flight: int = 100
    max_bytes_in_flight: int = 32 * 1024 * 1024
    max_request_elements: int = 50_000
    max_response_bytes: int = 32 * 1024 * 1024
    request_progress_timeout_ms: int = 30_000
    max_fetch_bytes: int = 55 * 1024 * 1024
    max_decompression_ratio: int = 1_000
    max_request_decompressed_bytes: int = 256 * 1024 * 1024
    max_decompressed_bytes: int = 256 * 1024 * 1024


@define
class Node:
    """This broker as its Kafka door sees it."""

    node_id: int
    cluster_id: str
    rack: str | None
    topics: Topics
    partitions: Partitions
    controller: Controller
    producer_ids: ProducerIds
    internal_topics: InternalTopics
    groups: Groups
    transactions: Transactions
    releases: Releases
    clock: Clock
    timers: Timers
    workers: Workers
    limits: Limits
    fetch_sessions: FetchSessions
    tracing: Tracing
    long_polls: LongPolls
    directory: PartitionDirectory = field(init=False)
    reading: Reading = field(init=False)
    opening_room: OpeningRoom = field(init=False)
    refused_headers: RefusedHeaders = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.directory = PartitionDirectory(self.topics, self.partitions)
        self.reading = Reading(
            self.directory, self.tracing, self.clock, self.timers, self.long_polls, self.limits.max_fetch_bytes
        )
        self.opening_room = OpeningRoom(self.limits.max_decompressed_bytes)
        self.refused_headers = RefusedHeaders(self.clock)

    def topic(self, name: str, topic_id: bytes, *, by_id: bool) -> Topic:
        """The topic that a request names by id or by name."""
        return self.directory.topic(topic_id if by_id else name)

    def partition(self, topic: Topic, index: int) -> Partition:
        """A partition of a topic that exists."""
        return self.directory.partition(topic, index)

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run what blocks away from the loop."""
        return await in_worker(self.workers, function, *arguments)

    async def until_durable(self, partition: Partition) -> None:
        """Wait until what is written to the partition now can be read, or will not be."""
        with suppress(BrokerError):
            await until_durable(partition, partition.log.end_offset - 1, self.clock.monotonic() + SETTLE_S)
