"""The console in Chromium: what it shows, whom it lets in, that nothing in a record becomes a part of the page, and
that those who do not see or do not use a mouse get along with it."""

import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, Page, expect

from tidegate import testing

AXE = Path(__file__).resolve().parents[2] / "tools" / "console" / "node_modules" / "axe-core" / "axe.min.js"
PLACES = (
    *("", "topics", "topics/orders", "topics/orders/produce", "topics/jobs/delayed", "topics/work/lanes"),
    *("topics/orders/partitions", "topics/orders/settings", "groups", "share-groups", "dead-letters", "traces"),
    *(
        "cluster",
        "tenants",
        "settings",
        "users",
        "quotas",
        "schemas",
        "schemas/orders-value",
        "dead-letters/orders.dlq",
        "groups/readers",
    ),
)


def test_every_view_shows_what_it_is_about(page: Page) -> None:
    for place in PLACES:
        page.goto(f"/#/{place}")
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("main")).not_to_contain_text("There is nothing here")
        expect(page.get_by_role("alert")).to_have_count(0)
    page.goto("/#/topics")
    expect(page.get_by_role("link", name="orders", exact=True)).to_be_visible()
    page.get_by_role("searchbox").fill("jo")
    expect(page.get_by_role("link", name="orders", exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="jobs")).to_be_visible()


def test_what_stands_in_records_stays_text(page: Page) -> None:
    for place, count in (("topics/orders", 3), ("topics/jobs/delayed", 1)):
        page.goto(f"/#/{place}")
        expect(page.locator("tbody tr")).to_have_count(count)
        expect(page.locator("tbody")).to_contain_text("<script>alert(2)</script>")
        expect(page.locator("main img, main script")).to_have_count(0)


def test_a_record_is_sent_and_seen_by_whoever_follows(page: Page) -> None:
    page.goto("/#/topics/orders")
    page.get_by_label("follow").check()
    expect(page.get_by_text("Nothing has come yet.")).to_be_visible()
    sender = page.context.new_page()
    sender.goto("/#/topics/orders/produce")
    sender.get_by_label("value", exact=True).fill("from the console")
    sender.get_by_role("button", name="Send").click()
    expect(sender.get_by_role("status")).to_have_text(re.compile(r"Written to partition 0 at \d+\."))
    expect(page.locator("tbody")).to_contain_text("from the console")


def test_a_delayed_record_is_released_after_a_question(page: Page, broker: Any) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce("alarms", key="bell", value=b"now", headers={"tide-delay": "3600000", "tide-schedule-id": "bell"})
    assert producer.flush(30) == 0
    page.goto("/#/topics/alarms/delayed")
    page.evaluate("window.confirm = (text) => { window.asked = text; return true; }")
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_text("Nothing waits for its time.")).to_be_visible()
    assert page.evaluate("window.asked") == "Let bell go now?"


def test_whoever_must_say_who_they_are_is_asked_and_remembered_in_that_tab_alone(browser: Browser) -> None:
    with testing.broker(config={"http.token": "secret"}, timeout_s=60) as guarded:
        context = browser.new_context(base_url=guarded.http_url)
        page = context.new_page()
        page.goto("/#/topics")
        page.get_by_label("or token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
        page.get_by_label("or token").fill("secret")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Topics")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Topics")).to_be_visible()
        assert context.cookies() == []
        other = context.new_page()
        other.goto(f"{guarded.http_url}/#/topics")
        expect(other.get_by_role("heading", name="Who are you?")).to_be_visible()
        context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 400)])
def test_it_is_accessible_and_fits(browser: Browser, broker: Any, scheme: Any, width: int) -> None:
    if not AXE.is_file():
        pytest.skip("axe is not here (make setup installs it)")
    context = browser.new_context(
        base_url=broker.http_url, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page = context.new_page()
    for place in PLACES:
        page.goto(f"/#/{place}")
        expect(page.locator("h1")).to_be_visible()
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == [], place
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
    context.close()
