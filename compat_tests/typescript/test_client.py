"""Types made from the broker's own description, compiled, and tried in Node and in Chromium against a broker."""

import os
import shutil
import subprocess
import sys

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
IN_A_PAGE = """async () => {
  const { Tidegate, toText } = await import("/client/index.js");
  const tidegate = new Tidegate(location.origin);
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


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser is here (make setup installs one)")
def test_a_page_publishes_follows_and_works() -> None:
    _npm("build")
    with testing.broker({"group.initial.rebalance.delay.ms": "0"}, timeout_s=60) as broker, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(base_url=broker.http_url)
        _serve_beside_the_door(page)
        page.goto("/client/page.html")
        told = page.evaluate(IN_A_PAGE)
        browser.close()
    assert told["followed"] == ["first", "grüße"]
    assert told["polled"] == ["first", "grüße", "in a transaction"]
    assert told["refused"] == []


def _serve_beside_the_door(page: Page) -> None:
    """The client's files, as if a page of the door's own origin had them."""

    def answer(route: Route) -> None:
        name = route.request.url.rsplit("/", 1)[1]
        if name == "page.html":
            route.fulfill(body="<!doctype html><title>a page</title>", content_type="text/html")
        else:
            route.fulfill(path=COMPILED / name, content_type="text/javascript")

    page.route("**/client/*", answer)
