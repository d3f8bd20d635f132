"""The page of `timelines`, out of plain rows."""

from typing import Any

from tools.pipelines.charts import Span
from tools.pipelines.timelines_report import Facts, page, place, spans

START = 1_794_830_400.0


class Row(dict[str, Any]):
    """A row as Spark's: fields by name and as attributes."""

    __getattr__ = dict.__getitem__


def record(**changed: Any) -> Row:
    at = int(START * 1e6)
    known = {
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "key": "anna",
        "group": None,
        "trace_id": "abc",
        "start_us": at,
        "received_us": at,
        "persisted_us": at + 2000,
        "held_us": None,
        "ready_us": None,
        "readable_us": at + 2000,
        "fetched_us": at + 5000,
        "committed_us": None,
        "publish": 2000,
        "hold": None,
        "deliver": 3000,
        "settle": None,
        "total": 5000,
        "idle": 90_000_000,
        "problem": "never committed",
    }
    return Row(**{**known, **changed})


def latency(stage: str, **more: Any) -> Row:
    return Row(topic="orders", stage=stage, records=10, p50=2000, p95=20_000, p99=30_000, max=40_000, **more)


def facts(**changed: Any) -> Facts:
    known = {
        "events": 1234,
        "topic": "__trace_events",
        "step_s": 60.0,
        "stuck_s": 60.0,
        "stages": [latency("total"), latency("publish")],
        "latencies": [latency("publish", start_s=START), latency("publish", start_s=START + 60)],
        "stuck": [record()],
        "slowest": [record()],
        "most": 50,
        "span_s": (START, START + 90),
    }
    return Facts(**{**known, **changed})


def test_figures_charts_and_tables() -> None:
    html = page(facts()).html()
    assert "1,234 events of __trace_events about records that arrived 2026-11-16 12:00:00 to 12:01:30 UTC" in html
    assert "<span>median, end to end</span><b>2 ms</b>" in html
    assert "orders, publish: p50 2 ms, p95 20 ms, p99 30 ms, largest 40 ms" in html
    assert "<h3>publish (20 records)</h3>" in html
    assert "orders-0 @ 7, deliver: 3 ms" in html
    assert "90 s" in html


def test_nothing_stuck_nothing_read() -> None:
    html = page(facts(stuck=[], slowest=[])).html()
    assert "Nothing is stuck." in html
    assert "Nobody has fetched a traced record yet." in html


def test_more_may_be_stuck_than_are_listed() -> None:
    assert "<span>stuck</span><b>2+</b>" in page(facts(stuck=[record()] * 2, most=2)).html()


def test_no_stage_is_whole() -> None:
    assert "traceparent" in page(facts(stages=[])).html()


def test_spans_of_a_held_record_follow_each_other() -> None:
    at = int(START * 1e6)
    held = record(held_us=at + 1000, ready_us=at + 9000, readable_us=at + 9000, fetched_us=at + 8000)
    assert spans(held) == [Span("publish", 0, 0.002), Span("hold", 0.002, 0.009), Span("deliver", 0.009, 0.009)]


def test_a_record_without_an_offset() -> None:
    assert place(record(offset=None)) == "orders-0 @ ?"
