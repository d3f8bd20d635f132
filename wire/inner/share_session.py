"""A member's session with one leader of partitions of a share group: fetches and acknowledgements, counted together.

An acknowledgement may be sent while a fetch waits: requests reach the leader in the order in which they were sent, and
each has its number before that. If leader and member do not agree on the number any more, a new session is begun; what
the member holds stays its own meanwhile.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from coordinators.share.acks import AckType
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, broker_error
from wire.kafka.messages import share_acknowledge, share_fetch
from wire.kafka.messages.share_acknowledge import ShareAcknowledgeRequest
from wire.kafka.messages.share_fetch import ForgottenTopic, ShareFetchRequest

OPENING = 0
LAST_EPOCH = 2**31 - 1
RECORD_LIMIT = 1
NOT_SAID = -1
MOST_TRIES = 3
SharePlace = tuple[bytes, int]
"""A topic's id and a partition."""
AskLeader = Callable[[Any, float], Awaitable[Any]]
"""Asks the session's leader something that may wait so many seconds."""
ENDED = (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH)


@frozen
class Said:
    """What is said of one offset: which of its deliveries is meant, and how long it waits if it is released."""

    offset: int
    kind: AckType
    delivery_count: int = NOT_SAID
    delay_ms: int = NOT_SAID


@define(eq=False)
class LeaderSession:
    """See the module."""

    ask: AskLeader
    group: str
    member_id: str
    _epoch: int = field(default=OPENING, init=False)
    _known: frozenset[SharePlace] = field(default=frozenset(), init=False)

    async def fetch(
        self, wanted: frozenset[SharePlace], *, max_records: int, max_bytes: int, wait_s: float
    ) -> share_fetch.ShareFetchResponse:
        """Records of any of these partitions; raises what the leader refuses all of it with."""
        for _ in range(MOST_TRIES):
            request = self._fetch_request(wanted, max_records, max_bytes, wait_s)
            answer = await self.ask(request, wait_s)
            if answer.error_code not in ENDED:
                break
            self._begin_anew()
        _check(answer)
        return answer  # type: ignore[no-any-return]

    def _fetch_request(
        self, wanted: frozenset[SharePlace], max_records: int, max_bytes: int, wait_s: float
    ) -> ShareFetchRequest:
        epoch = self._counted()
        known = frozenset() if epoch == OPENING else self._known
        self._known = wanted
        return ShareFetchRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=epoch,
            max_wait_ms=int(wait_s * 1000),
            min_bytes=1,
            max_bytes=max_bytes,
            max_records=max_records,
            batch_size=max_records,
            share_acquire_mode=RECORD_LIMIT,
            topics=[
                share_fetch.FetchTopic(topic, [share_fetch.FetchPartition(index) for index in indexes])
                for topic, indexes in by_topic(wanted - known)
            ],
            forgotten_topics_data=[ForgottenTopic(topic, indexes) for topic, indexes in by_topic(known - wanted)],
        )

    async def acknowledge(
        self, said: Mapping[SharePlace, Sequence[Said]], *, renews: bool = False
    ) -> dict[SharePlace, BrokerError | None]:
        """What became of it, for each partition: all of it or nothing. Raises what all of it is refused with."""
        for _ in range(MOST_TRIES):
            if self._epoch == OPENING:
                # What it held before it still has; but it can say so in a session alone.
                await self.fetch(self._known, max_records=0, max_bytes=0, wait_s=0.0)
            answer = await self.ask(self._acknowledge_request(said, renews=renews), 0.0)
            if answer.error_code not in ENDED:
                break
            self._begin_anew()
        _check(answer)
        return {
            (topic.topic_id, each.partition_index): _refusal(each)
            for topic in answer.responses
            for each in topic.partitions
        }

    def _acknowledge_request(
        self, said: Mapping[SharePlace, Sequence[Said]], *, renews: bool
    ) -> ShareAcknowledgeRequest:
        self._known |= said.keys()  # a partition that is named is fetched from then on
        topics = [
            share_acknowledge.AcknowledgeTopic(
                topic,
                [share_acknowledge.AcknowledgePartition(index, _batches(said[topic, index])) for index in indexes],
            )
            for topic, indexes in by_topic(said)
        ]
        return ShareAcknowledgeRequest(self.group, self.member_id, self._counted(), renews, topics)

    def _counted(self) -> int:
        epoch, self._epoch = self._epoch, 1 if self._epoch == LAST_EPOCH else self._epoch + 1
        return epoch

    def _begin_anew(self) -> None:
        self._epoch = OPENING


def by_topic(places: Iterable[SharePlace]) -> list[tuple[bytes, list[int]]]:
    """Partitions by the ids of their topics, in order."""
    found: dict[bytes, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return list(found.items())


def _batches(said: Iterable[Said]) -> list[share_acknowledge.AcknowledgementBatch]:
    """In order; each offset is told for itself."""
    return [
        share_acknowledge.AcknowledgementBatch(
            each.offset, each.offset, [int(each.kind)], each.delay_ms, each.delivery_count
        )
        for each in sorted(said, key=lambda one: one.offset)
    ]


def _check(answer: Any) -> None:
    if answer.error_code:
        raise broker_error(answer.error_code, answer.error_message or "")


def _refusal(data: share_acknowledge.PartitionData) -> BrokerError | None:
    return broker_error(data.error_code, data.error_message or "") if data.error_code else None
