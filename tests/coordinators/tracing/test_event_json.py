"""Events as the topic holds them."""

import json

from coordinators.tracing.event_json import encode_event
from engine.trace.kinds import EventKind
from tests.engine.trace.traces import NOON_US, PARENT_ID, TRACE_ID, add, trace


def test_the_fields() -> None:
    made = trace(7)
    add(made, EventKind.CONSUME_FETCHED, 1500, client_id="cook", address="10.0.0.7", group=None)
    assert json.loads(encode_event(made, made.events[1])) == {
        "schema": 1,
        "event": "consume.fetched",
        "time_us": NOON_US + 1500,
        "since_start_us": 1500,
        "trace_id": TRACE_ID,
        "parent_id": PARENT_ID,
        "sampled_by": "traceparent",
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "key": "k",
        "key_base64": None,
        "client_id": "cook",
        "address": "10.0.0.7",
    }


def test_whatever_a_client_says_it_is_json_in_utf_8() -> None:
    made = trace(7, key=b"\xff\x00")
    add(made, EventKind.CONSUME_FETCHED, 1, client_id='a"\n\udcff\u2028ü')
    said = json.loads(encode_event(made, made.events[1]).decode())
    assert said["client_id"] == 'a"\n?\u2028ü'
    assert said["key_base64"] == "/wA="
