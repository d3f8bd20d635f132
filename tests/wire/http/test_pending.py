"""Records that wait, as JSON and back."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.release.pending_records import DelayedRecord, DelayStatistics, PendingRecord, PriorityStatistics
from tidegate.remote_admin import read_delayed, read_delays, read_lanes, read_record
from wire.http.pending import as_base64, as_text, fate_detail, pending


@pytest.mark.parametrize(
    ("data", "text", "base64"), [(b"key", "key", None), (b"", "", None), (b"\xff\0", None, "/wA="), (None, None, None)]
)
def test_text_is_text_and_the_rest_is_base64(data: bytes | None, text: str | None, base64: str | None) -> None:
    assert (as_text(data), as_base64(data)) == (text, base64)


def sent(written: Any) -> Any:
    """What the door writes, as it arrives."""
    return json.loads(msgspec.json.encode(written))


@given(record=st.builds(PendingRecord), found=st.builds(DelayedRecord))
def test_records_arrive_as_the_broker_tells_of_them(record: PendingRecord, found: DelayedRecord) -> None:
    assert read_record(sent(pending(record))) == record
    assert read_delayed(sent(fate_detail(found))) == found


RATES = st.lists(st.floats(allow_nan=False, allow_infinity=False)).map(tuple)


@given(delays=st.builds(DelayStatistics), lanes=st.builds(PriorityStatistics, enqueue_rate=RATES, dequeue_rate=RATES))
def test_figures_arrive_as_the_broker_counts_them(delays: DelayStatistics, lanes: PriorityStatistics) -> None:
    assert read_delays(sent(delays)) == delays
    assert read_lanes(sent(lanes)) == lanes
