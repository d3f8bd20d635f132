"""Regular expressions over one tenant's names."""

import pytest

from coordinators.group.consumer import regex
from coordinators.tenants.patterns import TenantPattern
from engine.errors import InvalidRegularExpression

NAMES = ("acme.orders", "acme.orphans", "acme.pay", "zulu.orders", "orders", "acme-2.orders")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("or.*", ("orders", "orphans")),
        ("^or.*$", ("orders", "orphans")),
        ("orders|pay", ("orders", "pay")),
        (".*", ("orders", "orphans", "pay")),
        ("acme.*", ()),
        (r"zulu\.orders", ()),
    ],
)
def test_names_as_the_tenant_sees_them(expression: str, found: tuple[str, ...]) -> None:
    kept = TenantPattern("acme.", expression, is_bare=True).text
    assert regex.matching(kept, NAMES) == tuple(f"acme.{name}" for name in found)


@pytest.mark.parametrize(
    ("expression", "found"), [(".*", ("acme.orders", "acme.orphans", "acme.pay")), (".*orders", ("acme.orders",))]
)
def test_whole_names_but_no_others(expression: str, found: tuple[str, ...]) -> None:
    assert regex.matching(TenantPattern("acme.", expression, is_bare=False).text, NAMES) == found


def test_what_is_no_expression_does_not_become_one() -> None:
    for expression in ("x)|(?:.*", "(*tenant zulu).*", "(*within zulu).*"):
        with pytest.raises(InvalidRegularExpression):
            regex.check(TenantPattern("acme.", expression, is_bare=True).text)


def test_there_and_back() -> None:
    for pattern in (TenantPattern("acme.", "a\nb", True), TenantPattern("", "a", False)):
        assert TenantPattern.read(pattern.text) == pattern
