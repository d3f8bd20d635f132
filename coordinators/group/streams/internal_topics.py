"""Makes the repartition and changelog topics of Streams applications, beside the heartbeats that find them missing.

Heartbeats do not wait for it: the member is told what is missing, and comes back soon. Whoever asks while a topic is
being made, or after it could not be, starts nothing new; in the latter case the reason is told for a while, before
it is tried again.
"""

import logging
from collections.abc import Sequence

from attrs import define, evolve, field

from coordinators.cluster.controller import ClusterController
from coordinators.group.streams.requests import StreamsHeartbeatAnswer, StreamsStatus, StreamsStatusCode
from coordinators.topic_creation import TopicSpec
from engine.clock import Clock
from engine.errors import BrokerError, TopicAlreadyExists

logger = logging.getLogger("tidegate.groups")

PAUSE_S = 10.0
REMEMBERED_AT_MOST = 1_000
TOLD_AT_MOST = 3


@define(eq=False)
class StreamsTopics:
    """See the module."""

    controller: ClusterController
    clock: Clock
    _under_way: set[str] = field(factory=set, init=False)
    # Until when a topic is not tried again, and why it could not be made.
    _failed: dict[str, tuple[float, str]] = field(factory=dict, init=False)

    def see_to(self, answer: StreamsHeartbeatAnswer) -> StreamsHeartbeatAnswer:
        """Make what an answer tells to be missing; the answer with the reasons why it was not possible lately."""
        if not answer.missing:
            return answer
        now = self.clock.monotonic()
        reasons = {}
        wanted = []
        for spec in answer.missing:
            until, reason = self._failed.get(spec.name, (0.0, ""))
            if now < until:
                reasons[spec.name] = reason
            elif spec.name not in self._under_way:
                wanted.append(spec)
        if wanted and self.controller.background.is_open:
            self._under_way.update(spec.name for spec in wanted)
            self.controller.background.start_soon(self._make, wanted)
        return evolve(answer, status=tuple(_told(each, reasons) for each in answer.status)) if reasons else answer

    async def _make(self, specs: Sequence[TopicSpec]) -> None:
        try:
            results = await self.controller.create_topics(specs)
        finally:
            self._under_way.difference_update(spec.name for spec in specs)
        until = self.clock.monotonic() + PAUSE_S
        for spec, result in zip(specs, results, strict=True):
            self._failed.pop(spec.name, None)
            if isinstance(result, BrokerError) and not isinstance(result, TopicAlreadyExists):
                logger.warning("internal topic of a Streams application cannot be made: %s: %s", spec.name, result)
                self._failed[spec.name] = until, str(result)
        while len(self._failed) > REMEMBERED_AT_MOST:
            del self._failed[next(iter(self._failed))]


def _told(status: StreamsStatus, reasons: dict[str, str]) -> StreamsStatus:
    if status.code is not StreamsStatusCode.MISSING_INTERNAL_TOPICS:
        return status
    listed = [f"{name} ({reason})" for name, reason in list(reasons.items())[:TOLD_AT_MOST]]
    return status._replace(detail=f"{status.detail}; Creation failed: {', '.join(listed)}.")
