"""Groups in the console: moved elsewhere, after it was shown what would change."""

from typing import Any

from confluent_kafka import Consumer, TopicPartition
from playwright.sync_api import Page, expect


def _consumer(broker: Any) -> Consumer:
    return Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "kitchen", "log_level": 0})


def test_a_group_is_moved_after_it_was_shown_what_would_change(page: Page, broker: Any) -> None:
    consumer = _consumer(broker)
    consumer.commit(offsets=[TopicPartition("orders", 0, 2)], asynchronous=False)
    page.goto("/#/groups/kitchen")
    page.get_by_role("combobox").select_option("shift")
    page.get_by_label("number").fill("-1")
    page.get_by_role("button", name="Show what would change").click()
    move = page.get_by_role("region", name="would be").locator("tbody td")
    expect(move.nth(2)).to_have_text("2")
    expect(move.nth(3)).to_have_text("1")
    assert consumer.committed([TopicPartition("orders", 0)])[0].offset == 2
    page.get_by_role("button", name="Move 1 offsets").click()
    expect(page.get_by_role("status")).to_have_text("1 offsets were moved.")
    assert consumer.committed([TopicPartition("orders", 0)])[0].offset == 1
    consumer.close()


def test_a_group_with_members_is_not_moved_and_says_so(page: Page, broker: Any) -> None:
    consumer = _consumer(broker)
    consumer.subscribe(["orders"])
    while not consumer.assignment():
        consumer.poll(0.5)
    page.goto("/#/groups/kitchen")
    expect(page.get_by_text("stop them first")).to_be_visible()
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_role("alert")).to_contain_text("stop its members first")
    consumer.close()
