"""A client's batch on its way to a partition that has a stage, and what becomes of it."""

from collections.abc import Callable, Sequence

from attrs import evolve, frozen

from coordinators.release.stage_traces import NO_CLIENT, Client
from engine.errors import BrokerError
from engine.files.files import Buffer
from engine.log.log import AppendResult
from engine.log.types import Origin
from engine.records.opened import OpenedRecords
from engine.stage.headers import OpenedRecord


@frozen
class Staged:
    """A client's batch was taken by the stage. Durable once the stage is so far, and the log where it was written
    besides."""

    last_number: int
    log_end_offset: int | None


Outcome = AppendResult | Staged | BrokerError
Answer = Callable[[Outcome], object]


@frozen
class ClientBatch:
    """A batch as it came, its records uncompressed, and opened if they may ask for something.

    `hold` says that they ask for what only the stage can do; others go there only with everything else."""

    records: memoryview | bytes
    section: Buffer
    opened: Sequence[OpenedRecord] | None = None
    hold: bool = False
    shows_lanes: bool = True
    """Whether `priority.enable` was on when it was opened."""
    is_letter: bool = False
    """A dead letter of another topic: its headers were obeyed there, and it does not expire a second time."""
    client: Client = NO_CLIENT
    known: OpenedRecords | None = None
    """What was found out about the section already."""

    @property
    def origin(self) -> Origin:
        """As a log sees it."""
        return Origin.LETTER if self.is_letter else Origin.CLIENT

    def copied(self) -> "ClientBatch":
        """The same in memory of its own."""
        section = bytes(self.section)
        known = None if self.known is None else evolve(self.known, section=section)
        return evolve(self, records=bytes(self.records), section=section, known=known)
