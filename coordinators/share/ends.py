"""Where partitions end, for the lag of share groups (`ShareRecords`): those that this node leads."""

from attrs import define

from coordinators.records.directory import PartitionDirectory
from coordinators.share.ports import SharePlace
from engine.deferred import Deferred
from engine.errors import BrokerError

UNKNOWN_END = -1


@define(eq=False)
class LocalShareRecords:
    """See the module."""

    directory: PartitionDirectory

    def end_offset(self, place: SharePlace) -> Deferred[int]:
        end: Deferred[int] = Deferred()
        try:
            end.resolve(self.directory.find(place.topic_id, place.partition_index).reported_end)
        except BrokerError:
            end.resolve(UNKNOWN_END)
        return end
