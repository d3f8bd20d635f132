"""Who may do what: the rules by example, and against an authorizer that looks at every rule."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.access.acls import Operation, PatternType, Permission, ResourceKind
from coordinators.access.authorizer import Authorizer, Rules
from coordinators.access.callers import Caller, Principal
from engine.catalogue.records import AclRecord
from tests.coordinators.access.acl_worlds import KINDS, NAMES, OPERATIONS, acls, callers, naively_allowed

ALICE = Caller(Principal("alice"), "10.0.0.7")


def rules_of(*records: AclRecord) -> Rules:
    rules = Rules()
    rules.put({acl.key: acl.encode() for acl in records})
    return rules


def rule(
    operation: Operation,
    name: str = "orders",
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> AclRecord:
    return AclRecord(ResourceKind.TOPIC, name, pattern, principal, host, operation, permission)


def allowed(records: Iterable[AclRecord], operation: Operation, name: str = "orders", caller: Caller = ALICE) -> bool:
    return Authorizer(rules_of(*records)).decide(caller, operation, ResourceKind.TOPIC, name).allowed


def test_nobody_may_do_what_no_rule_allows() -> None:
    assert not allowed([], Operation.READ)
    assert not allowed([rule(Operation.WRITE)], Operation.READ)


@pytest.mark.parametrize(
    ("name", "pattern", "is_meant"),
    [
        ("orders", PatternType.LITERAL, True),
        ("order", PatternType.LITERAL, False),
        ("*", PatternType.LITERAL, True),
        ("ord", PatternType.PREFIXED, True),
        ("orders", PatternType.PREFIXED, True),
        ("orders.", PatternType.PREFIXED, False),
        # A prefix that is a star is one.
        ("*", PatternType.PREFIXED, False),
    ],
)
def test_a_rule_names_resources_literally_or_by_a_prefix(name: str, pattern: PatternType, is_meant: bool) -> None:
    assert allowed([rule(Operation.READ, name, pattern=pattern)], Operation.READ) == is_meant


@pytest.mark.parametrize(("name", "pattern"), [("orders", PatternType.LITERAL), ("o", PatternType.PREFIXED), ("*", 3)])
def test_whatever_denies_wins(name: str, pattern: int) -> None:
    denial = rule(Operation.READ, name, Permission.DENY, PatternType(pattern))
    assert not allowed([rule(Operation.ALL, "orders"), rule(Operation.READ, "*"), denial], Operation.READ)


@pytest.mark.parametrize("operation", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_describing_is_implied_by_what_is_allowed_and_not_by_what_is_denied(operation: Operation) -> None:
    assert allowed([rule(operation)], Operation.DESCRIBE)
    assert allowed([rule(Operation.DESCRIBE), rule(operation, permission=Permission.DENY)], Operation.DESCRIBE)


def test_altering_configs_implies_describing_them() -> None:
    assert allowed([rule(Operation.ALTER_CONFIGS)], Operation.DESCRIBE_CONFIGS)
    assert not allowed([rule(Operation.ALTER)], Operation.DESCRIBE_CONFIGS)


def test_a_rule_may_be_for_one_host() -> None:
    here = [rule(Operation.READ, host="10.0.0.7")]
    assert allowed(here, Operation.READ)
    assert not allowed(here, Operation.READ, caller=Caller(ALICE.principal, "10.0.0.8"))


def test_everybody_is_a_principal_in_rules_and_a_name_among_super_users() -> None:
    assert allowed([rule(Operation.READ, principal="User:*")], Operation.READ)
    authorizer = Authorizer(Rules(), frozenset({"User:*"}))
    assert not authorizer.decide(ALICE, Operation.READ, ResourceKind.TOPIC, "orders").allowed
    star = Caller(Principal("*"), "")
    assert authorizer.decide(star, Operation.READ, ResourceKind.TOPIC, "orders").allowed


def test_a_super_user_is_not_denied() -> None:
    rules = rules_of(rule(Operation.ALL, "*", Permission.DENY, principal="User:*"))
    assert Authorizer(rules, frozenset({"User:alice"})).decide(ALICE, Operation.ALTER, ResourceKind.TOPIC, "a").allowed


def test_without_any_rule_for_a_resource_everybody_may_if_the_operator_says_so() -> None:
    for others in ([rule(Operation.READ, "o", pattern=PatternType.PREFIXED, principal="User:bob")], [rule(3, "*")]):  # type: ignore[arg-type]
        authorizer = Authorizer(rules_of(*others), allows_without_rules=True)
        assert not authorizer.decide(ALICE, Operation.WRITE, ResourceKind.TOPIC, "orders").allowed
        assert authorizer.decide(ALICE, Operation.WRITE, ResourceKind.GROUP, "orders").allowed


def test_a_decision_names_the_rule_that_made_it() -> None:
    denial = rule(Operation.ALL, "ord", Permission.DENY, PatternType.PREFIXED, host="10.0.0.7")
    decision = Authorizer(rules_of(rule(Operation.READ), denial)).decide(
        ALICE, Operation.READ, ResourceKind.TOPIC, "orders"
    )
    assert decision.rule == denial
    assert str(decision) == "denied by a rule: DENY User:alice from 10.0.0.7 ALL on PREFIXED TOPIC 'ord'"


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], False),
        ([rule(Operation.WRITE)], True),
        ([rule(Operation.ALL, "o", pattern=PatternType.PREFIXED)], True),
        ([rule(Operation.READ)], False),
        ([rule(Operation.WRITE), rule(Operation.WRITE, "*", Permission.DENY)], False),
        ([rule(Operation.WRITE), rule(Operation.WRITE, "ord", Permission.DENY, PatternType.PREFIXED)], False),
        ([rule(Operation.WRITE), rule(Operation.WRITE, permission=Permission.DENY)], False),
        ([rule(Operation.WRITE, "*"), rule(Operation.WRITE, permission=Permission.DENY)], True),
    ],
)
def test_some_topic_may_be_written_if_a_rule_says_so_that_is_not_denied_whole(
    records: list[AclRecord], expected: bool
) -> None:
    decision = Authorizer(rules_of(*records)).decide_for_any(ALICE, Operation.WRITE, ResourceKind.TOPIC)
    assert decision.allowed == expected


@given(
    st.lists(acls, max_size=12),
    st.frozensets(st.sampled_from(["User:x", "User:*"]), max_size=1),
    st.booleans(),
    st.tuples(callers, st.sampled_from(OPERATIONS), st.sampled_from(KINDS), st.sampled_from(NAMES)),
)
def test_it_decides_as_one_does_that_looks_at_every_rule(
    records: list[AclRecord],
    supers: frozenset[str],
    if_none: bool,
    asked: tuple[Caller, Operation, ResourceKind, str],
) -> None:
    authorizer = Authorizer(rules_of(*records), supers, if_none)
    assert authorizer.decide(*asked).allowed == naively_allowed(records, supers, if_none, asked)


@given(st.lists(st.tuples(st.booleans(), acls), max_size=30))
def test_removing_a_rule_removes_no_other(steps: list[tuple[bool, AclRecord]]) -> None:
    """CVE-2024-27309: a rule that was removed took others of its resource out of force."""
    rules, model = Rules(), dict[str, AclRecord]()
    for is_made, acl in steps:
        rules.put({acl.key: acl.encode() if is_made else None})
        if is_made:
            model[acl.key] = acl
        else:
            model.pop(acl.key, None)
        assert set(rules) == set(model.values())
        for kind in KINDS:
            for name in NAMES:
                expected = {each for each in model.values() if each.resource_type == kind and _touches(each, name)}
                assert set(rules.concerning(kind, name)) == expected
    assert set(rules.row_keys()) == set(model)


def _touches(acl: AclRecord, name: str) -> bool:
    return name.startswith(acl.name) if acl.pattern == PatternType.PREFIXED else acl.name in (name, "*")
