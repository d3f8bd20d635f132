"""A member of a share group by hand: its heartbeats, fetches and acknowledgements one by one."""

import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import define, field, frozen

from compat_tests.share.asking import NOT_YET, PATIENCE_SECONDS, ask, receive, send, topic_id
from compat_tests.wire.batches import parse
from compat_tests.wire.connection import Wire
from wire.kafka.messages import share_acknowledge, share_fetch
from wire.kafka.messages.share_acknowledge import ShareAcknowledgeRequest
from wire.kafka.messages.share_fetch import ForgottenTopic, ShareFetchRequest
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
UNKNOWN_TOPIC_OR_PARTITION = 3
Ack = tuple[int, int, int | Sequence[int]]
"""First and last offset, and one type, or one for each."""


@frozen
class Acquired:
    """What a fetch was given of one partition."""

    error_code: int
    acknowledge_error_code: int
    ranges: tuple[tuple[int, int, int], ...]
    """First and last offset, and how often they were handed out."""
    values: dict[int, bytes | None]
    """By offset; of those that were acquired and are there."""

    @property
    def offsets(self) -> list[int]:
        return [offset for first, last, _ in self.ranges for offset in range(first, last + 1)]

    @property
    def counts(self) -> dict[int, int]:
        return {offset: count for first, last, count in self.ranges for offset in range(first, last + 1)}


NOTHING = Acquired(0, 0, (), {})


