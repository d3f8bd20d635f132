"""A broker with something of everything, and Chromium to look at it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from playwright.sync_api import Browser, Page, expect, sync_playwright

from compat_tests import brokers
from tidegate import testing

TOKEN = "secret"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "dish", "type": "string"%s}]}'


@pytest.fixture(scope="package")
def broker() -> Iterator[Any]:
    with testing.broker(timeout_s=60) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap, "log_level": 0})
        for number in range(3):
            producer.produce(
                "orders", key=HOSTILE, value=f'{{"number": {number}, "html": "{HOSTILE}"}}', headers={HOSTILE: HOSTILE}
            )
        producer.produce(
            "jobs", key="anna", value=b"later", headers={"tide-delay": "3600000", "tide-schedule-id": HOSTILE}
        )
        producer.produce("work", value=b"at once", headers={"tide-priority": "critical"})
        told = {"message": HOSTILE, "topic": "orders", "partition": "0", "offset": "1", "delivery.count": "5"}
        letter = {f"__dlq.errors.{name}": value for name, value in told.items()}
        producer.produce("orders.dlq", value=b"burnt", headers=letter)
        producer.produce("orders.dlq", value=b"cold", headers={**letter, "__dlq.errors.message": "too late"})
        assert producer.flush(30) == 0
        registry = SchemaRegistryClient({"url": f"{running.http_url}/schemas"})
        registry.register_schema("orders-value", Schema(ORDER % "", "AVRO"))
        registry.register_schema("orders-value", Schema(ORDER % f', "doc": "{HOSTILE}"', "AVRO"))
        reader = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "readers", "log_level": 0})
        reader.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
        reader.close()
        yield running


@pytest.fixture(scope="package")
def guarded() -> Iterator[Any]:
    """One that asks who calls and what they may; whoever has the token is the operator, who may everything."""
    asked = {
        "http.token": TOKEN,
        "http.enabled.mechanisms": "BASIC",
        "authorizer.enable": "true",
        "super.users": "User:operator;User:ANONYMOUS",
    }
    with testing.broker(config=asked, timeout_s=60) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        for made in admin.create_topics([NewTopic(name, 1) for name in ("orders", "salaries")]).values():
            made.result(30)
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if brokers.target() == "kafka":
        pytest.skip("Kafka has no console")
    if shutil.which("chromium") is None:
        pytest.skip("no browser is here (make setup installs one)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser, broker: Any) -> Iterator[Page]:
    """A page whose errors, and whatever it asks of others, fail the test."""
    with opened(browser, broker.http_url) as shown:
        yield shown


@pytest.fixture
def operator(browser: Browser, guarded: Any) -> Iterator[Page]:
    """The same at the broker that asks who calls, logged in as the operator."""
    with opened(browser, guarded.http_url) as shown:
        shown.goto("/")
        shown.get_by_label("or token").fill(TOKEN)
        shown.get_by_role("button", name="Log in").click()
        expect(shown.get_by_role("heading", name="Overview")).to_be_visible()
        yield shown


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[Page]:
    """A page whose errors, and whatever it asks of others, fail the test."""
    context = browser.new_context(base_url=url)
    context.set_default_timeout(20_000)
    shown = context.new_page()
    wrong: list[str] = []
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    shown.on("request", lambda sent: sent.url.startswith((url, "data:")) or wrong.append(sent.url))
    yield shown
    context.close()
    assert wrong == []
