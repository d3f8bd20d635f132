"""The clients behind the members of groups, for whoever sees a client and wants to know its group."""

from collections.abc import Callable, Iterable, Iterator

from coordinators.group.machine import GroupMachine

Client = tuple[str, str]


def group_clients(
    machines: Iterable[GroupMachine],
) -> Iterator[tuple[str, Callable[[str], bool], list[Client]]]:
    """Each group with members: its name, whether it reads a topic, and the client ids and addresses of its members."""
    for machine in machines:
        for classic in machine.groups.values():
            if classic.members:
                said = [(member.client_id, _address(member.client_host)) for member in classic.members.values()]
                yield classic.group_id, classic.is_subscribed_to, said
        for group in machine.consumers.groups.values():
            subscriptions = [member.subscription for member in group.members.values()]
            if subscriptions:
                said = [(each.client_id, _address(each.client_host)) for each in subscriptions]
                yield group.group_id, group.is_subscribed_to, said


def _address(host: str) -> str:
    # As in Java's InetAddress.toString, which clients' tools show.
    return host.removeprefix("/")
