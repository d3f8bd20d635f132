"""Types made from the broker's own description, compiled, and tried in Node and in Chromium against a broker."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, Route, sync_playwright

from compat_tests.brokers import PROJECT_ROOT, target
from tidegate import testing

PACKAGE = PROJECT_ROOT / "clients" / "typescript"
COMPILED = PACKAGE / "dist" / "src"

pytestmark = [
    pytest.mark.skipif(target() != "tidegate", reason="Kafka has no HTTP door"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="there is no Node here (make setup installs it)"),
    pytest.mark.skipif(not (PACKAGE / "node_modules").is_dir(), reason="make setup fetches what builds the client"),
]
IN_A_PAGE = """async (door) => {
  const { Tidegate, toText } = await import("/client/index.js");
  const tidegate = new Tidegate(door);
  await tidegate.publish("pages", { key: "k", value: "first" });
  const stop = new AbortController();
  const followed = [];
  for await (const record of tidegate.follow("pages", { from: "earliest", signal: stop.signal })) {
    followed.push(toText(record.value));
    if (followed.length === 1) await tidegate.publish("pages", { value: "grüße" });
    if (followed.length === 2) stop.abort();
  }
  const producer = await tidegate.producer("page");
  await producer.begin();
  await producer.publish("pages", { value: "in a transaction" });
  await producer.commit();
  await producer.close();
  const member = await tidegate.join("readers", ["pages"], { reset: "earliest" });
  const polled = [];
  while (polled.length < 3) polled.push(...(await member.poll({ waitMs: 5000 })).map((record) => toText(record.value)));
  await member.leave();
  const worker = await tidegate.work("workers", ["pages"]);
  let lent = await worker.poll({ waitMs: 100 });
  while (lent.length === 0) {
    await tidegate.publish("pages", { value: "work" });
    lent = await worker.poll({ waitMs: 1000 });
  }
  const refused = await worker.ack(...lent);
  await worker.leave();
  return { followed, polled, refused };
}"""


@pytest.fixture(scope="module", autouse=True)
def generated() -> None:
    _npm("generate")


def _npm(script: str) -> None:
    done = subprocess.run(
        ["npm", "run", "--silent", script],
        cwd=PACKAGE,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_client_passes_its_own_tests() -> None:
    _npm("test")


IN_A_BROWSER = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="no browser is here (make setup installs one)"
)
BY_ITSELF = """async (door) => {
  const source = new EventSource(`${door}/topics/pages/messages?offset=earliest`);
  const first = await new Promise((told, failed) => { source.onmessage = told; source.onerror = failed; });
  source.close();
  return JSON.parse(first.data).value;
}"""
REFUSED = """async (door) => {
  const headers = { "Content-Type": "application/json" };
  const told = async (call) => call.then((answer) => answer.status, (error) => error.name);
  return [
    await told(fetch(`${door}/topics/pages/messages`)),
    await told(fetch(`${door}/topics/pages/messages`, { method: "POST", headers, body: '{"value": "x"}' })),
    await told(fetch(`${door}/topics/events?topic=pages`, { method: "POST", body: '{"payload": 1}', mode: "no-cors" })),
  ];
}"""


class Pages(SimpleHTTPRequestHandler):
    """A server of pages that is not the door: `/client/page.html`, and the client beside it."""

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[1]
        content = b"<!doctype html><title>a page</title>" if name == "page.html" else (COMPILED / name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if name == "page.html" else "text/javascript")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """Another origin, with pages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def opened_page(origin: str | None = None, named: str | None = None) -> Iterator[tuple[Page, str]]:
    """A page in a browser, of the door's own origin or of another, and the door's address."""
    given = {"group.initial.rebalance.delay.ms": "0", **({"http.cors.allowed.origins": named} if named else {})}
    with testing.broker(given, timeout_s=60) as broker, sync_playwright() as player:
        assert broker.http_url is not None
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(base_url=origin or broker.http_url)
        if origin is None:
            _serve_beside_the_door(page)
        page.goto("/client/page.html")
        yield page, broker.http_url
        browser.close()


def _works(told: Any) -> None:
    assert told["followed"] == ["first", "grüße"]
    assert told["polled"] == ["first", "grüße", "in a transaction"]
    assert told["refused"] == []


@IN_A_BROWSER
def test_a_page_publishes_follows_and_works() -> None:
    _npm("build")
    with opened_page() as (page, door):
        _works(page.evaluate(IN_A_PAGE, door))


@IN_A_BROWSER
def test_a_page_of_an_origin_that_is_named_does_so_too(elsewhere: str) -> None:
    _npm("build")
    with opened_page(elsewhere, named=elsewhere) as (page, door):
        _works(page.evaluate(IN_A_PAGE, door))
        assert page.evaluate(BY_ITSELF, door) == "first"


@IN_A_BROWSER
def test_a_page_of_any_other_origin_reads_and_changes_nothing(elsewhere: str) -> None:
    with opened_page(elsewhere, named="http://other.example") as (page, door):
        admin = page.context.request
        made = admin.post(f"{door}/topics", data={"name": "pages"})
        assert made.status == 201
        assert page.evaluate(REFUSED, door) == ["TypeError", "TypeError", 0]
        found = admin.get(f"{door}/topics/pages/messages").json()
    assert found["messages"] == []


def _serve_beside_the_door(page: Page) -> None:
    """The client's files, as if a page of the door's own origin had them."""

    def answer(route: Route) -> None:
        name = route.request.url.rsplit("/", 1)[1]
        if name == "page.html":
            route.fulfill(body="<!doctype html><title>a page</title>", content_type="text/html")
        else:
            route.fulfill(path=COMPILED / name, content_type="text/javascript")

    page.route("**/client/*", answer)
