"""Brokers without sockets for a worker's core: they answer what it asks, on a clock of the test's."""

import struct
from typing import Any

from attrs import define, field

from engine.records.layout import build_batch
from tidegate.work.core import Act, Address, WorkCore
from tidegate.work.job import Job, Settlement
from tidegate.work.membership import WorkerMember
from wire.kafka.codec import decode_request_header, request_decoder, response_encoder, response_start, schema_versions
from wire.kafka.messages.api_versions import ApiVersion, ApiVersionsResponse
from wire.kafka.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from wire.kafka.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from wire.kafka.messages.share_acknowledge import PartitionData as AckPartition
from wire.kafka.messages.share_acknowledge import ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse
from wire.kafka.messages.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from wire.kafka.messages.share_group_heartbeat import Assignment, ShareGroupHeartbeatResponse, TopicPartitions

TOPIC, TOPIC_ID = "jobs", b"T" * 16
KEYS = (3, 10, 18, 76, 78, 79)
LOCK_MS = 30_000


@define(eq=False)
class FakeBrokers:
    """Two nodes; partition `n` is led by node `n`, the coordinator is node 0. Settlements are kept as they come."""

    core: WorkCore = field(init=False)
    now: float = 100.0
    addresses: tuple[Address, ...] = (("a", 1), ("b", 2))
    partitions: int = 1
    leaders: dict[int, int] = field(factory=dict)
    available: dict[int, list[int]] = field(factory=dict)
    """Offsets to be handed out, by partition."""
    settled: list[tuple[int, int, int]] = field(factory=list)
    """Partition, offset, and what became of it."""
    refuse: dict[int, int] = field(factory=dict)
    """Error codes by offset: what the next acknowledgement that has it in it is answered, once."""
    gone: set[int] = field(factory=set)
    """Offsets that somebody else has by now."""
    errors: dict[str, int] = field(factory=dict)
    """What requests of a kind are refused with, once."""
    asked: list[str] = field(factory=list)
    joined: int = 0
    epochs: list[int] = field(factory=list)
    """Of the sessions' requests, as they came."""
    down: set[Address] = field(factory=set)
    versions: dict[int, tuple[int, int]] = field(factory=lambda: {key: schema_versions(key) for key in KEYS})
    _connected: set[Address] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        member = WorkerMember("g", "m", (TOPIC,))
        self.core = WorkCore([self.addresses[0]], member, self._settle, 10, "0")

    async def _settle(self, job: Job, settlement: Settlement) -> None:
        raise AssertionError("jobs of these tests are settled by hand")

    # -- the other end of the connections

    def run(self, seconds: float = 0.0) -> None:
        """Let time pass, in steps, and answer whatever is asked meanwhile."""
        end = self.now + seconds
        while True:
            self.core.tick(self.now)
            for _ in range(50):
                commands = self.core.take_commands()
                for command in commands:
                    self._carry_out(command)
                if not commands:
                    break
            if self.now >= end:
                return
            self.now = min(max(self.core.wake_at(), self.now + 0.001), end)

    def _carry_out(self, command: Any) -> None:
        address = command.address
        if command.act is Act.CONNECT:
            if address in self.down:
                self.core.lost(address, "refused", self.now)
            else:
                self._connected.add(address)
                self.core.connected(address, self.now)
        elif command.act is Act.HANG_UP:
            self._connected.discard(address)
        elif address in self._connected:
            self._serve(address, command.data)

    def cut(self, address: Address) -> None:
        self._connected.discard(address)
        self.core.lost(address, "cut", self.now)

    def _serve(self, address: Address, data: bytes) -> None:
        while data:
            (size,) = struct.unpack_from(">i", data)
            frame, data = data[4 : 4 + size], data[4 + size :]
            key, version, correlation, _, position = decode_request_header(frame)
            request = request_decoder(key, version)(frame, position)
            answer = self._answer(self.addresses.index(address), key, request)
            body = b"".join(response_encoder(key, version)(answer))  # type: ignore[arg-type]
            start = response_start(key, version)
            self.core.received(address, start.pack(start.size - 4 + len(body), correlation) + body, self.now)

    def _answer(self, node: int, key: int, request: Any) -> Any:
        name = type(request).__name__.removesuffix("Request")
        self.asked.append(name)
        error = self.errors.pop(name, 0)
        if key == 18:
            keys = [ApiVersion(each, *versions) for each, versions in self.versions.items()]
            return ApiVersionsResponse(api_keys=keys)
        if key == 3:
            return self._metadata()
        if key == 10:
            host, port = self.addresses[0]
            return FindCoordinatorResponse(coordinators=[Coordinator("g", 0, host, port, error)])
        if key == 76:
            assigned = TopicPartitions(TOPIC_ID, list(range(self.partitions)))
            self.joined += request.member_epoch == 0
            epoch = -1 if request.member_epoch == -1 else 1
            return ShareGroupHeartbeatResponse(0, error, None, "m", epoch, 5000, Assignment([assigned]))
        self.epochs.append(request.share_session_epoch)
        return self._fetched(node, request, error) if key == 78 else self._acknowledged(request, error)

    def _metadata(self) -> MetadataResponse:
        nodes = [MetadataResponseBroker(index, *address) for index, address in enumerate(self.addresses)]
        partitions = [
            MetadataResponsePartition(0, index, self.leaders.get(index, index)) for index in range(self.partitions)
        ]
        return MetadataResponse(brokers=nodes, topics=[MetadataResponseTopic(0, TOPIC, TOPIC_ID, False, partitions)])

    def _fetched(self, node: int, request: Any, error: int) -> ShareFetchResponse:
        data = []
        for index in range(self.partitions):
            if self.leaders.get(index, index) == node and self.available.get(index) and request.max_records:
                offsets = [self.available[index].pop(0) for _ in self.available[index][: request.max_records]]
                data.append(handed_out(index, offsets))
        self.now += 0.06 if not data else 0
        responses = [ShareFetchableTopicResponse(TOPIC_ID, data)] if data else []
        return ShareFetchResponse(0, error, None, LOCK_MS, [] if error else responses)

    def _acknowledged(self, request: Any, error: int) -> ShareAcknowledgeResponse:
        outcomes = []
        for partition in (each for topic in request.topics for each in topic.partitions):
            kinds = {
                offset: batch.acknowledge_types[offset - batch.first_offset]
                for batch in partition.acknowledgement_batches
                for offset in range(batch.first_offset, batch.last_offset + 1)
            }
            code = next((self.refuse.pop(offset) for offset in sorted(kinds) if offset in self.refuse), 0)
            code = code or (121 if self.gone & kinds.keys() else 0)
            if not code:
                self.settled += [(partition.partition_index, offset, kind) for offset, kind in kinds.items()]
            outcomes.append(AckPartition(partition.partition_index, code))
        return ShareAcknowledgeResponse(0, error, None, LOCK_MS, [ShareAcknowledgeTopicResponse(TOPIC_ID, outcomes)])


def handed_out(index: int, offsets: list[int]) -> PartitionData:
    """These offsets of a partition, one batch each, delivered for the first time."""
    records = b"".join(build_batch([(b"k", b"v%d" % each)], timestamp_ms=7, base_offset=each) for each in offsets)
    acquired = [AcquiredRecords(offset, offset, 1) for offset in offsets]
    return PartitionData(index, records=records, acquired_records=acquired)
