"""The timeline as JSON and as a table."""

import json

from engine.trace.kinds import EventKind
from engine.trace.timeline import as_json, as_table, duration_text, key_fields, summary, time_text
from tests.engine.trace.traces import NOON_US, TRACE_ID, add, trace

TABLE = """\
trace 0af7651916cd43dd8448eb211c80319c  orders-0 @ 7  committed after 1.500 s
time (UTC)      |      gap | step              | details
----------------+----------+-------------------+--------------------------------
22:13:20.000000 |          | publish.received  | client_id=till
22:13:20.000420 |  +420 us | publish.persisted |
22:13:20.012420 | +12.0 ms | consume.fetched   | client_id=cook address=10.0.0.7
22:13:21.500000 | +1.488 s | consume.committed | group=kitchen
"""


def test_the_table() -> None:
    made = trace(7)
    add(made, EventKind.PUBLISH_PERSISTED, 420)
    add(made, EventKind.CONSUME_FETCHED, 12_420, client_id="cook", address="10.0.0.7", group=None)
    add(made, EventKind.CONSUME_COMMITTED, 1_500_000, group="kitchen")
    assert as_table(made) == TABLE


def test_the_json_says_each_step_and_its_gap() -> None:
    made = trace(7)
    add(made, EventKind.PUBLISH_PERSISTED, 420)
    add(made, EventKind.CONSUME_FETCHED, 1000, group=None, client_id="cook")
    said = as_json(made)
    json.dumps(said)
    assert [step["event"] for step in said["steps"]] == ["publish.received", "publish.persisted", "consume.fetched"]
    assert [step["gap_us"] for step in said["steps"]] == [0, 420, 580]
    assert said["steps"][2]["attributes"] == {"client_id": "cook"}
    assert (said["trace_id"], said["offset"], said["key"], said["outcome"]) == (TRACE_ID, 7, "k", "fetched")
    assert said["duration_us"] == 1000
    assert "steps" not in summary(made)


def test_what_a_client_says_does_not_steer_the_terminal() -> None:
    made = trace()
    add(made, EventKind.CONSUME_FETCHED, 1, client_id="a\x1b[2Jb\nc")
    assert "client_id=a?[2Jb?c" in as_table(made)


def test_events_that_were_not_kept_are_told() -> None:
    made = trace(None)
    made.dropped_events = 3
    assert "(3 later events were not kept)" in as_table(made)
    assert "not yet in the log" in as_table(made)


def test_keys_times_durations() -> None:
    assert key_fields(None) == {"key": None, "key_base64": None}
    assert key_fields("ä".encode()) == {"key": "ä", "key_base64": None}
    assert key_fields(b"\xff") == {"key": None, "key_base64": "/w=="}
    assert time_text(NOON_US + 1) == "2023-11-14T22:13:20.000001Z"
    assert [duration_text(each) for each in (7, 1500, 2_000_000)] == ["7 us", "1.5 ms", "2.000 s"]
