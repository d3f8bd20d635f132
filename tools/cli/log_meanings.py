"""What the broker's own records say, in words: markers, a stage's events, states of transactions and of share
partitions, committed offsets."""

import struct
from collections.abc import Callable, Iterator, Sequence

from coordinators.group import record_formats as group_formats
from coordinators.group.consumer import record_formats as consumer_formats
from coordinators.share import record_formats as share_formats
from coordinators.share.ports import UNCHANGED, DeliveryState, StateBatch
from coordinators.transaction import formats as transaction_formats
from engine.errors import BrokerError
from engine.files.files import Buffer
from engine.records.layout import CONTROL_KEY, BatchHeader, RecordSpan, walk_records
from engine.stage.events import (
    Anchored,
    Cancelled,
    ClockMoved,
    CodecChanged,
    DeadLettered,
    DeadLetterProducer,
    Event,
    Expired,
    Intent,
    Moved,
    Priority,
    Ready,
    Rescheduled,
    StageEventKind,
    read_events,
)
from tools.cli.asked import PRIORITIES
from tools.cli.times import moment_text

TRANSACTIONS, OFFSETS, SHARES = "__transaction_state", "__consumer_offsets", "__share_group_state"
HOLE = 16
UNREADABLE = "cannot be read"
_MARKERS = {0: "abort", 1: "commit", 99: "hole of expired records"}
_SHOWN = 20
# What `__consumer_offsets` holds of groups of the newer protocol, by the version of the key.
_CONSUMER_KINDS = {
    consumer_formats.EPOCH_KEY: "epoch",
    consumer_formats.MEMBER_KEY: "member",
    consumer_formats.TARGET_EPOCH_KEY: "target epoch",
    consumer_formats.TARGET_KEY: "target of",
    consumer_formats.CURRENT_KEY: "assignment of",
    consumer_formats.REGEX_KEY: "pattern",
}
_WITHOUT_MEMBER = (
    consumer_formats.EPOCH_KEY,
    consumer_formats.PARTITION_METADATA_KEY,
    consumer_formats.TARGET_EPOCH_KEY,
)


def meanings(topic: str, header: BatchHeader, section: Buffer) -> Iterator[tuple[RecordSpan, str | None]]:
    """The records of a batch, and what each says; None for those that are a client's."""
    events = (event for event, _ in read_events(header, section)) if header.is_control else iter(())
    decode = _TOPICS.get(topic)
    for span in walk_records(section, header.record_count):
        key, value = bytes(span.key or b""), None if span.value is None else bytes(span.value)
        text = None
        try:
            if header.is_control:
                text = _control(key, events)
            elif decode is not None:
                text = decode(key, value)
        except (BrokerError, ValueError, struct.error, IndexError) as error:
            text = f"{UNREADABLE}: {error}"
        yield span, text


def _control(key: bytes, events: Iterator[Event]) -> str:
    _, kind = CONTROL_KEY.unpack_from(key)
    if kind < StageEventKind.READY:
        return _MARKERS.get(kind, f"control record of kind {kind}")
    event = next(events, None)
    return f"event of kind {kind}" if event is None else event_text(event)


def event_text(event: Event) -> str:
    """An event of a stage in words. Records are named by their numbers, as `tidegate pending list` does."""
    match event:
        case Ready(numbers):
            return f"due: {_numbers(numbers)}"
        case Intent(first_offset, _, pieces):
            shown = ", ".join(_piece(*piece) for piece in pieces[:_SHOWN])
            return f"released at offsets {first_offset}-{event.end_offset - 1}: {shown}"
        case Expired(numbers, dead_letters):
            return f"expired{' to the dead letters' * dead_letters}: {_numbers(numbers)}"
        case Cancelled(numbers):
            return f"cancelled: {_numbers(numbers)}"
        case Rescheduled(number, due_ms, relative):
            return f"moved: #{number} to " + moment_text(due_ms) + " (steady time)" * relative
        case Priority(enabled):
            return f"priorities {'on' if enabled else 'off'}"
        case Moved(row, record):
            return f"copied: #{row.number}, {len(record)} bytes"
        case CodecChanged(codec):
            return f"what follows came in codec {codec}"
        case ClockMoved(ahead_ms):
            return f"clock: {ahead_ms} ms ahead of steady time"
        case Anchored(anchor):
            return f"clock: steady time counts from {moment_text(anchor.origin_us // 1000)} in boot {anchor.boot}"
        case DeadLetterProducer(producer_id):
            return f"dead letters are sent as producer {producer_id}"
        case DeadLettered(numbers):
            return f"among the dead letters: {_numbers(numbers)}"


