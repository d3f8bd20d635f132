"""What happens to traced records in a stage, told to their traces."""

from collections.abc import Mapping, Sequence

from attrs import define

from coordinators.topic_view import Topic, TopicView
from coordinators.tracing.tracing import Tracing
from engine.files.files import Buffer
from engine.partition.durable_log import DurableLog
from engine.records.batch import Publisher
from engine.stage.events import Intent
from engine.stage.fates import FateKind
from engine.stage.headers import OpenedRecord
from engine.stage.pending import PendingRow
from engine.stage.stage import Stage
from engine.stage.state import HOLE, NORMAL_LANE, due_time
from engine.trace.context import TraceContext
from engine.trace.kinds import EventKind
from engine.trace.sniff import mark_in, with_context, without_context

TRACED_TOGETHER = 100
"""How many records of one batch are looked at for a trace, at most."""


@define(eq=False)
class StageTraces:
    """The traces of one partition's staged records."""

    tracing: Tracing
    topics: TopicView
    partition: DurableLog
    stage: Stage

    @property
    def _topic(self) -> Topic | None:
        return self.topics.by_id.get(self.partition.topic_id)

    def held(
        self,
        section: Buffer,
        opened: Sequence[OpenedRecord] | None,
        first_number: int,
        received_ms: int,
        publisher: Publisher,
    ) -> None:
        """Begin the traces of a batch: of the records that ask for one, or its first if the topic samples it."""
        topic = self._topic
        if topic is None:
            return
        in_lanes = self.stage.prioritised
        mark = mark_in(section)
        found = with_context(section, mark, TRACED_TOGETHER) if mark >= 0 else []
        # The first speaks for its batch, unless its producer has said no.
        for delta, key, context in found or without_context(section, [0]):
            due_ms, lane = None, NORMAL_LANE
            if opened is not None and delta < len(opened):
                directive = opened[delta].directive
                if directive.cancel is not None:
                    continue
                due, _ = due_time(directive, received_ms)
                due_ms = due if due >= 0 else None
                lane = NORMAL_LANE if directive.priority is None else directive.priority
            self.tracing.staged(
                topic,
                self.partition.index,
                first_number + delta,
                _header(context),
                due_ms,
                lane if in_lanes else None,
                key=key,
                client_id=publisher.client_id,
                address=publisher.address,
                door=publisher.door,
                store=self.stage.store,
            )

    def ready(self, row: PendingRow) -> None:
        """It is due, and waits for a reader."""
        self._tell(row.number, EventKind.DELAY_READY)
        self._tell(row.number, EventKind.PRIORITY_QUEUED, lane=row.lane)

    def ended(self, row: PendingRow, kind: FateKind) -> None:
        """It will not be released."""
        cancelled = kind is FateKind.CANCELLED
        for number in range(row.number + row.skip, row.number + row.count):
            self._tell(number, EventKind.DELAY_CANCELLED if cancelled else EventKind.DELAY_EXPIRED)

    def dead_lettered(self, row: PendingRow) -> None:
        """It is in the dead-letter topic."""
        for number in range(row.number, row.number + row.count):
            self._tell(number, EventKind.DLQ_ROUTED)

    def released(self, intent: Intent, rows: Mapping[int, PendingRow]) -> None:
        """From now on the log's offsets name them."""
        offset = intent.first_offset
        in_lanes = self.stage.prioritised
        kind = EventKind.PRIORITY_RELEASED if in_lanes else EventKind.DELAY_READY
        for piece in intent.pieces:
            if piece.lane < HOLE:
                lane = rows[piece.number].lane if in_lanes else None
                for number in range(piece.number, piece.number + piece.count):
                    self._tell(number, kind, offset=offset + number - piece.number, lane=lane)
            offset += piece.count

    def _tell(self, number: int, kind: EventKind, *, offset: int | None = None, lane: int | None = None) -> None:
        topic = self._topic
        if topic is None or self.tracing.store.staged(topic.name, self.partition.index, number) is None:
            return
        released_to = self.partition if offset is not None else None
        self.tracing.stage_event(
            topic, self.partition.index, number, kind, released_to=released_to, offset=offset, lane=lane
        )


def _header(context: TraceContext | None) -> bytes | None:
    return None if context is None else f"00-{context.trace_id}-{context.parent_id}-01".encode()
