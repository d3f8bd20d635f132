"""The end of a consumer group."""

from coordinators.group.consumer.formats import (
    current_record,
    epoch_record,
    regex_record,
    subscription_record,
    target_epoch_record,
    target_record,
)
from coordinators.group.consumer.group import ConsumerGroup
from coordinators.runtime import Record


def group_tombstones(group: ConsumerGroup) -> list[Record]:
    """Records that forget all of a group but its offsets; the last one ends it."""
    group_id = group.group_id
    records = [current_record(group_id, member_id, None) for member_id in group.members]
    records += [target_record(group_id, member_id, None) for member_id in group.targets]
    records.append(target_epoch_record(group_id, None))
    records += [subscription_record(group_id, member_id, None) for member_id in group.members]
    records += [regex_record(group_id, regex, None) for regex in group.regexes]
    records.append(epoch_record(group_id, None))
    return records
