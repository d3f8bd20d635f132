"""What becomes of a client's batch in a partition that has a stage."""

from collections.abc import Callable

from attrs import frozen

from engine.errors import BrokerError
from engine.log.log import AppendResult


@frozen
class Staged:
    """A client's batch was taken by the stage. Durable once the stage is so far, and the log where it was written
    besides."""

    last_number: int
    log_end_offset: int | None


Outcome = AppendResult | Staged | BrokerError
Answer = Callable[[Outcome], object]
