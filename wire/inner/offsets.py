"""A group's places in partitions, asked for and committed in a member's name."""

from collections.abc import Iterable, Mapping

from attrs import frozen

from engine.errors import CoordinatorNotAvailable
from wire.inner.assignors import Place
from wire.inner.memberships import Ask, DoorMembership, Sleep
from wire.kafka.errors import ErrorCode, broker_error
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)

LAST_VERSION_WITH_NAMES = 9
"""Of both requests: behind it topics are named by their ids."""
MOST_TRIES = 50
PAUSE_S = 0.2
PASSING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)
"""An open transaction may be about to change the place: that is waited for, as Kafka's consumers do (KIP-447)."""


@frozen
class GroupOffsets:
    """See the module."""

    ask: Ask
    sleep: Sleep
    group: str

    async def fetch(self, places: Iterable[Place]) -> dict[Place, int]:
        """The next offset of each; -1 where nothing was committed."""
        wanted = by_topic(dict.fromkeys(places, 0))
        if not wanted:
            return {}
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=list(found)) for topic, found in wanted]
        request = OffsetFetchRequest([OffsetFetchRequestGroup(self.group, topics=topics)], require_stable=True)
        for _ in range(MOST_TRIES):
            answer = await self.ask(request, LAST_VERSION_WITH_NAMES)
            code, found = _fetched(answer.groups[0])
            if code == 0:
                return found
            if code not in PASSING:
                raise broker_error(code, f"the places of group {self.group!r} are not told")
            await self.sleep(PAUSE_S)
        raise CoordinatorNotAvailable(f"the places of group {self.group!r} could not be learnt")

    async def commit(self, membership: DoorMembership, offsets: Mapping[Place, int]) -> int:
        """Commit as this member in its generation; the error code if the group does not take it from it."""
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=membership.generation,
            member_id=membership.member_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[OffsetCommitRequestPartition(index, offset) for index, offset in found.items()],
                )
                for topic, found in by_topic(offsets)
            ],
        )
        answer = await self.ask(request, LAST_VERSION_WITH_NAMES)
        codes = [each.error_code for topic in answer.topics for each in topic.partitions]
        return next((code for code in codes if code), 0)


def by_topic(offsets: Mapping[Place, int]) -> list[tuple[str, dict[int, int]]]:
    """Offsets of partitions by the names of their topics, in order."""
    found: dict[str, dict[int, int]] = {}
    for (topic, index), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[index] = offset
    return list(found.items())


def _fetched(group: OffsetFetchResponseGroup) -> tuple[int, dict[Place, int]]:
    codes = [group.error_code, *(each.error_code for topic in group.topics for each in topic.partitions)]
    found = {
        (topic.name, each.partition_index): each.committed_offset for topic in group.topics for each in topic.partitions
    }
    return next((code for code in codes if code), 0), found
