"""What the console makes of what it is told: figures over time, letters by why they are dead, schemas beside each
other."""

import re
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer
from playwright.sync_api import Page, expect


def test_lag_and_lanes_are_drawn_over_time_while_the_page_is_open(page: Page) -> None:
    page.goto("/#/groups/readers")
    expect(page.get_by_role("img", name="lag over time: lag")).to_be_visible()
    page.goto("/#/topics/work/lanes")
    drawn = page.get_by_role("img", name="waiting in all partitions over time: critical 1, high 0")
    expect(drawn.locator("polyline")).to_have_count(5)
    expect(page.get_by_role("img", name="age of the oldest, in seconds over time")).to_be_visible()
    expect(page.get_by_role("img", name="share of what readers took in the last minute")).to_be_visible()
    # The door is asked again every few seconds: so the line gets longer.
    expect(drawn.locator("polyline").first).to_have_attribute("points", re.compile(r"\S+ \S+"), timeout=15_000)


def test_it_is_shown_how_fast_topics_are_written(page: Page, broker: Any) -> None:
    topic = f"river-{uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def write() -> None:
        for _ in range(100):
            producer.produce(topic, value=b"drop")
        assert producer.flush(30) == 0

    write()
    page.goto(f"/#/topics/{topic}/partitions")
    speed = page.locator(".figure", has_text="written")
    expect(speed).to_contain_text("\N{EN DASH}")
    write()
    expect(speed).to_contain_text(re.compile(r"[1-9][\d.]*/s"), timeout=15_000)
    expect(page.get_by_role("img", name="records written per second over time")).to_be_visible()
    page.goto("/#/topics")
    row = page.get_by_role("row", name=topic)
    expect(row).to_contain_text("\N{EN DASH}")
    write()
    expect(row).to_contain_text(re.compile(r"[1-9][\d.]*/s"), timeout=15_000)


def test_what_waits_stands_on_a_time_axis(page: Page) -> None:
    page.goto("/#/topics/jobs/delayed")
    expect(page.locator("figure.chart")).to_contain_text("1 due within a day")
    expect(page.locator("figure.chart rect")).to_have_count(1)
    page.get_by_role("combobox").select_option("a week")
    expect(page.locator("figure.chart")).to_contain_text("1 due within a week")


def test_dead_letters_are_counted_by_reason_and_one_is_shown(page: Page) -> None:
    page.goto("/#/dead-letters")
    page.get_by_role("link", name="orders.dlq").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("combobox").select_option("too late")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Show 0:1").click()
    letter = page.get_by_role("region", name="One letter")
    expect(letter).to_contain_text("cold")
    expect(letter.locator(".figure", has_text="delivery.count")).to_contain_text("5")
    expect(page.locator("main img, main script")).to_have_count(0)


def test_a_schema_is_shown_and_compared_with_another_version(page: Page) -> None:
    page.goto("/#/schemas")
    page.get_by_role("searchbox").fill("orders-")
    page.get_by_role("link", name="orders-value").click()
    expect(page.locator(".figures")).to_contain_text("BACKWARD")
    expect(page.locator("pre")).to_contain_text('"name": "Order"')
    page.get_by_role("combobox").nth(1).select_option("1")
    expect(page.locator("pre .new")).to_contain_text(['"type": "string",', '"doc": "<img'])
    expect(page.locator("main img, main script")).to_have_count(0)


def test_letters_are_sent_again_after_it_was_shown_what_would_go_where(page: Page, broker: Any) -> None:
    topic = f"dishes-{uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for number in range(3):
        told = {"message": "burnt" if number else "cold", "topic": topic, "partition": "0", "offset": str(number)}
        letter = {f"__dlq.errors.{name}": value for name, value in told.items()}
        producer.produce(f"{topic}.dlq", key=f"k{number}", value=f"dish {number}", headers=letter)
    producer.produce(topic, value=b"the first")
    assert producer.flush(30) == 0
    page.goto(f"/#/dead-letters/{topic}.dlq")
    page.get_by_role("combobox").select_option("burnt")
    again = page.get_by_role("region", name="Send again")
    again.get_by_role("button", name="Show what letters").click()
    expect(again.locator("tbody tr")).to_have_count(2)
    expect(again).to_contain_text("2 would be sent")
    again.get_by_role("button", name="Send 2 again").click()
    expect(page.get_by_text("2 letters were sent again.")).to_be_visible()
    page.get_by_role("region", name="Send again").get_by_role("button", name="Show what all").click()
    expect(again).to_contain_text("1 would be sent, 2 were dealt with before")
    page.goto(f"/#/topics/{topic}")
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.locator("tbody")).to_contain_text("dish 2")
