"""The page of `usage`, out of plain facts."""

import re

from tools.pipelines.usage_report import Facts, empty_page, page, tenant_of

START = 1_794_830_400.0


def facts(**changed: object) -> Facts:
    known: dict[str, object] = {
        "window": "1 minute",
        "watermark": "10 minutes",
        "first_s": START,
        "last_s": START + 180,
        "step_s": 60.0,
        "totals": [("orders", 0, 300, 30_000, 5), ("orders", 1, 100, 10_000, 2), ("pay", 0, 50, 500, 1)],
        "hot": [("orders", "anna", 120, 1200), ("pay", "<b>", 50, 500)],
        "topics": {"orders": {0: (300.0, 30_000.0), 2: (100.0, 10_000.0)}, "pay": {1: (50.0, 500.0)}},
        "partitions": {("orders", 0): {0: (300.0, 1.0)}, ("orders", 1): {2: (100.0, 1.0)}},
    }
    return Facts(**{**known, **changed})  # type: ignore[arg-type]


def test_what_matters_is_on_top() -> None:
    html = page(facts()).html()
    assert "<h1>Usage of 2 topics</h1>" in html
    assert "<b>450</b><span>2.5 per second</span>" in html
    assert "<b>1.50x</b><span>the mean, in orders-0</span>" in html
    assert "<b>anna</b><span>30.0 % of orders</span>" in html
    assert "2026-11-16 12:00:00 to 12:03:00 UTC" in html


def test_windows_without_records_are_zero() -> None:
    html = page(facts()).html()
    assert "orders: 5 at 2026-11-16 12:00:00" in html
    assert "orders: 0 at 2026-11-16 12:01:00" in html
    assert "pay: 0.83 at 2026-11-16 12:01:00" in html


def test_partitions_over_time_are_shown_where_there_are_several() -> None:
    html = page(facts()).html()
    assert "<h2>Partitions of orders over time</h2>" in html
    assert "Partitions of pay" not in html
    assert len(re.findall('class="cell"', html)) == 2 * 3


def test_many_topics_share_a_line() -> None:
    topics = {f"t{n}": {0: (float(100 - n), 1.0)} for n in range(12)}
    totals = [(name, 0, int(slots[0][0]), 1, 1) for name, slots in topics.items()]
    html = page(facts(topics=topics, totals=totals, hot=[], partitions={})).html()
    assert html.count("</i>others</span>") == 2  # of records and of bytes
    assert "</i>t6</span>" in html
    assert "</i>t7</span>" not in html
    assert "No record has a key." in html


def test_what_is_late_is_told() -> None:
    assert "<span>too late</span><b>3</b>" in page(facts(late=3)).html()


def test_before_the_first_record() -> None:
    assert "Nothing was counted: the topics hold no records" in empty_page("1 minute", "10 minutes").html()


def test_windows_that_may_still_grow_are_told() -> None:
    html = page(facts(unfinished=30)).html()
    assert "the last ones are not: they may still grow" in html
    assert "<span>not yet done</span><b>30</b>" in html
    assert "may still grow" not in page(facts()).html()


def test_tenants_are_added_up_over_their_topics() -> None:
    topics = {"acme.orders": {0: (60.0, 6_000.0)}, "acme.pay": {0: (60.0, 600.0)}, "zulu.orders": {1: (6.0, 60.0)}}
    totals = [("acme.orders", 0, 60, 6_000, 1), ("acme.pay", 0, 60, 600, 1), ("zulu.orders", 0, 6, 60, 1)]
    found = facts(topics=topics, totals=totals, hot=[], partitions={}, tenants=("acme", "zulu", "idle"))
    html = page(found).html()
    assert "<h2>Tenants</h2>" in html
    assert "acme: 110 B at 2026-11-16 12:00:00" in html
    assert "zulu: 1 B at 2026-11-16 12:01:00" in html
    assert "<h2>Tenants</h2>" not in page(facts()).html()


def test_whose_a_topic_is() -> None:
    topics = ("acme.orders", "acme", "acmeorders", "other.acme.x")
    assert [tenant_of(topic, ("acme",)) for topic in topics] == ["acme", None, None, None]
