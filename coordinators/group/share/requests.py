"""What members of share groups ask and are answered, and how administrators see them; doors translate."""

from attrs import frozen

from coordinators.group.consumer.requests import DescribedPlaces


@frozen
class ShareHeartbeatRequest:
    """A member joins (epoch 0), lives, or leaves (epoch -1). None says that nothing about that has changed."""

    group_id: str
    member_id: str
    epoch: int
    rack_id: str | None = None
    topics: tuple[str, ...] | None = None
    client_id: str = ""
    client_host: str = ""


@frozen
class DescribedShareMember:
    """A member as an administrator sees it."""

    member_id: str
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    assignment: tuple[DescribedPlaces, ...]


@frozen
class DescribedShareGroup:
    """A group as an administrator sees it."""

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedShareMember, ...]
