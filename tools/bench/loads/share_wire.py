"""A member of a share group by hand, which gives everything back one by one, a thousand in a request."""

import socket
import struct
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from attrs import define, field

from wire.kafka.codec import is_flexible, request_encoder, response_decoder, response_start
from wire.kafka.messages import share_acknowledge, share_fetch
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

METADATA, FIND_COORDINATOR, HEARTBEAT, FETCH, ACKNOWLEDGE = 3, 10, 76, 78, 79
VERSIONS = {METADATA: 12, FIND_COORDINATOR: 4, HEARTBEAT: 1, FETCH: 2, ACKNOWLEDGE: 2}
RELEASE = 2
PATIENCE_S = 60.0
AGAIN_S = 0.02
NOT_YET = frozenset({3, 14, 15, 16})


@define(eq=False)
class ShareWire:
    """One connection, one session; a `with` block for as long as it is used."""

    bootstrap: str
    topic: str
    group: str
    _socket: socket.socket = field(init=False)
    _topic_id: bytes = field(init=False)
    _epoch: int = field(default=0, init=False)

    def __enter__(self) -> "ShareWire":
        host, port = self.bootstrap.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=self.topic)])
        self._topic_id = bytes(self._ask(METADATA, wanted).topics[0].topic_id)
        join = ShareGroupHeartbeatRequest(self.group, "patient", 0, subscribed_topic_names=[self.topic])
        deadline = time.monotonic() + PATIENCE_S
        self._ask(FIND_COORDINATOR, FindCoordinatorRequest(coordinator_keys=[self.group]))
        while self._ask(HEARTBEAT, join).error_code in NOT_YET and time.monotonic() < deadline:
            time.sleep(AGAIN_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def release_all(self, index: int, count: int, at_once: int) -> None:
        """Every record of a partition is handed out once and given back: those at even offsets before the others."""
        done, deadline = 0, time.monotonic() + PATIENCE_S
        while done < count:
            offsets = self._fetch([index], at_once)
            if not offsets and time.monotonic() > deadline:
                raise TimeoutError(f"partition {index} gave {done} of {count} records in {PATIENCE_S:g} s")
            for parity in (0, 1):
                self._release(index, [offset for offset in offsets if offset % 2 == parity])
            done += len(offsets)
        self._fetch([], 0, forgotten=[index])

    def expect_nothing(self, partitions: Iterable[int]) -> None:
        """All of these answer, and have nothing to hand out."""
        for index in partitions:
            if offsets := self._fetch([index], 1):
                raise ValueError(f"partition {index} hands out {offsets}, which should wait")

    def _fetch(self, partitions: list[int], most: int, forgotten: Iterable[int] = ()) -> list[int]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._ask(FETCH, self._fetch_request(partitions, most, list(forgotten)))
            if answer.error_code:
                raise ValueError(f"ShareFetch: {answer.error_code} {answer.error_message}")
            self._epoch += 1
            data = [each for topic in answer.responses for each in topic.partitions]
            codes = {each.error_code for each in data} - {0}
            if not codes:
                ranges = [each for part in data for each in part.acquired_records]
                return [offset for one in ranges for offset in range(one.first_offset, one.last_offset + 1)]
            if not codes <= NOT_YET or time.monotonic() > deadline:
                raise ValueError(f"ShareFetch: {codes}")
            time.sleep(AGAIN_S)

    def _fetch_request(self, partitions: list[int], most: int, forgotten: list[int]) -> share_fetch.ShareFetchRequest:
        named = [share_fetch.FetchPartition(index) for index in partitions]
        return share_fetch.ShareFetchRequest(
            group_id=self.group,
            member_id="patient",
            share_session_epoch=self._epoch,
            max_bytes=1 << 26,
            max_records=most,
            batch_size=most,
            share_acquire_mode=1,
            topics=[share_fetch.FetchTopic(self._topic_id, named)] if named else [],
            forgotten_topics_data=[share_fetch.ForgottenTopic(self._topic_id, forgotten)] if forgotten else [],
        )

    def _release(self, index: int, offsets: list[int]) -> None:
        if not offsets:
            return
        batches = [share_acknowledge.AcknowledgementBatch(offset, offset, [RELEASE]) for offset in offsets]
        named = share_acknowledge.AcknowledgePartition(index, batches)
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self.group,
            member_id="patient",
            share_session_epoch=self._epoch,
            topics=[share_acknowledge.AcknowledgeTopic(self._topic_id, [named])],
        )
        answer = self._ask(ACKNOWLEDGE, request)
        self._epoch += 1
        code = answer.error_code or answer.responses[0].partitions[0].error_code
        if code:
            raise ValueError(f"ShareAcknowledge: {code}")

    def _ask(self, key: int, message: Any) -> Any:
        version = VERSIONS[key]
        header = struct.pack(">hhih", key, version, 1, -1) + (b"\0" if is_flexible(key, version) else b"")
        parts: list[Any] = request_encoder(key, version)(message)
        body = b"".join((header, *parts))
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", self._exactly(4))
        return response_decoder(key, version)(self._exactly(size), response_start(key, version).size - 4)

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            piece = self._socket.recv(size - len(received))
            if not piece:
                raise EOFError("the broker has closed the connection")
            received += piece
        return bytes(received)
