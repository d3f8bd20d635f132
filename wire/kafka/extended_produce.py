"""Batches that ask for more than Kafka offers (`tide-` headers), and those that must queue behind such.

A batch is opened only if its bytes contain `tide-`; compressed ones are decompressed to see that, within bounds, and in
a thread where it takes long (wire/kafka/opening.py). A producer whose batch was staged is told no offset, for there is
none yet: base offset -1. librdkafka, franz-go and aiokafka add a record's place in the batch to it; they are told a
base so far below zero that no sum looks like an offset.
"""

from collections.abc import Callable, Sequence

import trio

from coordinators.release.client_batch import Outcome, Staged
from coordinators.topics import Topic
from engine.files.files import Buffer
from engine.log.log import AppendResult
from engine.partition.partition import Partition
from engine.records.batch import Batch
from engine.stage.config import ExtensionConfig
from engine.stage.headers import OpenedRecord, open_records, sniff
from wire.kafka.messages.produce import PartitionProduceResponse
from wire.kafka.opening import Opening, check_asking, open_in_haste
from wire.kafka.record_services import ProduceServices
from wire.kafka.request import Context

NO_OFFSET = -1
FAR_BELOW_ZERO = -(2**40)
ADDING_CLIENTS = ("librdkafka", "confluent-kafka", "rust-rdkafka", "kgo", "franz-go", "aiokafka")
"""How clients name themselves that add a record's place to whatever base offset they get."""


class ExtendedProduce:
    """The extended side of one request."""

    __slots__ = ("_taken", "context", "opening", "services")

    def __init__(self, context: Context, services: ProduceServices, opening: Opening | None = None) -> None:
        self.context = context
        self.services = services
        self.opening = opening
        self._taken: trio.Event | None = None
        """Set when the stage has taken, or refused, what it was handed last."""

    def known(self, records: Buffer) -> Batch | None:
        """The batch if something was found out about it, or raise why it is refused."""
        found = None if self.opening is None else self.opening.found(records)
        return None if found is None else found.content()

    def must_pass_stage(self, topic: Topic, partition: Partition, batch: Batch) -> bool:
        """Whether the batch has to pass through the stage or queue behind it; else it may go straight to the log."""
        config = self.services.releases.config(topic)
        staged = partition.staged
        in_the_way = staged is not None and staged.in_the_way
        if not config.extensions_enable and not in_the_way:
            return False
        if batch.opened is None and batch.codec:
            open_in_haste(batch)
        if config.extensions_enable and (batch.asked is not None or sniff(batch.section())):
            if batch.asked is None:
                self._open(batch, config)
            assert batch.asked is not None
            batch.hold = _must_hold(batch.asked)
        batch.shows_lanes = config.priority_enable != "false"
        return bool(batch.hold or in_the_way or config.priority_enable == "true")

    def _open(self, batch: Batch, config: ExtensionConfig) -> None:
        batch.verify()
        count = batch.header.record_count
        check_asking(count, config)
        batch.asked = open_records(batch.section(), count, config.header_rules, self.services.clock.now_ms())

    async def until_taken(self) -> None:
        """Wait until the stage, if it was handed a batch, needs its bytes no more."""
        if self._taken is not None:
            await self._taken.wait()

    def unknown_offset(self) -> int:
        """What this client is told as the base offset of a batch that has none yet."""
        # aiokafka speaks an ApiVersions too old to name itself in; there is only the client id that it makes up.
        name = self.context.peer.software_name or self.context.client_id or ""
        return FAR_BELOW_ZERO if name.startswith(ADDING_CLIENTS) else NO_OFFSET

    def append(
        self,
        topic: Topic,
        partition: Partition,
        batch: Batch,
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
            taken.set()

        taken = self._taken = trio.Event()
        self.services.releases.stage_of(partition, topic).append(batch, answer, deadline)


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
