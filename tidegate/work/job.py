"""A job: one record that this worker has for a while, and how it ends."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from enum import IntEnum
from types import TracebackType

from attrs import define, field


class WorkError(Exception):
    """The worker cannot go on: the broker refuses it, or says what is not understood."""


class JobLost(WorkError):
    """It is not known to be settled: its lock ran out, or the broker that had lent it is gone. It comes again."""


class JobSettled(WorkError):
    """It was acknowledged, released or rejected before."""


class Settlement(IntEnum):
    """Kafka's numbers for what becomes of a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


MAX_DELAY_S = 7 * 24 * 3600
"""However long a group allows (`share.release.backoff.max.ms`)."""

Place = tuple[bytes, int]
"""A partition: the id of its topic, and its number."""
Settle = Callable[["Job", Settlement], Awaitable[None]]


@define(eq=False)
class Job:
    """One record. It is this worker's until it is settled; meanwhile its lock is renewed.

    `async with job:` acknowledges it at the end of the block and, where that raises, releases it to be tried again.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int
    delivery_count: int
    """1 the first time it is handed out, to whomever."""
    _place: Place = field(repr=False)
    _settle: Settle = field(repr=False)
    settled: Settlement | None = field(default=None, init=False)
    """What it was, or is being, settled as."""
    delay_ms: int | None = field(default=None, init=False)
    """For how long it is to wait, where it is released and not as long as the group's keys say."""
    is_lost: bool = field(default=False, init=False)
    """Whether it is known that somebody else may have it by now."""

    @property
    def place(self) -> Place:
        """The partition that it lies in."""
        return self._place

    @property
    def timestamp(self) -> datetime:
        """When it was made, or appended, as its topic has it."""
        return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC)

    async def ack(self) -> None:
        """It is done. Returns when the broker has made that durable; `JobLost` if it may come again."""
        await self._settle(self, Settlement.ACCEPT)

    async def release(self, delay: float | None = None) -> None:
        """Somebody should try it again, this worker perhaps; with a delay, not before so many seconds are over. Without
        one the group's keys say when. A broker that is not Tidegate gives it out at once."""
        if delay is not None and not 0 <= delay <= MAX_DELAY_S:
            raise ValueError(f"a delay of {delay} s: from 0 to {MAX_DELAY_S} are possible")
        if self.settled is None:
            self.delay_ms = None if delay is None else round(delay * 1000)
        await self._settle(self, Settlement.RELEASE)

    async def reject(self) -> None:
        """It cannot be done: it goes where the group's dead letters go, and is not tried again."""
        await self._settle(self, Settlement.REJECT)

    async def __aenter__(self) -> "Job":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.settled is not None:
            return
        if error is None:
            await self.ack()
        elif isinstance(error, Exception):
            await self.release()
        # Else the task is being cancelled: the end of the worker releases it.
