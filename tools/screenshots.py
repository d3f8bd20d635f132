"""Makes the pictures of the console that the documents show: `make screenshots`, or with FOLDER and further places.

A broker of its own with a small shop's records is looked at in Chromium; nothing else is asked."""

import json
import shutil
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import sync_playwright

from tidegate import testing

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "images"
SHOWN = {"console-messages": "topics/orders", "console-delayed": "topics/reminders/delayed"}
SIZE = {"width": 1200, "height": 620}
IS_THERE = """() => document.querySelector("main h1")
    && ![...document.querySelectorAll("main p.quiet")].some((each) => each.textContent === "…")"""
HOUR_MS = 3_600_000


def fill(bootstrap: str) -> None:
    """A shop: orders, reminders that wait, kitchen work in lanes, a group that is behind."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics(
        [NewTopic(name, 3) for name in ("orders", "payments", "reminders", "work")]
    ).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(200):
        order = {"order": number, "dish": ("soup", "coffee", "tea")[number % 3], "table": number % 12}
        producer.produce("orders", json.dumps(order), key=f"table-{number % 12}", headers={"source": "till"})
        delay_ms = str(HOUR_MS * (1 + number * number % 23))
        asked = {"tide-delay": delay_ms, "tide-schedule-id": f"bill-{number}"}
        producer.produce("reminders", f"bill of order {number}", key=f"table-{number % 12}", headers=asked)
        priority = ("critical", "high", "normal", "low", "background")[number % 5]
        producer.produce("work", f"cook order {number}", headers={"tide-priority": priority})
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "kitchen", "log_level": 0})
    consumer.commit(offsets=[TopicPartition("orders", index, 20) for index in range(3)], asynchronous=False)
    consumer.close()


def shoot(url: str, folder: Path, places: dict[str, str], *, width: int, dark: bool) -> None:
    """A picture of each place."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        scheme = "dark" if dark else "light"
        page = browser.new_page(viewport={**SIZE, "width": width}, color_scheme=scheme)  # type: ignore[arg-type]
        for name, place in places.items():
            page.goto("about:blank")
            page.goto(f"{url}/#/{place}")
            page.wait_for_load_state("networkidle")
            page.wait_for_function(IS_THERE)
            page.screenshot(path=folder / f"{name}.png")
        browser.close()


def main(arguments: list[str]) -> None:
    """`[FOLDER [PLACE ...]]`: the documents' pictures, or of these places into that folder, wide and narrow."""
    started = time.monotonic()
    folder = Path(arguments[0]) if arguments else PICTURES
    places = {place.replace("/", "-") or "overview": place for place in arguments[1:]} or SHOWN
    with testing.broker(timeout_s=60) as broker:
        fill(broker.bootstrap)
        shoot(broker.http_url, folder, places, width=SIZE["width"], dark=False)
        if arguments:
            narrow = {f"{name}-narrow": place for name, place in places.items()}
            shoot(broker.http_url, folder, narrow, width=400, dark=True)
    print(f"screenshots: {len(places)} places in {folder}, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
