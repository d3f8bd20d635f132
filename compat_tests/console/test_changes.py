"""What is changed in the console, as Kafka's and the registry's clients see it afterwards."""

import time
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from playwright.sync_api import Page, expect

DAY_MS = 86_400_000


@pytest.fixture
def admin(broker: Any) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})


@pytest.fixture
def topic(admin: AdminClient) -> str:
    name = f"changed-{uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    return name


def confirm(page: Page) -> None:
    """Say yes to what the page asks from here on."""
    page.evaluate("window.confirm = () => true")


def test_a_key_is_set_and_set_back_and_partitions_are_added(page: Page, admin: AdminClient, topic: str) -> None:
    def retention() -> str:
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        value: str = admin.describe_configs([resource])[resource].result(30)["retention.ms"].value
        return value

    usual = retention()
    page.goto(f"/#/topics/{topic}/settings")
    page.locator("summary", has_text="Set a key").click()
    page.get_by_label("key", exact=True).fill("retention.ms")
    page.get_by_label("value", exact=True).fill(str(DAY_MS))
    page.get_by_role("button", name="Set it").click()
    row = page.locator("tr", has=page.get_by_text("retention.ms", exact=True))
    expect(row).to_contain_text("this topic")
    assert retention() == str(DAY_MS)
    confirm(page)
    row.get_by_role("button", name="Set back").click()
    expect(row).not_to_contain_text("this topic")
    assert retention() == usual
    page.locator("summary", has_text="Add partitions").click()
    page.get_by_label("partitions in all").fill("3")
    page.get_by_role("button", name="Add them").click()
    expect(page.get_by_text("It has 3 partitions now.")).to_be_visible()
    assert len(admin.list_topics(topic, timeout=30).topics[topic].partitions) == 3


def test_a_topic_is_deleted_by_whoever_writes_its_name(page: Page, admin: AdminClient, topic: str) -> None:
    page.goto(f"/#/topics/{topic}/settings")
    page.locator("summary", has_text="Add partitions").click()
    page.get_by_label("its name").fill("another")
    page.get_by_role("button", name="Delete it with all its records").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was deleted")
    assert topic in admin.list_topics(timeout=30).topics
    page.get_by_label("its name").fill(topic)
    page.get_by_role("button", name="Delete it with all its records").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    assert topic not in admin.list_topics(timeout=30).topics


def test_a_delayed_record_is_moved(page: Page, broker: Any, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, b"later", key="k", headers={"tide-delay": "3600000", "tide-schedule-id": "one"})
    assert producer.flush(30) == 0
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 30 * DAY_MS / 1000))
    page.goto(f"/#/topics/{topic}/delayed")
    page.get_by_role("button", name="Move").click()
    page.get_by_role("textbox", name="due (UTC)").fill(f"{day}T00:00:00")
    page.get_by_role("button", name="Move it").click()
    expect(page.locator("tbody tr")).to_contain_text(f"{day} 00:00:00")


def test_records_are_read_from_a_time_and_an_offset(page: Page, broker: Any, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    now_ms = int(time.time() * 1000)
    for number, age_ms in enumerate((2 * DAY_MS, DAY_MS, 0)):
        producer.produce(topic, f"record {number}", timestamp=now_ms - age_ms)
    assert producer.flush(30) == 0
    page.goto(f"/#/topics/{topic}")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("combobox").select_option("time")
    noon = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime((now_ms - 1.5 * DAY_MS) / 1000))
    page.get_by_role("textbox", name="time (UTC)").fill(noon)
    page.get_by_role("button", name="Read").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("combobox").select_option("offset")
    page.get_by_label("offset", exact=True).fill("2")
    page.get_by_role("button", name="Read").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Show 0:2").click()
    whole = page.get_by_role("region", name="Record 0:2")
    expect(whole).to_contain_text("record 2")
    whole.get_by_role("link", name="Its timeline").click()
    expect(page.get_by_role("heading", name=f"{topic} 0:2")).to_be_visible()


def test_a_schema_is_tried_registered_and_deleted(page: Page, broker: Any) -> None:
    registry = SchemaRegistryClient({"url": f"{broker.http_url}/schemas"})
    subject = f"made-{uuid4().hex[:8]}"
    page.goto("/#/schemas")
    page.locator("summary", has_text="Register a schema").click()
    page.get_by_role("textbox", name="subject").fill(subject)
    page.locator("textarea").fill('{"type": "record", "name": "R", "fields": []}')
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("It is registered")
    page.goto(f"/#/schemas/{subject}")
    page.locator("summary", has_text="Register another version").click()
    page.locator("textarea").fill('{"type": "record", "name": "R", "fields": [{"name": "f", "type": "int"}]}')
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.get_by_role("alert").first).to_be_visible()
    assert registry.get_versions(subject) == [1]
    page.locator("summary", has_text="Compatibility, mode").click()
    page.get_by_label("compatibility").select_option("NONE")
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_role("status").last).to_contain_text("It is NONE now.")
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("It is registered")
    assert registry.get_versions(subject) == [1, 2]
    confirm(page)
    page.get_by_role("button", name="Delete the subject").click()
    expect(page.get_by_role("heading", name="Schemas")).to_be_visible()
    assert subject not in registry.get_subjects()


def test_leaders_are_elected_and_a_partition_that_cannot_move_says_why(page: Page) -> None:
    page.goto("/#/cluster")
    page.locator("summary", has_text="Elect leaders").click()
    page.get_by_role("button", name="Let the first replicas lead").click()
    expect(page.get_by_text("No partition needed it.")).to_be_visible()
    page.locator("summary", has_text="Move a partition").click()
    page.get_by_label("topic").fill("orders")
    page.get_by_label("partition", exact=True).fill("0")
    page.get_by_label("to nodes").fill("7")
    page.get_by_role("button", name="Move it").click()
    expect(page.get_by_role("alert")).to_contain_text("7")
