"""Groups as administrators see them."""

from coordinators.group.classic.group import ClassicGroup, State
from coordinators.group.machine import GroupMachine
from coordinators.group.requests import DescribedGroup, DescribedMember, ListedGroup
from engine.errors import GroupIdNotFound

CLASSIC = "classic"
CONSUMER = "consumer"


def describe(shard: GroupMachine, group_id: str) -> DescribedGroup:
    """One group; what its members said and got is shown only while that is settled."""
    group = shard.groups.get(group_id)
    if group is None:
        is_consumer = group_id in shard.consumers.groups
        raise GroupIdNotFound(f"Group {group_id} {'is not a classic group' if is_consumer else 'not found'}.")
    protocol = group.protocol if group.state is State.STABLE else None
    return DescribedGroup(
        group_id, group.state.value, group.protocol_type or "", protocol or "", _members(group, protocol)
    )


def _members(group: ClassicGroup, protocol: str | None) -> tuple[DescribedMember, ...]:
    return tuple(
        DescribedMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            b"" if protocol is None else member.subscription(protocol),
            b"" if protocol is None else member.assignment,
        )
        for member in group.members.values()
    )


def listed(shard: GroupMachine) -> list[ListedGroup]:
    """Every group of a shard."""
    return [
        *(
            ListedGroup(group_id, group.protocol_type or "", group.state.value, CLASSIC)
            for group_id, group in shard.groups.items()
        ),
        *(
            ListedGroup(group_id, CONSUMER, group.state.value, CONSUMER)
            for group_id, group in shard.consumers.groups.items()
        ),
    ]
