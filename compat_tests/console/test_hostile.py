"""Nothing that strangers name becomes a part of the page, and no page of another site acts through the console."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from playwright.sync_api import Browser, Page, expect

from compat_tests.console.conftest import HOSTILE, TOKEN, opened

PART = "<script>alert(2)</script>"
NAMED = quote(HOSTILE, safe="")
PAGE = """<!doctype html><title>evil</title>
<iframe name=nowhere></iframe><iframe name=framed src="{url}/"></iframe>
<form method=post enctype=text/plain target=nowhere action="{url}/topics">
<input name='{{"name": "by-form", "x": "' value='"}}'></form>
<script>
const json = '{{"name": "by-page"}}';
const sent = (path, options) => fetch("{url}" + path, options).then((told) => told.status);
const ways = {{
  plain: () => sent("/topics", {{method: "POST", mode: "no-cors", body: json}}),
  json: () => sent("/topics", {{method: "POST", headers: {{"Content-Type": "application/json"}}, body: json}}),
  header: () => sent("/topics/orders", {{method: "DELETE", headers: {{"X-Tidegate": "1"}}}}),
  cookies: () => fetch("{url}/topics", {{credentials: "include"}}).then((told) => told.text()),
  schema: () => sent("/schemas/subjects/by-page/versions", {{method: "POST", mode: "no-cors", body: "{{}}"}}),
}};
const tried = Object.entries(ways).map(async ([name, way]) => [name, await way().catch(() => "refused")]);
document.forms[0].submit();
Promise.all(tried).then((all) => {{ window.came = Object.fromEntries(all); }});
</script>"""


@contextmanager
def other_site(html: str) -> Iterator[str]:
    """A web page of somebody else."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    running = threading.Thread(target=server.serve_forever, daemon=True)
    running.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        running.join()


def test_a_page_of_another_site_can_do_nothing_with_the_session_of_who_looks_at_it(
    operator: Page, guarded: Any
) -> None:
    with other_site(PAGE.format(url=guarded.http_url)) as url:
        hostile = operator.context.new_page()
        hostile.goto(url, wait_until="commit")
        hostile.wait_for_function("() => window.came")
        came = hostile.evaluate("window.came")
        # What the page may send without asking first it sends, and reads nothing of the answer, not even its status.
        assert came == {"plain": 0, "json": "refused", "header": "refused", "cookies": "refused", "schema": 0}
        framed = hostile.frame("framed")
        assert framed is not None
        assert framed.locator("#console").count() == 0
        asked = {"headers": {"Authorization": f"Bearer {TOKEN}"}}
        listed = operator.request.get(f"{guarded.http_url}/topics?internal=false", **asked).json()["items"]
        assert [each["name"] for each in listed] == ["orders", "salaries"]
        assert operator.request.get(f"{guarded.http_url}/schemas/subjects", **asked).json() == []


def test_no_script_runs_but_its_own_and_nothing_is_asked_of_others(browser: Browser, broker: Any) -> None:
    context = browser.new_context(base_url=broker.http_url)
    page = context.new_page()
    page.goto("/")
    expect(page.locator("h1")).to_be_visible()
    page.evaluate(
        """async () => {
          window.violated = [];
          addEventListener("securitypolicyviolation", (event) => window.violated.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = true'><base href='http://elsewhere.example'>");
          await fetch("http://elsewhere.example/").catch(() => undefined);
        }"""
    )
    expected = {"script-src-elem", "script-src-attr", "img-src", "connect-src", "base-uri"}
    page.wait_for_function("(count) => new Set(window.violated).size >= count", arg=len(expected))
    assert set(page.evaluate("window.violated")) == expected
    assert page.evaluate("window.ran") is None
    context.close()


@pytest.fixture(scope="module")
def hostile_broker(broker: Any) -> Any:
    """Everything that strangers may name is called after a script."""
    reader = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": HOSTILE, "client.id": HOSTILE, "log_level": 0}
    )
    reader.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    reader.close()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": HOSTILE, "log_level": 0})
    traced = {"traceparent": f"00-{7:032x}-{7:016x}-01", HOSTILE: HOSTILE}
    producer.produce("traced", key=HOSTILE, value=HOSTILE, headers=traced)
    assert producer.flush(30) == 0
    registry = SchemaRegistryClient({"url": f"{broker.http_url}/schemas"})
    registry.register_schema(HOSTILE.replace("/", "|"), Schema('"string"', "AVRO"))
    return broker


def test_hostile_names_stay_text_in_every_room(browser: Browser, hostile_broker: Any) -> None:
    subject = HOSTILE.replace("/", "|")
    shown = {
        "topics/orders": PART,
        "topics/jobs/delayed": PART,
        "dead-letters/orders.dlq": PART,
        "groups": PART,
        f"groups/{NAMED}": PART,
        "traces": PART,
        "traces/traced/0/0": "trace",
        "schemas": "<script>",
        f"schemas/{quote(subject, safe='')}": "<script>",
        "schemas/orders-value": "\\u003cimg|<img",
        "quotas": PART,
        "users": PART,
        f"nowhere/{NAMED}": "nothing here",
        f"topics/{NAMED}": PART,
    }
    with opened(browser, hostile_broker.http_url) as page:
        api = page.request
        assert api.patch("/quotas", data={"user": HOSTILE, "values": {"producer_byte_rate": 1000}}).ok
        made = api.put(f"/users/{NAMED}", data={"password": "x", "iterations": 4096})
        assert made.ok, made.text()
        for place, text in shown.items():
            page.goto(f"/#/{place}")
            body = page.locator("#console")
            page.wait_for_function(
                "(texts) => texts.some((each) => document.getElementById('console').innerText.includes(each))",
                arg=text.split("|"),
            )
            expect(body.locator("img, script, iframe")).to_have_count(0)
        page.goto("/#/topics/orders")
        page.get_by_role("button", name="Show 0:0").click()
        expect(page.get_by_role("region", name="Record 0:0")).to_contain_text(PART)
        expect(page.locator("main img, main script")).to_have_count(0)
        # The users and quotas of other tests are theirs.
        assert api.delete(f"/users/{NAMED}", headers={"X-Tidegate": "1"}).ok
        assert api.patch("/quotas", data={"user": HOSTILE, "values": {"producer_byte_rate": None}}).ok
