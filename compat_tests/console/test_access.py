"""Who may what, in the console: users, rules and quotas are made there, and hold for whoever logs in."""

from typing import Any

from playwright.sync_api import Browser, Page, expect

from tidegate import testing

NAMED = ("Make", "Set", "Send", "Move", "Remove", "Delete", "Release", "Cancel", "Send again")


def confirm(page: Page) -> None:
    """Say yes to what the page asks from here on."""
    page.evaluate("window.confirm = () => true")


def log_in(page: Page, user: str, password: str) -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def make_user(page: Page, user: str, password: str, again: str) -> None:
    page.goto("/#/users")
    page.locator("details").evaluate("(each) => { each.open = true; }")
    page.get_by_label("user", exact=True).fill(user)
    page.get_by_label("password", exact=True).fill(password)
    page.get_by_label("once more").fill(again)
    page.get_by_role("button", name="Set it").click()


def make_rule(page: Page, user: str, name: str) -> None:
    page.goto("/#/rules")
    page.get_by_text("Make a rule").click()
    form = page.locator("details", has_text="Make a rule")
    form.get_by_label("who").fill(f"User:{user}")
    form.get_by_label("called").fill(name)
    form.get_by_label("this name, or").select_option("prefixed")
    form.get_by_role("button", name="Make it").click()
    expect(form.get_by_role("status")).to_contain_text(f"User:{user} may read topic {name} now.")


def test_a_user_that_is_made_here_logs_in_sees_what_a_rule_allows_and_is_gone_when_deleted(operator: Page) -> None:
    page = operator
    make_user(page, "anna", "lemon", "melon")
    expect(page.get_by_role("alert")).to_contain_text("not the same")
    make_user(page, "anna", "lemon", "lemon")
    expect(page.get_by_role("cell", name="anna")).to_be_visible()
    make_rule(page, "anna", "ord")
    page.get_by_role("button", name="Log out").click()

    log_in(page, "anna", "melon")
    expect(page.get_by_role("alert")).to_contain_text("does not take that")
    log_in(page, "anna", "lemon")
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    page.goto("/#/topics")
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    expect(page.get_by_role("link", name="salaries")).to_have_count(0)
    for place in ("rules", "users", "topics/salaries"):
        page.goto(f"/#/{place}")
        expect(page.get_by_role("alert").first).to_contain_text("not authorized")
    page.get_by_role("button", name="Log out").click()

    page.get_by_label("or token").fill("secret")
    page.get_by_role("button", name="Log in").click()
    page.goto("/#/users")
    confirm(page)
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nobody has a password yet.")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    log_in(page, "anna", "lemon")
    expect(page.get_by_role("alert")).to_contain_text("does not take that")


def test_it_is_told_which_rule_decides_and_a_rule_is_removed(operator: Page) -> None:
    page = operator
    make_rule(page, "bert", "bills")
    page.get_by_text("Why may somebody").click()
    asked = page.locator("details", has_text="Why may somebody")

    def why(name: str) -> None:
        asked.get_by_label("may").fill("User:bert")
        asked.get_by_label("called").fill(name)
        asked.get_by_role("button", name="Ask").click()

    why("bills-2026")
    expect(asked.get_by_role("status").last).to_contain_text("User:bert allow read topic bills… from *")
    page.get_by_label("of", exact=True).fill("User:bert")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    confirm(page)
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No such rule.")).to_be_visible()
    why("bills-2026")
    expect(asked.get_by_role("status").last).to_contain_text("may not")


def test_a_quota_is_set_and_removed(operator: Page) -> None:
    page = operator
    page.goto("/#/quotas")
    page.get_by_text("Set a quota").click()
    page.get_by_label("user", exact=True).fill("anna")
    page.get_by_label("at most").fill("1048576")
    page.get_by_role("button", name="Set it").click()
    row = page.get_by_role("row", name="user anna")
    expect(row).to_contain_text("1.0 MiB/s")
    confirm(page)
    row.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Nobody is bounded.")).to_be_visible()


def test_a_tenant_is_shown_with_its_limits(operator: Page, guarded: Any) -> None:
    page = operator
    made = page.request.post(
        f"{guarded.http_url}/tenants",
        headers={"Authorization": "Bearer secret"},
        data={"name": "acme", "limits": {"topics": 4}},
    )
    assert made.ok
    page.goto("/#/tenants")
    expect(page.get_by_role("row", name="acme")).to_contain_text("0 of 4")
    expect(page.get_by_role("meter", name="topics of acme")).to_have_count(1)


def test_a_door_that_only_shows_offers_nothing_else(browser: Browser) -> None:
    with testing.broker(config={"http.read.only": "true"}, timeout_s=60) as shown:
        context = browser.new_context(base_url=shown.http_url)
        page = context.new_page()
        for place in ("", "topics", "rules", "users", "quotas", "cluster", "groups", "dead-letters"):
            page.goto(f"/#/{place}")
            expect(page.locator("h1")).to_be_visible()
            expect(page.get_by_text("read only")).to_be_visible()
            for name in NAMED:
                expect(page.locator("main").get_by_role("button", name=name)).to_have_count(0)
            expect(page.locator("main details")).to_have_count(0)
        assert page.request.post(f"{shown.http_url}/topics", data={"name": "t"}).status == 403
        context.close()
