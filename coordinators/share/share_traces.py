"""What happens to traced records in a share group, noted in their timelines (`coordinators/tracing/`).

A share partition without a traced record pays one look into a table for whatever it does. What members say is noted
when it is durable, what the broker does by itself at once. How many events a record can have is bounded by its trace.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from attrs import frozen

from coordinators.share.acks import AckBatch, AckType
from coordinators.share.ports import SharePlace
from coordinators.share.runs import OffsetRun
from coordinators.tracing.tracing import Tracing
from engine.trace.kinds import EventKind
from engine.trace.record_trace import RecordTrace

KINDS = {
    AckType.ACCEPT: EventKind.CONSUME_ACKED,
    AckType.RELEASE: EventKind.CONSUME_NACKED,
    AckType.REJECT: EventKind.CONSUME_REJECTED,
    AckType.RENEW: EventKind.VISIBILITY_EXTENDED,
}
"""A gap is nobody's record."""

TAKEN_BACK = "taken back from the member"


class Noting(NamedTuple):
    """An event to be noted, once it has come to pass."""

    trace: RecordTrace
    kind: EventKind
    attributes: dict[str, Any]


Notings = Sequence[Noting]


@frozen(eq=False)
class ShareTraces:
    """See the module. Of one share partition; without tracing there are none."""

    tracing: Tracing | None
    place: SharePlace
    topic: str

    @property
    def any(self) -> bool:
        """Whether a record of the partition is traced."""
        tracing = self.tracing
        return tracing is not None and tracing.store.partition(self.topic, self.place.partition_index) is not None

    def _between(self, first: int, last: int) -> Iterable[RecordTrace]:
        held = None if self.tracing is None else self.tracing.store.partition(self.topic, self.place.partition_index)
        return () if held is None or first > held.offsets[-1] else held.between(first, last + 1)

    def _said(self, member_id: str, **more: Any) -> dict[str, Any]:
        return {"group": self.place.group_id, "member_id": member_id, **more}

    def note(self, notings: Notings) -> None:
        """These have come to pass."""
        if self.tracing is not None:
            for noting in notings:
                self.tracing.note(*noting)

    def handed_out(
        self, taken: Iterable[tuple[int, int, int]], member_id: str, client_id: str | None, address: str
    ) -> None:
        """A member was given these: first and last offsets, and the number of the attempt."""
        if self.any:
            for first, last, count in taken:
                said = self._said(member_id, client_id=client_id, address=address, delivery_count=count)
                self.note([Noting(trace, EventKind.CONSUME_FETCHED, said) for trace in self._between(first, last)])

    def acknowledged(self, member_id: str, batches: Iterable[AckBatch], start: int) -> tuple[Notings, Notings]:
        """What to note of acknowledgements at or above the window's start: renewals at once, the others once they are
        durable. Found before the window takes them."""
        renewed: list[Noting] = []
        settled: list[Noting] = []
        for batch in batches if self.any else ():
            for trace in self._between(max(batch.first_offset, start), batch.last_offset):
                assert trace.offset is not None
                one_for_all = len(batch.types) == 1
                kind = AckType(batch.types[0] if one_for_all else batch.types[trace.offset - batch.first_offset])
                if kind is AckType.RENEW:
                    renewed.append(Noting(trace, KINDS[kind], self._said(member_id)))
                elif kind is not AckType.GAP:
                    own = {} if batch.backoff_ms is None else {"backoff_ms": batch.backoff_ms}
                    said = self._said(member_id, **own if kind is AckType.RELEASE else {})
                    settled.append(Noting(trace, KINDS[kind], said))
        return renewed, settled

    def timed_out(self, run: OffsetRun) -> None:
        """Its lock has run out."""
        self.note(self._of_runs(EventKind.VISIBILITY_TIMEOUT, [run]))

    def taken_back(self, runs: Iterable[OffsetRun]) -> Notings:
        """What to note of records whose member is gone, or has to give them up."""
        return self._of_runs(EventKind.CONSUME_NACKED, runs, reason=TAKEN_BACK)

    def _of_runs(self, kind: EventKind, runs: Iterable[OffsetRun], **more: str) -> Notings:
        return [
            Noting(trace, kind, self._said(run.owner, delivery_count=run.count, **more))
            for run in runs
            for trace in self._between(run.first, run.last)
        ]

    def dead_lettered(self, reasons: Iterable[tuple[int, str]]) -> None:
        """Records that the group has given up, by offset and reason, are in the dead-letter topic."""
        if self.any:
            for offset, reason in reasons:
                said = {"group": self.place.group_id, "reason": reason}
                self.note([Noting(trace, EventKind.DLQ_ROUTED, said) for trace in self._between(offset, offset)])
