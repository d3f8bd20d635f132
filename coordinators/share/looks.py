"""A look into batches, for what their headers do not tell: when records expire, in which lane they are, what their keys
are.

Most batches are never looked into. Where nothing but expiry matters, an uncompressed batch is searched for the name of
an extension header (one search), and opened only if that is found. What has to be decompressed, or is large, is opened
in a thread. What was found is kept while its batch is in the window.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from attrs import frozen

from coordinators.share.acquiring import ReadSpan
from coordinators.share.log_batches import LogBatch, is_aborted, read_batch
from engine.errors import CorruptMessage, InvalidRecord
from engine.files.files import FileRegion
from engine.log.aborted_index import AbortedTransaction
from engine.records.compression import NONE, TooLargeDecompressed
from engine.records.layout import BatchHeader, RecordSpan, record_section, walk_records
from engine.stage.headers import FOREVER_MS, PRIORITIES, sniff

AT_ONCE_BYTES = 32 * 1024
"""A batch up to this size is looked at on the loop,"""
OPENED_AT_ONCE_BYTES = 128 * 1024
"""if it takes no more than this when it is opened,"""
AT_ONCE_RECORDS = 1000
"""and where every record matters, if it has no more than so many."""
NORMAL_LANE = PRIORITIES.index("normal")
UNREADABLE = 64 * 1024 * 1024
"""A batch that is larger than this when it is opened is handed out unseen."""

_TTL, _EXPIRES_AT, _PRIORITY = b"tide-ttl", b"tide-expires-at", b"tide-priority"
_LANES = {name.encode(): lane for lane, name in enumerate(PRIORITIES)} | {b"%d" % lane: lane for lane in range(5)}


class RecordLook(NamedTuple):
    """What matters of one record."""

    offset: int
    key: bytes | None
    lane: int
    expires_ms: int
    """By the wall clock; `FOREVER_MS` if it does not."""


Looks = tuple[RecordLook, ...]
NOTHING: Looks = ()


@frozen
class LookedFor:
    """What a group has to know of the records of a topic."""

    expiry: bool = False
    lanes: frozenset[int] | None = None
    """Those that are handed out; None: all."""
    keys: bool = False
    counts_lanes: bool = False
    """Whether records of other lanes than the normal one are remembered, to be counted."""

    @property
    def is_thorough(self) -> bool:
        """Whether every record matters, and not only one with headers."""
        return self.keys or self.lanes is not None

    def __bool__(self) -> bool:
        return self.expiry or self.counts_lanes or self.is_thorough


def lanes_of(looked: Mapping[int, Looks], ranges: Iterable[tuple[int, int]]) -> list[int]:
    """How many offsets of some ranges, from first to last, are in each lane, by what was found in their batches; what
    was not found is in the normal one."""
    counts = [0] * len(PRIORITIES)
    others = sorted((look.offset, look.lane) for looks in looked.values() for look in looks if look.lane != NORMAL_LANE)
    for first, last in ranges:
        counts[NORMAL_LANE] += last - first + 1
        for _, lane in others[bisect_left(others, (first, -1)) : bisect_left(others, (last + 1, -1))]:
            counts[lane] += 1
            counts[NORMAL_LANE] -= 1
    return counts


def must_open(wanted: LookedFor, header: BatchHeader, data: bytes) -> bool:
    """Whether a batch may hold what matters."""
    return wanted.is_thorough or header.codec != NONE or sniff(data)


def is_quick(wanted: LookedFor, header: BatchHeader) -> bool:
    """Whether a look may soon be done, on the loop."""
    return header.size <= AT_ONCE_BYTES and (header.record_count <= AT_ONCE_RECORDS or not wanted.is_thorough)


def look_at(wanted: LookedFor, header: BatchHeader, data: bytes, bound: int = UNREADABLE) -> Looks | None:
    """[thread, if it is large] The records that matter; of a batch that cannot be opened, none. None where opening it
    takes more bytes than the bound."""
    if not must_open(wanted, header, data):
        return NOTHING
    try:
        section = record_section(header, memoryview(data), bound)
        if not wanted.is_thorough and not sniff(section):
            return NOTHING
        looks = tuple(_look(header, record) for record in walk_records(section, header.record_count))
    except TooLargeDecompressed:
        return None
    except (InvalidRecord, CorruptMessage):
        return NOTHING
    return looks if wanted.is_thorough else tuple(look for look in looks if _matters(wanted, look))


def _matters(wanted: LookedFor, look: RecordLook) -> bool:
    return look.expires_ms < FOREVER_MS or (wanted.counts_lanes and look.lane != NORMAL_LANE)


def look_at_all(wanted: LookedFor, region: FileRegion, batches: Sequence[LogBatch]) -> dict[int, Looks]:
    """[thread] The same of several, by their base offsets."""
    return {
        batch.header.base_offset: look_at(wanted, batch.header, region.file.pread(batch.header.size, batch.position))
        or NOTHING
        for batch in batches
    }


def look_quickly(
    wanted: LookedFor, region: FileRegion, batches: Sequence[LogBatch], known: Mapping[int, Looks]
) -> tuple[dict[int, Looks], list[LogBatch]]:
    """What is found on the loop, by base offsets; and the batches that a thread has to look at."""
    found: dict[int, Looks] = {}
    rest: list[LogBatch] = []
    for batch in batches:
        header = batch.header
        if header.base_offset in known or not header.record_count or header.is_control:
            continue
        data = read_batch(region, batch) if is_quick(wanted, header) else None
        looks = None if data is None else look_at(wanted, header, data, OPENED_AT_ONCE_BYTES)
        if looks is None:
            rest.append(batch)
        else:
            found[header.base_offset] = looks
    return found, rest


@frozen
class SpanJudge:
    """Which parts of batches are delivered."""

    wanted: LookedFor
    looked: Mapping[int, Looks]
    aborted: Sequence[AbortedTransaction]
    now_ms: int
    has_letters: bool
    """Whether what expires in this topic goes to its dead-letter topic."""

    def spans(self, batches: Sequence[LogBatch]) -> list[ReadSpan]:
        """Of all of them, in order."""
        spans: list[ReadSpan] = []
        for batch in batches:
            header = batch.header
            is_delivered = header.record_count > 0 and not header.is_control
            if is_delivered and self.aborted:
                is_delivered = not is_aborted(header, self.aborted)
            looks = self.looked.get(header.base_offset, NOTHING) if is_delivered and self.wanted else NOTHING
            if looks and not self._are_all_delivered(header, looks):
                spans += self._parts(header, looks)
            else:
                spans.append(ReadSpan(header.base_offset, header.last_offset, is_delivered))
        return spans

    def keys(self, batches: Sequence[LogBatch]) -> dict[int, bytes | None]:
        """By offset."""
        return {
            look.offset: look.key for batch in batches for look in self.looked.get(batch.header.base_offset, NOTHING)
        }

    def _are_all_delivered(self, header: BatchHeader, looks: Looks) -> bool:
        if self.wanted.is_thorough and len(looks) <= header.last_offset_delta:
            return False
        return all(self._is_wanted(look) and look.expires_ms > self.now_ms for look in looks)

    def _is_wanted(self, look: RecordLook) -> bool:
        return self.wanted.lanes is None or look.lane in self.wanted.lanes

    def _parts(self, header: BatchHeader, looks: Looks) -> list[ReadSpan]:
        """Neighbours with the same fate."""
        known = {look.offset: look for look in looks}
        parts: list[ReadSpan] = []
        for offset in range(header.base_offset, header.last_offset + 1):
            part = self._part(offset, known.get(offset))
            if parts and parts[-1][2:] == part[2:]:
                parts[-1] = parts[-1]._replace(last_offset=offset)
            else:
                parts.append(part)
        return parts

    def _part(self, offset: int, look: RecordLook | None) -> ReadSpan:
        if look is None:
            # Compaction has taken it; or, where only what expires was looked for, nothing is to be said of it.
            return ReadSpan(offset, offset, not self.wanted.is_thorough)
        if not self._is_wanted(look):
            return ReadSpan(offset, offset, False)
        if look.expires_ms <= self.now_ms:
            return ReadSpan(offset, offset, False, True, self.has_letters)
        return ReadSpan(offset, offset)


def _look(header: BatchHeader, record: RecordSpan) -> RecordLook:
    lane, expires_ms = NORMAL_LANE, FOREVER_MS
    # A released batch has the time of its release as its base: a time to live runs from there.
    since_ms = max(header.base_timestamp + record.timestamp_delta, header.base_timestamp)
    if header.is_log_append_time:
        since_ms = header.max_timestamp
    for name, value in record.headers:
        if value is None:
            continue
        if name == _PRIORITY:
            lane = _LANES.get(bytes(value), lane)
        elif name == _TTL:
            expires_ms = min(since_ms + _number(bytes(value)), FOREVER_MS)
        elif name == _EXPIRES_AT:
            expires_ms = min(_number(bytes(value)), FOREVER_MS)
    key = record.key
    offset = header.base_offset + record.offset_delta
    return RecordLook(offset, None if key is None else bytes(key), lane, expires_ms)


def _number(value: bytes) -> int:
    """What cannot be a number was checked when it came; it counts as never."""
    return int(value) if value.isdigit() and len(value) <= 19 else FOREVER_MS
