"""The console without a mouse, and a login that ends by itself."""

from typing import Any

from playwright.sync_api import Browser, Page, expect

from compat_tests.console.conftest import TOKEN

FOCUSED = """(() => {
  const at = document.activeElement;
  return at.textContent.trim() || at.getAttribute('aria-label') || at.tagName;
})()"""


def test_every_room_is_reached_by_the_tab_key_and_shows_where_one_is(page: Page) -> None:
    page.goto("/#/topics")
    expect(page.get_by_role("link", name="orders", exact=True)).to_be_visible()
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
        width = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
        assert width >= 2 or reached[-1] == "BODY", reached[-1]
        if reached[-1] == "orders":
            break
    assert reached[0] == "To the content"
    for name in ("Overview", "Topics", "Groups", "Dead letters", "Rules", "Users", "Settings", "Keys", "orders"):
        assert name in reached, name
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="orders")).to_be_visible()


def test_the_first_link_leads_past_the_menu(page: Page) -> None:
    page.goto("/#/topics")
    expect(page.get_by_role("link", name="orders", exact=True)).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('main').contains(document.activeElement)")


def test_keys_lead_to_rooms_and_searches_unless_they_are_switched_off(page: Page) -> None:
    page.goto("/")
    expect(page.locator("h1")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("g?")
    expect(page.get_by_role("searchbox")).to_have_value("g?")
    page.get_by_role("searchbox").blur()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Dead letters")
    keys.get_by_label("use them").uncheck()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.reload()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    expect(keys).to_be_hidden()


def test_a_login_ends_when_nobody_has_touched_the_page_for_half_an_hour(browser: Browser, guarded: Any) -> None:
    context = browser.new_context(base_url=guarded.http_url)
    page = context.new_page()
    page.clock.install()
    page.goto("/#/topics")
    page.get_by_label("or token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    page.clock.run_for("20:00")
    page.keyboard.press("Shift")
    page.clock.run_for("20:00")
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    page.clock.run_for("31:00")
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    context.close()
