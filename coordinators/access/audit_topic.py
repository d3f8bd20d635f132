"""The audit log as the topic `__audit`: a record for each line, its key the principal, for pipelines to read.

The topic is made with the first line, with a partition for each node, and written by nobody but the broker. Nobody
waits for it: what cannot be written (the topic cannot be made, the disk is full, this node leads no partition) is
dropped and counted; the program's log and the file have it all the same.
"""

import json
import logging
from collections.abc import Sequence

from attrs import define, field

from coordinators.cluster.controller import ClusterController
from coordinators.records.counted import Counted
from coordinators.records.publication import Publication
from coordinators.records.publishing import Publishing
from coordinators.topics import Topic, TopicSpec
from engine.clock import Clock
from engine.errors import BrokerError
from engine.log.types import Origin
from engine.records.batch import NOBODY, made
from engine.records.layout import build_batch

logger = logging.getLogger("tidegate.audit")

AUDIT_TOPIC = "__audit"
WAITING_LINES_MAX = 10_000
WAITS_S = 30.0
"""For its turn, where a release of the topic is in the way."""


@define(eq=False)
class AuditTopic:
    """See the module."""

    controller: ClusterController
    clock: Clock
    publishing: Publishing
    retention_ms: int
    written: int = field(default=0, init=False)
    dropped: int = field(default=0, init=False)
    _waiting: list[bytes] = field(factory=list, init=False)
    _is_making: bool = field(default=False, init=False)

    def write(self, lines: Sequence[bytes]) -> None:
        """Publish them, once the topic is there."""
        room = max(0, WAITING_LINES_MAX - len(self._waiting))
        self.dropped += len(lines[room:])
        self._waiting += lines[:room]
        topic = self.controller.topics.by_name.get(AUDIT_TOPIC)
        if topic is not None:
            self._publish(topic)
        elif self._waiting and not self._is_making:
            self._is_making = True
            self.controller.background.start_soon(self._make)

    def close(self) -> None:
        """What waits for the topic is dropped."""

    def _publish(self, topic: Topic) -> None:
        lines, self._waiting = self._waiting, []
        if not lines:
            return
        records = [(json.loads(line)["principal"].encode(), line) for line in lines]
        batch = made(build_batch(records, timestamp_ms=self.clock.now_ms()), Origin.COORDINATOR)
        here = self.controller.topics.node_id
        index = next((place for place, row in enumerate(topic.partitions) if row.leader == here), 0)
        try:
            partition = self.publishing.destination(NOBODY, topic, index, durable=False)
        except BrokerError as error:
            self.drop(len(lines), error)
            return
        deadline = self.clock.monotonic() + WAITS_S
        publication = Publication(topic, partition, batch)
        Counted(self.publishing, NOBODY, [publication], False, deadline, sink=self, count=len(lines)).publish()

    def drop(self, count: int, error: BrokerError) -> None:
        """They cannot be written."""
        self.dropped += count
        logger.error("%d lines of the audit log cannot be written to %s: %s", count, AUDIT_TOPIC, error)

    async def _make(self) -> None:
        configs = {"retention.ms": str(self.retention_ms)}
        count = max(1, len(self.controller.replicas.nodes.by_id))
        try:
            await self.controller.ensure_topic(TopicSpec(AUDIT_TOPIC, count, configs=configs))
        except BrokerError as error:
            logger.error("%s cannot be made: %s", AUDIT_TOPIC, error)
        finally:
            self._is_making = False
        if AUDIT_TOPIC in self.controller.topics.by_name:
            self.write(())