@define(eq=False)
class ShareMember:
    """One member on a connection of its own; counts its epochs."""

    bootstrap: str
    group: str
    member_id: str = field(factory=lambda: str(uuid.uuid4()))
    version: int = 2
    epoch: int = 0
    session: int = 0
    """The epoch of the next request of its session."""
    assigned: dict[bytes, list[int]] = field(factory=dict)
    wire: Wire = field(init=False)
    _ids: dict[str, bytes] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.wire = Wire(self.bootstrap).__enter__()

    def close(self) -> None:
        self.wire.__exit__(None, None, None)

    # -- membership

    def join(self, *topics: str, **fields: Any) -> Any:
        return self.beat(0, subscribed_topic_names=list(topics), **fields)

    def leave(self) -> Any:
        return self.beat(-1)

    def beat(self, epoch: int | None = None, **fields: Any) -> Any:
        """A heartbeat; takes over what the answer says. Asks again while the coordinator is not there."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        given = {"group_id": self.group, "member_id": self.member_id, **fields}
        request = ShareGroupHeartbeatRequest(member_epoch=self.epoch if epoch is None else epoch, **given)
        while (answer := ask(self.wire, request)).error_code in NOT_YET and time.monotonic() < deadline:
            time.sleep(0.05)
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assigned = {each.topic_id: each.partitions for each in answer.assignment.topic_partitions}
        return answer

    # -- records

    def topic_id(self, topic: str) -> bytes:
        if topic not in self._ids:
            self._ids[topic] = topic_id(self.wire, topic)
        return self._ids[topic]

    def know(self, topic: str, identity: bytes) -> None:
        """Call a topic by this id from now on."""
        self._ids[topic] = identity

    def fetch_request(
        self,
        topic: str | None,
        partitions: Iterable[int] = (0,),
        *,
        acks: Sequence[Ack] = (),
        forget: Iterable[int] = (),
        **fields: Any,
    ) -> ShareFetchRequest:
        """A fetch of some partitions of one topic; acknowledgements are of the first of them."""
        topics: list[Any] = []
        forgotten: list[Any] = []
        if topic is not None:
            named = [share_fetch.FetchPartition(partition_index=index) for index in partitions]
            if acks:
                named[0].acknowledgement_batches = batches(share_fetch, acks)
            topics = [share_fetch.FetchTopic(topic_id=self.topic_id(topic), partitions=named)] if named else []
            if forget:
                forgotten = [ForgottenTopic(topic_id=self.topic_id(topic), partitions=list(forget))]
        given = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": self.session,
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
        }
        return ShareFetchRequest(topics=topics, forgotten_topics_data=forgotten, **(given | fields))

    def ask_fetch(self, topic: str | None, partitions: Iterable[int] = (0,), **options: Any) -> Any:
        """A fetch, and its whole answer."""
        request = self.fetch_request(topic, partitions, **options)
        return self._took(ask(self.wire, request, self.version), request.share_session_epoch)

    def send_fetch(self, topic: str | None, **options: Any) -> ShareFetchRequest:
        """A fetch whose answer is received later, by `receive_fetch`."""
        request = self.fetch_request(topic, **options)
        send(self.wire, request, self.version)
        return request

    def receive_fetch(self, request: ShareFetchRequest) -> Any:
        return self._took(receive(self.wire, request, self.version), request.share_session_epoch)

    def _took(self, answer: Any, epoch: int) -> Any:
        if answer.error_code == 0:
            self.session = 0 if epoch == -1 else epoch + 1
        return answer

    def fetch(self, topic: str, partition: int = 0, **options: Any) -> Acquired:
        """What one partition gives. A share partition that is only just being loaded is asked again."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.ask_fetch(topic, (partition,), **options)
            assert answer.error_code == 0, (answer.error_code, answer.error_message)
            found = acquired(answer, partition)
            if found.error_code not in (UNKNOWN_TOPIC_OR_PARTITION, 15) or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def collect(self, topic: str, count: int, partition: int = 0, **options: Any) -> dict[int, int]:
        """Fetches until so many offsets were handed out; gives how often each was."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        found: dict[int, int] = {}
        while len(found) < count:
            assert time.monotonic() < deadline, f"only {found}"
            found |= self.fetch(topic, partition, **options).counts
        return found

    def acknowledge(self, topic: str, *acks: Ack, partition: int = 0, **options: Any) -> int:
        """The error code of the partition, or of the whole answer."""
        answer = self.ask_acknowledge(topic, *acks, partition=partition, **options)
        return int(answer.error_code or answer.responses[0].partitions[0].error_code)

    def ask_acknowledge(self, topic: str | None, *acks: Ack, partition: int = 0, **fields: Any) -> Any:
        topics: list[Any] = []
        if topic is not None:
            named = share_acknowledge.AcknowledgePartition(
                partition_index=partition, acknowledgement_batches=batches(share_acknowledge, acks)
            )
            topics = [share_acknowledge.AcknowledgeTopic(topic_id=self.topic_id(topic), partitions=[named])]
        given = {"group_id": self.group, "member_id": self.member_id, "share_session_epoch": self.session}
        request = ShareAcknowledgeRequest(topics=topics, **(given | fields))
        return self._took(ask(self.wire, request, self.version), request.share_session_epoch)

    def end_session(self, topic: str | None = None, *acks: Ack) -> int:
        """Closes the session, with acknowledgements: what it still holds is released."""
        return int(self.ask_acknowledge(topic, *acks, share_session_epoch=-1).error_code)


def batches(module: Any, acks: Sequence[Ack]) -> list[Any]:
    return [
        module.AcknowledgementBatch(first, last, [types] if isinstance(types, int) else list(types))
        for first, last, types in acks
    ]


def acquired(answer: Any, partition: int = 0) -> Acquired:
    """One partition of a fetch's answer; nothing, where it is not among them."""
    for topic in answer.responses:
        for data in topic.partitions:
            if data.partition_index == partition:
                ranges = tuple(
                    (each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records
                )
                return Acquired(data.error_code, data.acknowledge_error_code, ranges, _values(data.records, ranges))
    return NOTHING


def _values(records: Any, ranges: Sequence[tuple[int, int, int]]) -> dict[int, bytes | None]:
    found: dict[int, bytes | None] = {}
    for batch in parse(bytes(records or b"")):
        for offset, value in zip(batch.offsets, batch.values, strict=True):
            if not batch.is_control and any(first <= offset <= last for first, last, _ in ranges):
                found[offset] = value
    return found
