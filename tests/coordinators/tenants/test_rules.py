"""Rules in a tenant's words: whatever is said stays within the namespace, and whatever is told comes from there."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from coordinators.access.acls import ANY_NAME, CLUSTER_NAME, Operation, PatternType, Permission, ResourceKind, concerns
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.rules import TenantRules
from engine.catalogue.records import AclRecord
from engine.errors import InvalidRequest

ROW = TenantRecord("acme", ("User:acme.*", "User:ann"))
TOPIC, GROUP, CLUSTER, SUBJECT = ResourceKind.TOPIC, ResourceKind.GROUP, ResourceKind.CLUSTER, ResourceKind.SUBJECT
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
REWRITTEN, PREFIXED_WORDS = TenantRules(ROW, True), TenantRules(ROW, False)


def rule(
    kind: int = TOPIC,
    name: str = "orders",
    pattern: int = LITERAL,
    principal: str = "User:ann",
    operation: int = Operation.READ,
) -> AclRecord:
    return AclRecord(int(kind), name, int(pattern), principal, "*", int(operation), int(Permission.ALLOW))


@pytest.mark.parametrize(
    ("words", "said", "meant"),
    [
        (REWRITTEN, (TOPIC, "orders", LITERAL), (TOPIC, "acme.orders", LITERAL)),
        (REWRITTEN, (GROUP, "or", PREFIXED), (GROUP, "acme.or", PREFIXED)),
        (REWRITTEN, (TOPIC, "*", LITERAL), (TOPIC, "acme.", PREFIXED)),
        (REWRITTEN, (TOPIC, "zulu.orders", LITERAL), (TOPIC, "acme.zulu.orders", LITERAL)),
        (REWRITTEN, (SUBJECT, "orders-value", LITERAL), (SUBJECT, ":.acme:orders-value", LITERAL)),
        (REWRITTEN, (SUBJECT, "*", LITERAL), (SUBJECT, ":.acme:", PREFIXED)),
        (PREFIXED_WORDS, (TOPIC, "acme.orders", LITERAL), (TOPIC, "acme.orders", LITERAL)),
        (PREFIXED_WORDS, (TOPIC, "*", LITERAL), (TOPIC, "acme.", PREFIXED)),
        (PREFIXED_WORDS, (SUBJECT, "acme.orders-value", LITERAL), (SUBJECT, ":.acme:acme.orders-value", LITERAL)),
    ],
)
def test_names_are_given_the_namespace_and_lose_it(
    words: TenantRules, said: tuple[int, str, int], meant: tuple[int, str, int]
) -> None:
    assert words.meant(rule(*said)) == rule(*meant)
    assert words.told(rule(*meant)) == rule(*said)


def test_the_cluster_is_the_tenants_own() -> None:
    said = rule(CLUSTER, CLUSTER_NAME, operation=Operation.ALTER)
    assert REWRITTEN.meant(said).name == "acme.kafka-cluster"
    assert REWRITTEN.told(REWRITTEN.meant(said)) == said
    assert REWRITTEN.told(said) is None, "the whole cluster's is not its own"
    for operation in (Operation.CREATE, Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE):
        with pytest.raises(InvalidRequest):
            REWRITTEN.meant(evolve(said, operation=int(operation)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (REWRITTEN, rule(principal="User:*")),
        (REWRITTEN, rule(principal="User:bob")),
        (REWRITTEN, rule(principal="User:zulu.zoe")),
        (REWRITTEN, rule(principal="Group:ann")),
        (REWRITTEN, rule(name="")),
        (REWRITTEN, rule(name="", pattern=PREFIXED)),
        (REWRITTEN, rule(ResourceKind.USER, "ann")),
        (REWRITTEN, rule(ResourceKind.DELEGATION_TOKEN, "t")),
        (REWRITTEN, rule(CLUSTER, "acme")),
        (REWRITTEN, rule(SUBJECT, ":.zulu:orders")),
        (PREFIXED_WORDS, rule(name="orders")),
        (PREFIXED_WORDS, rule(name="zulu.orders")),
        (PREFIXED_WORDS, rule(name="acme", pattern=PREFIXED)),
        (PREFIXED_WORDS, rule(name="a", pattern=PREFIXED)),
        (PREFIXED_WORDS, rule(name="*", pattern=PREFIXED)),
    ],
)
def test_what_reaches_out_cannot_be_said(words: TenantRules, said: AclRecord) -> None:
    with pytest.raises(InvalidRequest):
        words.meant(said)


@pytest.mark.parametrize(
    "known",
    [
        rule(name="zulu.orders"),
        rule(name=ANY_NAME),
        rule(name="acme", pattern=PREFIXED),
        rule(name="ac", pattern=PREFIXED),
        rule(name="acmeorders"),
        rule(name="acme.orders", principal="User:*"),
        rule(name="acme.orders", principal="User:monitor"),
        rule(SUBJECT, "orders-value"),
        rule(SUBJECT, ":.acm", pattern=PREFIXED),
        rule(SUBJECT, ":.zulu:orders-value"),
        rule(ResourceKind.USER, "acme.ann"),
        rule(CLUSTER, "zulu.kafka-cluster"),
    ],
)
def test_what_is_not_the_tenants_is_not_told(known: AclRecord) -> None:
    assert REWRITTEN.told(known) is None
    assert PREFIXED_WORDS.told(known) is None


NAMES = st.one_of(
    st.sampled_from(["*", "acme", "acme.", "acme.*", "zulu.", ":.acme:", ":.zulu:x", "a", CLUSTER_NAME]),
    st.text(min_size=1, max_size=8),
    st.text(max_size=8).map("acme.".__add__),
)
RULES = st.builds(
    rule,
    st.sampled_from([TOPIC, GROUP, ResourceKind.TRANSACTIONAL_ID, SUBJECT, CLUSTER]),
    NAMES,
    st.sampled_from([LITERAL, PREFIXED]),
    st.sampled_from(["User:ann", "User:acme.bob", "User:*", "User:zulu.zoe"]),
    st.sampled_from([Operation.READ, Operation.ALTER]),
)
OUTSIDE = (
    "zulu.orders",
    "orders",
    "acme",
    "acme2.orders",
    "*",
    "",
    ":.zulu:orders-value",
    "orders-value",
    CLUSTER_NAME,
)


@given(RULES, st.booleans())
def test_whatever_is_said_is_about_the_namespace_and_is_told_again(said: AclRecord, rewrite: bool) -> None:
    words = TenantRules(ROW, rewrite)
    try:
        meant = words.meant(said)
    except InvalidRequest:
        return
    assert not any(concerns(meant, name) for name in OUTSIDE)
    told = words.told(meant)
    assert told is not None
    assert words.meant(told) == meant


@given(RULES, st.booleans())
def test_whatever_is_told_can_be_said_so_and_means_the_same(known: AclRecord, rewrite: bool) -> None:
    words = TenantRules(ROW, rewrite)
    told = words.told(known)
    if told is not None:
        assert words.meant(told) == known
