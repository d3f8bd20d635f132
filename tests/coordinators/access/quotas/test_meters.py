"""Meters: which bound goes for whom, whose account is charged, and what is forgotten."""

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.access.quotas import meters
from coordinators.access.quotas.meters import (
    Bounded,
    Meter,
    MutationMeter,
    Name,
    find_address_bound,
    find_client_bound,
)
from coordinators.access.quotas.rates import QuotaWindow
from engine.clock import ManualClock

PRECEDENCE: list[tuple[Bounded, Name]] = [
    (("u", "c"), ("u", "c")),
    (("u", None), ("u", "c")),
    (("u", ""), ("u", "")),
    ((None, "c"), ("u", "c")),
    ((None, None), ("u", "c")),
    ((None, ""), ("u", "")),
    (("", "c"), ("", "c")),
    (("", None), ("", "c")),
]
"""As Kafka's documentation gives it: whom a bound is about, and whose account is charged for the client c of u."""


def meter(bounds: Mapping[Bounded, float]) -> Meter:
    made = Meter(ManualClock(), QuotaWindow())
    made.bind(bounds)
    return made


@given(st.sets(st.integers(0, 7)))
def test_the_most_specific_bound_goes_for_a_client(present: set[int]) -> None:
    bounds = {PRECEDENCE[number][0]: float(number + 1) for number in present}
    others: dict[Bounded, float] = {("x", "c"): 90.0, ("u", "x"): 91.0, ("x", ""): 92.0, ("", "x"): 93.0}
    found = find_client_bound({**bounds, **others}, "u", "c")
    expected = None if not present else (PRECEDENCE[min(present)][1], float(min(present) + 1))
    assert found == expected


def test_a_client_without_an_id_is_under_the_defaults() -> None:
    assert find_client_bound({("", None): 5.0}, "u", "") == (("", ""), 5.0)
    assert find_client_bound({("u", None): 4.0, ("u", ""): 3.0}, "u", "") == (("u", ""), 4.0)
    assert find_client_bound({("", "c"): 5.0}, "u", "") is None


def test_an_address_has_its_own_bound_or_the_default() -> None:
    bounds: dict[Bounded, float] = {("", None): 5.0, ("", "10.0.0.1"): 7.0}
    assert find_address_bound(bounds, "", "10.0.0.1") == (("", "10.0.0.1"), 7.0)
    assert find_address_bound(bounds, "", "10.0.0.2") == (("", "10.0.0.2"), 5.0)
    assert find_address_bound({}, "", "10.0.0.2") is None


def test_clients_of_a_user_share_its_account() -> None:
    shared = meter({("u", ""): 10.0})
    assert shared.use("u", "a", 90) == 0.0
    assert shared.use("u", "b", 20) == pytest.approx(1.0)
    assert shared.use("v", "a", 1e9) == 0.0


def test_a_default_gives_each_its_own_account() -> None:
    each = meter({("", None): 10.0})
    assert each.use("u", "a", 110) > 0
    assert each.use("u", "b", 90) == 0.0


def test_what_goes_beyond_the_bound_is_not_counted() -> None:
    bounded = meter({("u", ""): 10.0})
    assert bounded.use_if_within("u", "c", 1000) > 0
    assert bounded.use_if_within("u", "c", 100) == 0.0
    (account,) = bounded.accounts()
    assert (account.throttled, bounded.rate_of(account)) == (1, 10.0)


def test_a_new_bound_keeps_what_was_used() -> None:
    bounded = meter({("u", ""): 10.0})
    assert bounded.use("u", "c", 100) == 0.0
    bounded.bind({("u", ""): 5.0})
    assert bounded.overdrawn_s("u", "c") == pytest.approx(10.0)
    bounded.bind({})
    assert not bounded.is_on
    assert bounded.overdrawn_s("u", "c") == 0.0


def test_the_most_at_once_is_a_window() -> None:
    assert meter({("u", ""): 10.0}).most_at_once("u", "c") == 100.0
    assert meter({("u", ""): 10.0}).most_at_once("v", "c") == float("inf")


def test_accounts_are_bounded_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meters, "MOST_ACCOUNTS", 10)
    each = meter({("", None): 10.0})
    for number in range(100):
        each.use("u", f"client-{number}", 1000)
        assert each.overdrawn_s("u", f"client-{number}") > 0
    assert len(list(each.accounts())) == 10
    assert each.throttled == 200


def test_waits_are_cut_where_there_is_a_longest() -> None:
    cut = Meter(ManualClock(), QuotaWindow(), longest_wait_s=1.0)
    cut.bind({("u", ""): 1.0})
    assert cut.use("u", "", 1e6) == 1.0


def test_mutations_are_refused_or_told_afterwards() -> None:
    clock = ManualClock()
    mutations = MutationMeter(clock, QuotaWindow())
    mutations.bind({("u", ""): 1.0})
    assert mutations.take("u", "c", 20, strict=True) == 0.0, "there was something in it"
    assert mutations.take("u", "c", 1, strict=True) == pytest.approx(9.0)
    assert mutations.take("u", "c", 1, strict=False) == pytest.approx(10.0)
    clock.advance_ms(10_000)
    assert mutations.take("u", "c", 1, strict=True) == 0.0
    assert mutations.take("v", "c", 1e9, strict=True) == 0.0
    assert [mutations.rate_of(account) for account in mutations.accounts()] == [None]


def test_precedence_names_every_combination() -> None:
    combinations = set(itertools.product(("u", None, ""), ("c", None, ""))) - {("", "")}
    assert {bounded for bounded, _ in PRECEDENCE} == combinations
