"""The operations doors of all nodes: what a node tells of the partitions that it leads, put together."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from attrs import define, field

from tidegate.admin import AdminError
from tools.cli import settings
from tools.cli.door import Door, Json, door_at, opened
from tools.cli.door_address import DOOR_KEY, may_be_shown, reachable
from tools.cli.errors import Refused
from tools.cli.kafka import connected, run
from tools.cli.output import Output
from tools.cli.profiles import Profile
from tools.cli.settings import Kind

T = TypeVar("T")
NO_DOOR = "it has no operations door"
ELSEWHERE = "its door is on another host, where no token or password is sent"


@define(eq=False)
class AllDoors:
    """Doors by node. `missing` are nodes that could not be asked, and why not."""

    doors: dict[int, Door]
    missing: dict[int, str] = field(factory=dict)

    def each(self, ask: Callable[[Door], T]) -> list[T]:
        """What each of them answers, the first one's refusals in our words; of the others whoever does not answer is
        missing."""
        answers: list[T] = []
        for number, (node_id, door) in enumerate(self.doors.items()):
            try:
                answers.append(ask(door))
            except AdminError as error:
                if not number:
                    raise
                self.missing[node_id] = str(error)
        return answers

    @property
    def warning(self) -> str | None:
        """Whose part is not there."""
        if not self.missing:
            return None
        nodes = "; ".join(f"node {node_id}: {why}" for node_id, why in sorted(self.missing.items()))
        return f"without what these nodes lead: {nodes}"

    def warn(self, output: Output) -> None:
        """Say so, beside what was asked for."""
        if self.warning is not None:
            output.note(self.warning)


@contextmanager
def all_opened(profile: Profile) -> Iterator[AllDoors]:
    """The door that the profile means, and those of the other nodes."""
    with opened(profile) as door:
        cluster = door.read("cluster")
        found = AllDoors({cluster["node_id"]: door})
        others = [each["node_id"] for each in cluster["nodes"] if each["node_id"] != cluster["node_id"]]
        for node_id, url in (run(_urls(profile, others)) if others else {}).items():
            if url is None:
                found.missing[node_id] = NO_DOOR
            elif not may_be_shown(profile, url):
                found.missing[node_id] = ELSEWHERE
            else:
                found.doors[node_id] = door_at(url, profile)
        yield found


async def _urls(profile: Profile, nodes: list[int]) -> dict[int, str | None]:
    urls: dict[int, str | None] = {}
    async with connected(profile) as kafka:
        hosts: dict[int, Any] = {each.node_id: each.host for each in (await kafka.metadata([])).brokers}
        for node_id in nodes:
            try:
                (entry,) = await settings.read(kafka, Kind.BROKER, str(node_id), [DOOR_KEY])
            except (Refused, ValueError):
                urls[node_id] = None
                continue
            value = entry["value"]
            urls[node_id] = reachable(str(value), hosts.get(node_id, "")) if value else None
    return urls


def in_hand(doors: AllDoors, group: str) -> list[Json]:
    """What members of a share group have, wherever its partitions are led."""
    told = doors.each(lambda door: list(door.read_all("share-groups", group, "in-flight")))
    return sorted(itertools.chain(*told), key=lambda row: (row["topic"], row["partition"], row["first_offset"]))


def places(doors: AllDoors, group: str) -> dict[tuple[str, int], Json]:
    """What leaders know of a share group's partitions: windows, what is in hand, what waits for another attempt."""
    found: dict[tuple[str, int], Json] = {}
    for rows in doors.each(lambda door: list(_places(door, group))):
        for row in rows:
            if row["window"] is not None:
                found[row["topic"], row["partition"]] = row
    return found


def _places(door: Door, group: str) -> Iterator[Json]:
    limit, skip = 1_000, 0
    while True:
        page = door.read("share-groups", group, query={"limit": limit, "skip": skip})["offsets"]
        yield from page["items"]
        skip += limit
        if skip >= page["total"]:
            return
