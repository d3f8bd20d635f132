"""Rules as they are made and filtered."""

import pytest
from attrs import evolve

from coordinators.access.acls import AclFilter, check_acl
from engine.catalogue.records import AclRecord
from engine.errors import InvalidRequest

ORDERS = AclRecord(2, "orders", 3, "User:alice", "*", 3, 3)


def test_a_rule_that_can_be_made() -> None:
    check_acl(ORDERS)
    assert AclRecord.decode(ORDERS.encode()) == ORDERS


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"resource_type": 0},
        {"resource_type": 1},
        {"resource_type": 99},
        {"resource_type": 4},
        {"pattern": 1},
        {"pattern": 2},
        {"pattern": 0},
        {"operation": 0},
        {"operation": 1},
        {"operation": 77},
        {"permission": 0},
        {"permission": 1},
        {"principal": "alice"},
        {"principal": "User:"},
        {"principal": ":alice"},
        {"host": ""},
    ],
)
def test_one_that_cannot(change: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        check_acl(evolve(ORDERS, **change))  # type: ignore[arg-type]


def test_rules_that_differ_have_keys_that_do() -> None:
    others = [
        evolve(ORDERS, name="order"),
        evolve(ORDERS, pattern=4),
        evolve(ORDERS, principal="User:bob"),
        evolve(ORDERS, host="h"),
        evolve(ORDERS, operation=4),
        evolve(ORDERS, permission=2),
        evolve(ORDERS, resource_type=3),
    ]
    assert len({acl.key for acl in (ORDERS, *others)}) == len(others) + 1


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclFilter(), "ops"),
        (AclFilter(pattern=3, name="orders"), "o"),
        (AclFilter(pattern=4, name="ord"), "p"),
        (AclFilter(pattern=4), "p"),
        (AclFilter(name="ord"), "p"),
        (AclFilter(pattern=2, name="orders"), "ops"),
        (AclFilter(pattern=2, name="other"), "s"),
        (AclFilter(principal="User:alice"), "op"),
        (AclFilter(principal="User:*"), "s"),
        (AclFilter(operation=4), "p"),
        (AclFilter(permission=2), "s"),
        (AclFilter(host="1.2.3.4"), "p"),
        (AclFilter(resource_type=3), ""),
    ],
)
def test_a_filter_means_some_of_them(wanted: AclFilter, found: str) -> None:
    rules = {
        "o": ORDERS,
        "p": evolve(ORDERS, name="ord", pattern=4, host="1.2.3.4", operation=4),
        "s": evolve(ORDERS, name="*", principal="User:*", permission=2),
    }
    assert wanted.among(rules.values()) == [rules[each] for each in found]


@pytest.mark.parametrize("field", ["resource_type", "pattern", "operation", "permission"])
@pytest.mark.parametrize("code", [0, 99])
def test_a_filter_with_an_unknown_code(field: str, code: int) -> None:
    with pytest.raises(InvalidRequest):
        AclFilter(**{field: code}).check()  # type: ignore[arg-type]
