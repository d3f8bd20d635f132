"""What members of consumer groups ask and are answered, and how administrators see them; doors translate."""

from collections.abc import Callable

from attrs import field, frozen

from coordinators.group.consumer.record_formats import Assignment

NO_TIMEOUT = -1


@frozen
class HeartbeatRequest:
    """A member joins (epoch 0), lives, or leaves (epoch -1, or -2 for a static member that will be back).

    None says that nothing about that has changed.
    """

    group_id: str
    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = NO_TIMEOUT
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Assignment | None = None
    client_id: str = ""
    client_host: str = ""
    # From version 1 the client makes the id (KIP-1082).
    brings_member_id: bool = True
    sees: Callable[[str], bool] | None = field(default=None, eq=False)
    """Which topics the member may know of: an expression stands for no others. None: for all."""

    @property
    def is_full(self) -> bool:
        """Whether it says everything, as after joining or an error: then the answer does, too."""
        says_what_it_wants = self.topics is not None or self.regex is not None
        return self.rebalance_timeout_ms != NO_TIMEOUT and says_what_it_wants and self.owned is not None


@frozen
class HeartbeatAnswer:
    """Where the member is now. `assignment` is None where nothing about it is new."""

    member_id: str
    epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


@frozen
class DescribedPlaces:
    """Partitions of one topic."""

    topic_id: bytes
    topic: str
    partitions: tuple[int, ...]


@frozen
class DescribedConsumer:
    """A member as an administrator sees it."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    regex: str | None
    assignment: tuple[DescribedPlaces, ...]
    target: tuple[DescribedPlaces, ...]
    is_classic: bool


@frozen
class DescribedConsumerGroup:
    """A group as an administrator sees it."""

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedConsumer, ...]
