"""Batches that ask for more than Kafka offers (`tide-` headers), and those that must queue behind such.

A batch is opened only if its bytes contain `tide-`; compressed ones are decompressed to see that, within a bound, and
in a thread where they are large. A producer whose batch was staged is told no offset, for there is none yet: base
offset -1. librdkafka, franz-go and aiokafka add a record's place in the batch to it; they are told a base so
far below zero that no sum looks like an offset.
"""

from collections.abc import Callable, Sequence

from coordinators.release.stage_traces import Client
from coordinators.release.staged import ClientBatch, Outcome, Staged
from coordinators.topics import Topic
from engine.compression import TooLargeDecompressed, decompress
from engine.errors import BrokerError, CorruptMessage, RecordTooLarge
from engine.files import Buffer
from engine.log import AppendResult
from engine.opened_records import OpenedRecords
from engine.partition import Partition
from engine.records import CODEC_MASK, HEADER_SIZE, checksum, parse_header
from engine.stage.config import ExtensionConfig
from engine.stage.headers import OpenedRecord, open_records, sniff
from wire.kafka.messages.produce import PartitionProduceResponse, ProduceRequest
from wire.kafka.request import Context

NO_OFFSET = -1
FAR_BELOW_ZERO = -(2**40)
ADDING_CLIENTS = ("librdkafka", "confluent-kafka", "rust-rdkafka", "kgo", "franz-go", "aiokafka")
"""How clients name themselves that add a record's place to whatever base offset they get."""

LARGE_BYTES = 64 * 1024
"""A compressed batch of this size is opened in a thread."""

FIRST_TOPIC_ID_VERSION = 13
_ATTRIBUTES_POSITION = 21


def has_large(request: ProduceRequest) -> bool:
    """Whether any batch should be opened in a thread."""
    for topic_data in request.topic_data:
        for data in topic_data.partition_data:
            records = data.records
            if records is not None and len(records) > LARGE_BYTES and records[_ATTRIBUTES_POSITION + 1] & CODEC_MASK:
                return True
    return False


class ExtendedProduce:
    """The extended side of one request."""

    __slots__ = ("_sections", "context", "opened")

    def __init__(self, context: Context) -> None:
        self.context = context
        self._sections: dict[int, Buffer | BrokerError] | None = None
        """Records of large batches that were decompressed beforehand, by the identity of the batch."""
        self.opened: OpenedRecords | None = None
        """The records of the batch that was examined last, if it was compressed and has been opened."""

    async def open_large(self, request: ProduceRequest) -> None:
        """Decompress what is large, away from the loop."""
        node = self.context.node
        by_id = self.context.version >= FIRST_TOPIC_ID_VERSION
        sections = self._sections = {}
        # Another connection fills the shared buffer, where they lie, as soon as this task sleeps.
        for topic_data in request.topic_data:
            for data in topic_data.partition_data:
                data.records = None if data.records is None else bytes(data.records)
        for topic_data in request.topic_data:
            topics = node.topics
            topic = topics.by_id.get(topic_data.topic_id) if by_id else topics.by_name.get(topic_data.name)
            for data in topic_data.partition_data if topic is not None else ():
                assert topic is not None
                records = data.records
                if records is None or len(records) <= LARGE_BYTES:
                    continue
                config = node.releases.config(topic)
                codec = records[_ATTRIBUTES_POSITION + 1] & CODEC_MASK
                if codec and config.extensions_enable:
                    sections[id(records)] = await node.in_thread(_decompressed, codec, records, config)

    def examine(
        self, topic: Topic, partition: Partition, records: memoryview | bytes, attributes: int
    ) -> ClientBatch | None:
        """The batch if it has to pass through the stage or queue behind it; None if it may go straight to the log."""
        self.opened = None
        config = self.context.node.releases.config(topic)
        staged = partition.staged
        in_the_way = staged is not None and staged.in_the_way
        if not config.extensions_enable and not in_the_way:
            return None
        codec = attributes & CODEC_MASK
        section: Buffer
        if codec:
            section = self._section(codec, records, config)
            self.opened = OpenedRecords(section)
        else:
            section = memoryview(records)[HEADER_SIZE:]
        opened, hold = None, False
        if config.extensions_enable and sniff(section):
            opened = self._open(records, section, config)
            hold = _must_hold(opened)
        if not hold and not in_the_way and config.priority_enable != "true":
            return None
        shows_lanes = config.priority_enable != "false"
        return ClientBatch(records, section, opened, hold, shows_lanes, client=self._client(), known=self.opened)

    def _client(self) -> Client:
        return Client(self.context.client_id, self.context.peer.address)

    def _section(self, codec: int, records: Buffer, config: ExtensionConfig) -> Buffer:
        found = None if self._sections is None else self._sections.get(id(records))
        if found is None:
            found = _decompressed(codec, records, config)
        if isinstance(found, BrokerError):
            raise found
        return found

    def _open(self, records: Buffer, section: Buffer, config: ExtensionConfig) -> Sequence[OpenedRecord]:
        header = parse_header(records)
        if checksum(memoryview(records)) != header.crc:
            raise CorruptMessage(f"the batch's checksum is not {header.crc:#010x}")
        return open_records(section, header.record_count, config.header_rules, self.context.node.clock.now_ms())

    def unknown_offset(self) -> int:
        """What this client is told as the base offset of a batch that has none yet."""
        # aiokafka speaks an ApiVersions too old to name itself in; there is only the client id that it makes up.
        name = self.context.peer.software_name or self.context.client_id or ""
        return FAR_BELOW_ZERO if name.startswith(ADDING_CLIENTS) else NO_OFFSET

    def append(
        self,
        topic: Topic,
        partition: Partition,
        batch: ClientBatch,
        entry: PartitionProduceResponse,
        then: Callable[[Outcome], object],
        deadline: float,
    ) -> None:
        """Hand the batch to the stage; `then` is called with the outcome, which `entry` shows already."""

        def answer(outcome: Outcome) -> None:
            if isinstance(outcome, AppendResult):
                entry.base_offset = outcome.base_offset
                entry.log_append_time_ms = outcome.append_time_ms
                entry.log_start_offset = outcome.start_offset
            elif isinstance(outcome, Staged):
                entry.base_offset = self.unknown_offset()
                entry.log_start_offset = partition.log.start_offset
            then(outcome)

        self.context.node.releases.stage_of(partition, topic).append(batch, answer, deadline)


def _decompressed(codec: int, records: Buffer, config: ExtensionConfig) -> Buffer | BrokerError:
    """[thread] The records of a compressed batch, or why they cannot be had."""
    try:
        return decompress(codec, memoryview(records)[HEADER_SIZE:], config.extensions_max_decompressed_bytes)
    except TooLargeDecompressed as error:
        # Not as damaged, which clients send again and again; a batch too large they split, if they can.
        return RecordTooLarge(f"{error}, which is the topic's extensions.max.decompressed.bytes")
    except BrokerError as error:
        return error


def _must_hold(opened: Sequence[OpenedRecord]) -> bool:
    """Whether any record asks for what only the stage can do. A time to live alone concerns whoever delivers it."""
    for _, _, _, directive in opened:
        if (
            directive.delay_ms is not None
            or directive.deliver_at_ms is not None
            or directive.cancel is not None
            or directive.schedule_id is not None
            or directive.priority is not None
        ):
            return True
    return False
