"""Applies the records of streams groups (KIP-1071), by what their keys are about."""

from coordinators.group.record_replay import CommittingReplay, Replay, passed_over
from coordinators.group.streams.group import StreamsGroup
from coordinators.group.streams.record_formats import (
    STREAMS_CURRENT_KEY,
    STREAMS_EPOCH_KEY,
    STREAMS_MEMBER_KEY,
    STREAMS_PARTITION_METADATA_KEY,
    STREAMS_TARGET_EPOCH_KEY,
    STREAMS_TARGET_KEY,
    STREAMS_TOPOLOGY_KEY,
    decode_streams_current,
    decode_streams_epoch,
    decode_streams_member,
    decode_streams_target,
    decode_streams_target_epoch,
)
from coordinators.group.streams.topology_format import decode_topology


class StreamsReplay(CommittingReplay[StreamsGroup]):
    """Changes the streams groups of one shard."""

    def make(self, group_id: str) -> StreamsGroup:
        """A group of which nothing is known yet."""
        return StreamsGroup(group_id)

    def by_key(self) -> dict[int, Replay]:
        """What applies a record, by the version of its key."""
        return {
            STREAMS_EPOCH_KEY: self.of_epoch(StreamsGroup.replay_epoch, decode_streams_epoch),
            STREAMS_PARTITION_METADATA_KEY: passed_over,
            STREAMS_MEMBER_KEY: self.of_member(StreamsGroup.replay_member, decode_streams_member),
            STREAMS_TARGET_EPOCH_KEY: self.of_group(_replay_target_epoch, decode_streams_target_epoch),
            STREAMS_TARGET_KEY: self.of_member(StreamsGroup.replay_target, decode_streams_target),
            STREAMS_CURRENT_KEY: self.of_member(StreamsGroup.replay_current, decode_streams_current),
            STREAMS_TOPOLOGY_KEY: self.of_group(StreamsGroup.replay_topology, decode_topology),
        }


def _replay_target_epoch(group: StreamsGroup, value: tuple[int, int] | None) -> None:
    group.replay_target_epoch(*(value or ()))
