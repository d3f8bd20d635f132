"""Who wants to know what becomes of staged records."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from engine.files.files import Buffer
from engine.records.batch import Publisher
from engine.stage.events import Intent
from engine.stage.headers import OpenedRecord
from engine.stage.pending import PendingRow
from engine.stage.state import StateObserver


class StageObserver(StateObserver, Protocol):
    """Called on the loop; must not wait."""

    def held(
        self,
        section: Buffer,
        opened: Sequence[OpenedRecord] | None,
        first_number: int,
        received_ms: int,
        publisher: Publisher,
    ) -> None:
        """A client's batch was staged, its first record as `first_number`."""

    def released(self, intent: Intent, rows: Mapping[int, PendingRow]) -> None:
        """These were just appended to the log."""
