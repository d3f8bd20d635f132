"""Applies the records of share groups (KIP-932), by what their keys are about."""

from coordinators.group.record_replay import GroupReplay, Replay
from coordinators.group.share.group import NO_STATES, ShareGroup
from coordinators.group.share.record_formats import (
    CURRENT_KEY,
    EPOCH_KEY,
    MEMBER_KEY,
    STATES_KEY,
    TARGET_EPOCH_KEY,
    TARGET_KEY,
    StateTopics,
    decode_current,
    decode_epoch,
    decode_states,
    decode_subscription,
    decode_target,
    decode_target_epoch,
)


class ShareReplay(GroupReplay[ShareGroup]):
    """Changes the share groups of one shard."""

    def make(self, group_id: str) -> ShareGroup:
        """A group of which nothing is known yet."""
        return ShareGroup(group_id)

    def by_key(self) -> dict[int, Replay]:
        """What applies a record, by the version of its key."""
        return {
            MEMBER_KEY: self.of_member(ShareGroup.replay_subscription, decode_subscription),
            EPOCH_KEY: self.of_epoch(ShareGroup.replay_epoch, decode_epoch),
            TARGET_EPOCH_KEY: self.of_group(_replay_target_epoch, decode_target_epoch),
            TARGET_KEY: self.of_member(ShareGroup.replay_target, decode_target),
            CURRENT_KEY: self.of_member(ShareGroup.replay_current, decode_current),
            STATES_KEY: self.of_group(_replay_states, decode_states),
        }


def _replay_target_epoch(group: ShareGroup, epoch: int | None) -> None:
    group.assignment_epoch = epoch or 0


def _replay_states(group: ShareGroup, states: StateTopics | None) -> None:
    group.states = NO_STATES if states is None else states
