"""What the broker's own records say."""

import pytest

from coordinators.group.record_formats import OffsetKey, OffsetValue, encode_group_key, encode_offset, encode_offset_key
from coordinators.share.ports import DeliveryState, ShareChange, SharePlace, ShareState, StateBatch
from coordinators.share.record_formats import ShareSnapshot, ShareUpdate, snapshot_record, update_record
from coordinators.share.record_formats import tombstone as forgotten
from coordinators.transaction.formats import record as transaction_record
from coordinators.transaction.formats import tombstone
from coordinators.transaction.transaction import Transaction, TransactionState
from engine.log.transactions import EndMarker, build_marker
from engine.records.layout import CONTROL_FLAG, build_batch, parse_header, record_section
from engine.stage.events import (
    Anchored,
    Cancelled,
    ClockMoved,
    DeadLettered,
    DeadLetterProducer,
    Event,
    Expired,
    Intent,
    Priority,
    Ready,
    Rescheduled,
    build_events,
)
from engine.stage.lanes import Piece
from engine.stage.steady_clock import Anchor
from tools.cli.log_meanings import meanings


def said(batch: bytes, topic: str = "orders") -> list[str | None]:
    header = parse_header(batch)
    return [text for _, text in meanings(topic, header, record_section(header, memoryview(batch)))]


def test_a_clients_record_says_nothing() -> None:
    assert said(build_batch([(b"k", b"v")], timestamp_ms=17)) == [None]


@pytest.mark.parametrize(("committed", "text"), [(True, "commit"), (False, "abort")])
def test_markers(committed: bool, text: str) -> None:
    assert said(build_marker(7, 0, EndMarker(committed, 3), 17)) == [text]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Ready((4, 5)), "due: #4, #5"),
        (Ready(tuple(range(25))), "#19 and 5 more"),
        (Intent(10, 17, (Piece(0, 3, 1), Piece(2, 5, 2))), "released at offsets 10-12: #3 (critical), #5-#6 (normal)"),
        (Intent(10, 17, (Piece(18, 3, 1),)), "#3 (expired)"),
        (Expired((1,), True), "expired to the dead letters: #1"),
        (Cancelled((1,)), "cancelled: #1"),
        (Rescheduled(1, 1_790_000_000_000, False), "moved: #1 to 2026-09-21 14:13:20.000Z"),
        (Priority(True), "priorities on"),
        (ClockMoved(5), "clock: 5 ms ahead"),
        (Anchored(Anchor("b00t", 0)), "clock: steady time counts from 1970-01-01"),
        (DeadLetterProducer(9), "as producer 9"),
        (DeadLettered((1,)), "among the dead letters: #1"),
    ],
)
def test_events_of_a_stage(event: Event, text: str) -> None:
    (found,) = said(build_events([event], 17))
    assert found is not None
    assert text in found


def test_several_events_of_one_batch() -> None:
    assert said(build_events([Cancelled((1,)), Ready((2,))], 17)) == ["cancelled: #1", "due: #2"]


def test_an_event_that_cannot_be_read_is_told() -> None:
    batch = build_batch([(b"\0\0\0\x7f", b"")], timestamp_ms=17, attributes=CONTROL_FLAG)
    assert said(batch) == ["cannot be read: an event of the unknown kind 127"]


def test_states_of_transactions() -> None:
    open_one = Transaction(
        "pay", 7, 2, 60_000, TransactionState.ONGOING, frozenset({("orders", 1), ("orders", 0)}), 17, 18
    )
    records = [transaction_record(open_one), tombstone("gone")]
    batch = build_batch([(each.key, each.value) for each in records], timestamp_ms=17)
    assert said(batch, "__transaction_state") == [
        "pay: Ongoing, producer 7 epoch 2, in orders-0,orders-1",
        "gone: forgotten",
    ]


def test_committed_offsets() -> None:
    key = encode_offset_key(OffsetKey("kitchen", "orders", 2))
    batch = build_batch(
        [(key, encode_offset(OffsetValue(17, -1, "", 18))), (key, None), (encode_group_key("kitchen"), None)],
        timestamp_ms=17,
    )
    assert said(batch, "__consumer_offsets") == [
        "kitchen: orders-2 offset 17",
        "kitchen: orders-2 forgotten",
        "kitchen: forgotten",
    ]


def test_states_of_share_partitions() -> None:
    place = SharePlace("mail", b"\1" * 16, 3)
    done = StateBatch(6, 9, DeliveryState.ACKNOWLEDGED, 1)
    many = tuple(StateBatch(each, each, DeliveryState.AVAILABLE, 1) for each in range(10, 54, 2))
    records = [
        snapshot_record(place, ShareSnapshot(0, ShareState(2, 1, 5, batches=(done, *many)), 0, 0)),
        update_record(place, ShareUpdate(0, 1, ShareChange(batches=(done,)))),
        update_record(place, ShareUpdate(0, 1, ShareChange(10))),
        forgotten(place),
    ]
    batch = build_batch([(each.key, each.value) for each in records], timestamp_ms=17)
    name = f"mail: partition 3 of topic {'01' * 16}"
    whole, *others = said(batch, "__share_group_state")
    assert whole is not None
    assert whole.startswith(f"{name} from 5, state epoch 2, leader epoch 1, 6-9 acknowledged, 10 available, 12 ")
    assert whole.endswith("46 available, 3 more")
    assert others == [
        f"{name}, leader epoch 1, 6-9 acknowledged",
        f"{name} now from 10, leader epoch 1",
        f"{name} forgotten",
    ]
    (text,) = said(build_batch([(b"\0\7", b"")], timestamp_ms=17), "__share_group_state")
    assert text == "a key of a later version"


def test_what_is_of_no_known_form_is_told() -> None:
    (text,) = said(build_batch([(b"\0", b"")], timestamp_ms=17), "__transaction_state")
    assert text is not None
    assert text.startswith("cannot be read")
