"""Records on their way from a broker: which are shown, how far one is, and when it is enough."""

import asyncio
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field, frozen

from tools.cli.answers import Answers
from tools.cli.asked import as_given
from tools.cli.errors import CannotReach, CliError, UsageMistake
from tools.cli.formats import Record
from tools.cli.kafka import causes_of_failure
from tools.cli.offsets import Place
from tools.cli.progress import Progress

POLL_MS = 200


@frozen
class Filter:
    """Which records are shown."""

    key: "re.Pattern[bytes] | None" = None
    value: "re.Pattern[bytes] | None" = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def takes(self, record: Record) -> bool:
        """Whether everything that is asked for holds."""
        if self.key is not None and (record.key is None or not self.key.search(record.key)):
            return False
        if self.value is not None and (record.value is None or not self.value.search(record.value)):
            return False
        return all(
            any(name == known and wanted in (None, value) for known, value in record.headers)
            for name, wanted in self.headers
        )


def pattern(text: str | None) -> "re.Pattern[bytes] | None":
    """A regular expression for bytes."""
    if text is None:
        return None
    try:
        return re.compile(as_given(text))
    except re.error as error:
        raise UsageMistake(f"{text!r} is no regular expression: {error}", "quote it for the shell") from None


@define
class Reading:
    """How far one is, and when it is enough."""

    write: Callable[[Record], None]
    filter: Filter
    progress: Progress
    count_max: int | None = None
    stops: dict[Place, int] | None = None
    idle_s: float | None = None
    on_end: Callable[[], None] | None = None
    """Told once where records have come to an end and more are waited for."""
    on_lost: Callable[[], None] | None = None
    """Told when the broker has gone while one follows it, which goes on when it is back."""
    timeout_s: float = 15.0
    shown: int = 0
    last_s: float = 0.0
    answers: Answers = field(factory=Answers)
    _lost_s: float | None = None
    _came_s: float | None = None

    @property
    def is_full(self) -> bool:
        """Whether as many were shown as were asked for."""
        return self.count_max is not None and self.shown >= self.count_max

    def look(self, has_records: bool) -> None:
        """Whether the broker is still there: a connection that fails is tried again, for ever."""
        now_s = time.monotonic()
        if has_records or self._came_s is None:
            self._came_s = now_s
        if has_records:
            self._lost_s = None
        elif causes_of_failure() is not None and self._lost_s is None:
            self._lost_s = now_s
            if self.stops is None and self.on_lost is not None:
                self.on_lost()
        if self._lost_s is not None and self.stops is not None and now_s - self._lost_s > self.timeout_s:
            raise CannotReach("the broker has gone before all was read", "see 'tidegate status', and --timeout")
        if self.stops is not None and self.answers.last is not None and now_s - self._came_s > self.timeout_s:
            raise self.answers.given_up("no more of what is there was given", self.timeout_s)

    def take(self, record: Record) -> None:
        """Show a record, if it is one of those that are wanted."""
        self.last_s = time.monotonic()
        if self.stops is not None and record.offset >= self.stops.get((record.topic, record.partition), record.offset):
            return
        if self.filter.takes(record):
            self.write(record)
            self.shown += 1


def set_out(reading: Reading, starts: Mapping[Place, int]) -> None:
    """What there is to read is known: a bar can tell how much of it is done."""
    if reading.stops is not None:
        total = sum(max(0, stop - starts.get(place, stop)) for place, stop in reading.stops.items())
        reading.progress.total = min(total, reading.count_max or total)


async def joined(consumer: Any, timeout_s: float) -> None:
    """Wait until the group has given partitions to this member."""
    deadline = time.monotonic() + timeout_s
    while not consumer.assignment():
        if time.monotonic() > deadline:
            raise CliError(f"the group gave no partition within {timeout_s:g} s", "see 'tidegate group describe GROUP'")
        await asyncio.sleep(0.05)


async def read(consumer: Any, reading: Reading) -> None:
    """Read until it is enough."""
    reading.last_s = time.monotonic()
    while not reading.is_full and not await _is_at_stop(consumer, reading):
        left = None if reading.count_max is None else reading.count_max - reading.shown
        found = await consumer.getmany(timeout_ms=POLL_MS, max_records=left if reading.filter == Filter() else None)
        for records in found.values():
            for each in records:
                if not reading.is_full:
                    reading.take(record_of(each))
            reading.progress.advance(len(records))
        reading.look(bool(found))
        if found:
            # Once for what came together: a record at a time would be slow, and a buffer that fills late.
            sys.stdout.flush()
        elif reading.on_end is not None and reading.stops is None:
            reading.on_end()
            reading.on_end = None
        if reading.idle_s is not None and time.monotonic() - reading.last_s > reading.idle_s:
            return


async def _is_at_stop(consumer: Any, reading: Reading) -> bool:
    """Whether every partition is where it was to end: by position, since offsets may be missing at the end."""
    if reading.stops is None:
        return False
    for place in consumer.assignment():
        stop = reading.stops.get((place.topic, place.partition))
        if stop is None:
            continue
        what = f"it is not known where to begin in {place.topic}-{place.partition}"
        if await reading.answers.within(reading.timeout_s, consumer.position(place), what) < stop:
            return False
    return True


def record_of(message: Any) -> Record:
    """A record as aiokafka gives it."""
    return Record(
        message.topic,
        message.partition,
        message.offset,
        message.timestamp,
        message.key,
        message.value,
        tuple(message.headers),
    )