def _numbers(numbers: tuple[int, ...]) -> str:
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return ", ".join(f"#{number}" for number in numbers[:_SHOWN]) + more


def _piece(lane: int, number: int, count: int) -> str:
    records = f"#{number}" if count == 1 else f"#{number}-#{number + count - 1}"
    if lane >= HOLE:
        return f"{records} (expired)"
    return f"{records} ({PRIORITIES[lane]})" if 0 <= lane < len(PRIORITIES) else records


def _transaction(key: bytes, value: bytes | None) -> str:
    name = transaction_formats.decode_key(key)
    if name is None:
        return "a key of a later version"
    if value is None:
        return f"{name}: forgotten"
    found = transaction_formats.decode_value(name, value)
    places = ",".join(f"{topic}-{index}" for topic, index in sorted(found.partitions))
    text = f"{name}: {found.state.label}, producer {found.producer_id} epoch {found.epoch}"
    return text + (f", in {places}" if places else "")


def _offset(key: bytes, value: bytes | None) -> str:
    kind = group_formats.key_version(key)
    if kind in group_formats.OFFSET_KEY_VERSIONS:
        who = group_formats.decode_offset_key(key)
        said = "forgotten" if value is None else f"offset {group_formats.decode_offset(value).offset}"
        return f"{who.group_id}: {who.topic}-{who.partition} {said}"
    if kind == group_formats.GROUP_KEY_VERSION:
        return _classic_group(group_formats.decode_group_key(key), value)
    what = _CONSUMER_KINDS.get(kind, f"record of kind {kind}")
    gone = ", gone" if value is None else ""
    if kind in _WITHOUT_MEMBER:
        return f"{consumer_formats.decode_group_key(key)}: {what}{gone}"
    group, member = consumer_formats.decode_member_key(key)
    return f"{group}: {what} {member}{gone}"


def _classic_group(group: str, value: bytes | None) -> str:
    if value is None:
        return f"{group}: forgotten"
    found = group_formats.decode_group(value)
    return f"{group}: generation {found.generation}, {len(found.members)} members, {found.protocol or 'no assignor'}"


def _share(key: bytes, value: bytes | None) -> str:
    decoded = share_formats.decode_key(key)
    if decoded is None:
        return "a key of a later version"
    kind, place = decoded
    who = f"{place.group_id}: partition {place.partition_index} of topic {place.topic_id.hex()}"
    if value is None:
        return f"{who} forgotten"
    if kind == share_formats.SNAPSHOT:
        found = share_formats.decode_snapshot(value)
        said, batches = f"from {found.state.start_offset}, state epoch {found.state.state_epoch}", found.state.batches
        return f"{who} {said}, leader epoch {found.state.leader_epoch}{_share_batches(batches)}"
    update = share_formats.decode_update(value)
    start, batches = update.change.start_offset, update.change.batches
    moved = "" if start == UNCHANGED else f" now from {start}"
    return f"{who}{moved}, leader epoch {update.leader_epoch}{_share_batches(batches)}"


def _share_batches(batches: Sequence[StateBatch]) -> str:
    """Which offsets are in which state, as far as they are shown."""
    shown = [f"{_range(each)} {DeliveryState(each.state).name.lower()}" for each in batches[:_SHOWN]]
    more = [f"{len(batches) - _SHOWN} more"] if len(batches) > _SHOWN else []
    return "".join(f", {text}" for text in shown + more)


def _range(batch: StateBatch) -> str:
    first, last = batch.first_offset, batch.last_offset
    return str(first) if first == last else f"{first}-{last}"


_TOPICS: dict[str, Callable[[bytes, bytes | None], str]] = {
    TRANSACTIONS: _transaction,
    OFFSETS: _offset,
    SHARES: _share,
}
