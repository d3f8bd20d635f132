"""What a log has to do with producers whose batches go to its partition's stage: one producer state is fed by both."""

from engine.clock import Clock
from engine.log.producer_state import BatchMark
from engine.log.transactions import EndMarker
from engine.log.types import LogConfig
from engine.log.validation import accept
from engine.log.view import LogView
from engine.records.batch import Batch
from engine.records.layout import NO_PRODUCER_ID, BatchHeader


class StagedProducers(LogView):
    """The part of a `Log` that its stage uses."""

    _clock: Clock
    _config: LogConfig

    def check_batch(self, batch: Batch) -> BatchMark | None:
        """Ask of a batch that goes to the stage what an append would ask; the original, if it is a retry."""
        now_ms = self._clock.now_ms()
        return accept((batch,), self._config, self._producers, self.end_offset, now_ms, self.name)[1]

    def note_staged(self, header: BatchHeader) -> None:
        """A batch of this producer went to the stage: one producer state is fed by both logs."""
        if header.producer_id != NO_PRODUCER_ID:
            self._producers.note_elsewhere(header, self._clock.now_ms())

    def check_marker(self, header: BatchHeader, marker: EndMarker) -> None:
        """Raise unless this coordinator may end this producer's transaction."""
        self._producers.check_coordinator(header, marker.coordinator_epoch)

    def note_staged_marker(self, header: BatchHeader, marker: EndMarker) -> None:
        """A transaction was ended in the stage alone."""
        self._producers.end_transaction(header, marker.coordinator_epoch, self._clock.now_ms())

    def join_producers(self, stage: "StagedProducers") -> None:
        """After both were opened, or the stage was cut: what the stage remembers of producers counts here, and what it
        remembers no more does not."""
        self._producers.forget_elsewhere()
        self._producers.merge(stage._producers)
