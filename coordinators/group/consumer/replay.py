"""Applies the records of consumer groups (KIP-848), by what their keys are about."""

from coordinators.group.consumer.group import ConsumerGroup
from coordinators.group.consumer.record_formats import (
    CURRENT_KEY,
    EPOCH_KEY,
    MEMBER_KEY,
    PARTITION_METADATA_KEY,
    REGEX_KEY,
    TARGET_EPOCH_KEY,
    TARGET_KEY,
    decode_current,
    decode_epoch,
    decode_regex,
    decode_subscription,
    decode_target,
    decode_target_epoch,
)
from coordinators.group.record_replay import CommittingReplay, Replay, passed_over


class ConsumerReplay(CommittingReplay[ConsumerGroup]):
    """Changes the consumer groups of one shard."""

    def make(self, group_id: str) -> ConsumerGroup:
        """A group of which nothing is known yet."""
        return ConsumerGroup(group_id)

    def by_key(self) -> dict[int, Replay]:
        """What applies a record, by the version of its key."""
        return {
            EPOCH_KEY: self.of_epoch(ConsumerGroup.replay_epoch, decode_epoch),
            PARTITION_METADATA_KEY: passed_over,
            MEMBER_KEY: self.of_member(ConsumerGroup.replay_subscription, decode_subscription),
            TARGET_EPOCH_KEY: self.of_group(_replay_target_epoch, decode_target_epoch),
            TARGET_KEY: self.of_member(ConsumerGroup.replay_target, decode_target),
            CURRENT_KEY: self.of_member(ConsumerGroup.replay_current, decode_current),
            REGEX_KEY: self.of_member(ConsumerGroup.replay_regex, decode_regex),
        }


def _replay_target_epoch(group: ConsumerGroup, epoch: int | None) -> None:
    group.assignment_epoch = epoch or 0
