"""Batches that were refused for their `tide-` headers: counted by topic and kind of fault, and told in the log.

Some clients pass on nothing but the error's code (librdkafka), so that whoever looks for the reason looks here. The log
gets a line for each topic and kind of fault once in a while, with how many came since the one before.
"""

import logging
from collections import Counter

from attrs import define, field

from engine.clock import Clock
from engine.errors import RefusedRecords
from engine.records.batch import Publisher

logger = logging.getLogger("tidegate.kafka")

QUIET_S = 10.0
COUNTED_MAX = 1_000
"""Pairs of a topic and a kind of fault; further topics are counted together."""
OTHER = "other"


@define(eq=False)
class RefusedHeaders:
    """See the module."""

    clock: Clock
    counts: Counter[tuple[str, str]] = field(factory=Counter, init=False)
    _told: dict[tuple[str, str], tuple[float, int]] = field(factory=dict, init=False)
    """When the last line was written, and how many there had been by then."""

    def note(self, topic: str, partition: int, error: RefusedRecords, publisher: Publisher) -> None:
        """A batch for this partition was refused."""
        pair = (topic, error.header_fault)
        if pair not in self.counts and len(self.counts) >= COUNTED_MAX:
            pair = (OTHER, error.header_fault)
        self.counts[pair] += 1
        count, now = self.counts[pair], self.clock.monotonic()
        last, told = self._told.get(pair, (-QUIET_S, 0))
        if now - last < QUIET_S:
            return
        self._told[pair] = (now, count)
        logger.warning(
            "a batch was refused for its records: %s",
            error,
            extra={
                "topic": topic,
                "partition": partition,
                "fault": error.header_fault,
                "client_id": publisher.client_id,
                "address": publisher.address,
                "since_last": count - told,
            },
        )
