"""What members of streams groups ask and are answered, and how administrators see them; doors translate."""

from enum import IntEnum
from typing import NamedTuple

from attrs import frozen

from coordinators.group.consumer.requests import DescribedPlaces
from coordinators.group.streams.record_formats import UserEndpoint
from coordinators.group.streams.tasks import Tasks
from coordinators.group.streams.topology import Topology
from coordinators.topic_creation import TopicSpec

NO_TIMEOUT = -1


class StreamsStatusCode(IntEnum):
    """What a member is told besides its tasks, by the numbers of the protocol."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class StreamsStatus(NamedTuple):
    """One of them, in words."""

    code: StreamsStatusCode
    detail: str


@frozen
class StreamsHeartbeatRequest:
    """A member joins (epoch 0), lives, or leaves (epoch -1). None says that nothing about that has changed."""

    group_id: str
    member_id: str
    epoch: int
    endpoint_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = NO_TIMEOUT
    topology: Topology | None = None
    owned: Tasks | None = None
    process_id: str | None = None
    endpoint: UserEndpoint | None = None
    tags: tuple[tuple[str, str], ...] | None = None
    shuts_down: bool = False
    client_id: str = ""
    client_host: str = ""


@frozen
class EndpointPartitions:
    """Which partitions of which topics a process answers for; None of a topic are left out."""

    endpoint: UserEndpoint
    active: tuple[tuple[str, tuple[int, ...]], ...]
    standby: tuple[tuple[str, tuple[int, ...]], ...]


@frozen
class StreamsHeartbeatAnswer:
    """Where the member is now. `tasks` is None where nothing about them is new, `endpoints` likewise.

    `missing` are topics that have to be made before tasks can be assigned.
    """

    member_id: str
    epoch: int
    heartbeat_interval_ms: int = 0
    status: tuple[StreamsStatus, ...] = ()
    tasks: Tasks | None = None
    endpoint_epoch: int = 0
    endpoints: tuple[EndpointPartitions, ...] | None = None
    missing: tuple[TopicSpec, ...] = ()


@frozen
class DescribedStreamsMember:
    """A member as an administrator sees it."""

    member_id: str
    epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    endpoint: UserEndpoint | None
    tags: tuple[tuple[str, str], ...]
    assigned: Tasks
    target: Tasks
    # The partitions that its active tasks read.
    assignment: tuple[DescribedPlaces, ...] = ()


@frozen
class DescribedStreamsGroup:
    """A group as an administrator sees it; how many partitions topics have that follow from others is filled in."""

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    topology: Topology | None
    members: tuple[DescribedStreamsMember, ...]
