"""What a node finds on its disk at a start and does not hold by the catalogue: partitions that have moved, and topics
that were deleted, while it was away.

In a cluster they are put aside, and removed after a day: the data directory is known to be this node's and of this
cluster (tidegate/belonging.py), but a catalogue may have been put back from an old copy. A broker with a catalogue of
its own leaves them alone: somebody has given it another number, or another's directory. It does not start if all that
it finds lies elsewhere. Topics that its catalogue does not know are not its business: the catalogue itself is checked
against the disk (engine/catalogue/guarded.py).
"""

import logging
import re
from collections.abc import Sequence

from attrs import frozen

from coordinators.topics import Topics
from engine.errors import StorageError
from engine.ids import TopicId
from engine.partition.aside import forget_old, put_aside
from engine.partition.partitions import Partitions

logger = logging.getLogger("tidegate.replicas")

TOPIC_DIRECTORY = re.compile("[0-9a-f]{32}")


@frozen
class Strays:
    """See the module."""

    topics: Topics
    partitions: Partitions
    has_own_catalogue: bool

    def look(self, holds_any: bool) -> None:
        """[thread] Before logs are opened; `holds_any` is whether by the catalogue there are some. Raises why the node
        must not start."""
        moved = self._moved()
        if self.has_own_catalogue:
            self._tell(moved, is_all=not holds_any)
        else:
            self._remove(moved, self._unknown())

    def _moved(self) -> list[tuple[TopicId, int]]:
        found = []
        for topic in list(self.topics.view):
            elsewhere = [i for i, row in enumerate(topic.partitions) if self.topics.node_id not in row.replicas]
            if elsewhere:
                names = set(self.partitions.files.list_directories(self.partitions.directory(topic.topic_id)))
                found += [(topic.topic_id, index) for index in elsewhere if str(index) in names]
        return found

    def _unknown(self) -> list[TopicId]:
        """Of topics that are being deleted the files go with the rest of them."""
        names = self.partitions.files.list_directories(f"{self.partitions.data_dir}/topics")
        found = [bytes.fromhex(name) for name in names if TOPIC_DIRECTORY.fullmatch(name)]
        return [each for each in found if each not in self.topics.by_id and each not in self.topics.deleting]

    def _remove(self, moved: Sequence[tuple[TopicId, int]], unknown: Sequence[TopicId]) -> None:
        files, now_ms = self.partitions.files, self.partitions.clock.now_ms()
        all_topics = f"{self.partitions.data_dir}/topics"
        if moved or unknown:
            logger.warning("put aside: %d partitions that have moved, %d deleted topics", len(moved), len(unknown))
        for topic_id, index in moved:
            put_aside(files, self.partitions.directory(topic_id), str(index), now_ms)
        for topic_id in unknown:
            put_aside(files, all_topics, topic_id.hex(), now_ms)
        forget_old(files, all_topics, now_ms)
        for topic in list(self.topics.view):
            forget_old(files, self.partitions.directory(topic.topic_id), now_ms)

    def _tell(self, moved: Sequence[tuple[TopicId, int]], *, is_all: bool) -> None:
        if not moved:
            return
        topic_id, index = moved[0]
        place = f"partition {index} of {self.topics.by_id[topic_id].name!r}"
        node_id = self.topics.node_id
        if is_all:
            raise StorageError(
                f"{self.partitions.data_dir} holds records, such as those of {place}, and by the catalogue all of them "
                f"lie on other nodes than {node_id}; is node.id what it was?"
            )
        logger.warning("%d partitions on the disk, such as %s, lie on other nodes now", len(moved), place)
