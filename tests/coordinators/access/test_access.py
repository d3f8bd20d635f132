"""Asking for rights: decisions are kept until a rule changes, told to the audit log or not, and never tell what is."""

from attrs import define, field

from coordinators.access.access import KEPT_DECISIONS, AccessControl, Right
from coordinators.access.acls import Operation, ResourceKind
from coordinators.access.audit import Audit
from coordinators.access.authorizer import Authorizer, Decision, Rules
from coordinators.access.callers import NODE, Caller, Principal
from coordinators.topic_view import TopicView
from engine.catalogue.records import AclRecord

ALICE = Caller(Principal("alice"), "10.0.0.7")
READ = Right(Operation.READ, ResourceKind.TOPIC)
CREATE = Right(Operation.CREATE, ResourceKind.TOPIC)
READS = AclRecord(2, "orders", 3, "User:alice", "*", Operation.READ, 3)
CREATES = AclRecord(2, "orders", 3, "User:alice", "*", Operation.CREATE, 3)


@define(eq=False)
class Noted(Audit):
    """An audit log that remembers what it was told."""

    clock: object = None  # type: ignore[assignment]
    timers: object = None  # type: ignore[assignment]
    max_per_second: int = 1
    told: list[tuple[Operation, str, bool]] = field(factory=list)

    def note(
        self, caller: Caller, operation: Operation, resource: ResourceKind, name: str, decision: Decision, asked: str
    ) -> None:
        self.told.append((operation, name, decision.allowed))


@define(eq=False)
class Counting(Authorizer):
    """An authorizer that counts what it is asked."""

    asked: int = 0

    def decide(self, caller: Caller, operation: Operation, resource: ResourceKind, name: str) -> Decision:
        self.asked += 1
        return super().decide(caller, operation, resource, name)


def control(*acls: AclRecord) -> tuple[AccessControl, Counting, Noted]:
    rules = Rules()
    rules.put({acl.key: acl.encode() for acl in acls})
    authorizer, audit = Counting(rules), Noted()
    return AccessControl(authorizer, audit, TopicView()), authorizer, audit


def test_a_decision_is_made_once_until_a_rule_changes() -> None:
    access, authorizer, _ = control(READS)
    assert all(access.allows(ALICE, READ, "orders") for _ in range(5))
    assert not any(access.allows(ALICE, READ, "others") for _ in range(5))
    assert authorizer.asked == 2
    authorizer.rules.put({READS.key: None})
    assert not access.allows(ALICE, READ, "orders")
    authorizer.rules.put({READS.key: READS.encode()})
    assert access.allows(ALICE, READ, "orders")


def test_decisions_are_by_caller_and_host() -> None:
    access, _, _ = control(AclRecord(2, "orders", 3, "User:alice", "10.0.0.7", Operation.READ, 3))
    assert access.allows(ALICE, READ, "orders")
    assert not access.allows(Caller(ALICE.principal, "10.0.0.8"), READ, "orders")
    assert not access.allows(Caller(Principal("bob"), ALICE.host), READ, "orders")


def test_names_that_clients_make_up_are_forgotten() -> None:
    access, authorizer, _ = control(READS)
    for number in range(KEPT_DECISIONS + 100):
        access.permits(ALICE, READ, f"made-up-{number}")
    assert len(access._decisions) <= KEPT_DECISIONS + 1
    assert authorizer.asked == KEPT_DECISIONS + 100


def test_what_is_denied_is_told_each_time_and_what_is_allowed_where_it_changes_something() -> None:
    access, _, audit = control(READS, CREATES)
    for _ in range(2):
        access.allows(ALICE, READ, "orders")
        access.allows(ALICE, READ, "others")
        access.allows(ALICE, CREATE, "orders")
    assert audit.told == 2 * [(Operation.READ, "others", False), (Operation.CREATE, "orders", True)]


def test_who_only_wants_to_know_is_not_told_of() -> None:
    access, _, audit = control(READS, CREATES)
    assert access.operations(ALICE, ResourceKind.TOPIC, "orders") == 1 << 3 | 1 << 5 | 1 << 8
    assert not access.permits(ALICE, READ, "others")
    assert access.why(ALICE, READ, "orders").rule == READS
    assert audit.told == []


def test_a_node_may_do_everything_and_nobody_else_by_its_name() -> None:
    access, _, _ = control()
    assert access.allows(NODE, CREATE, "orders")
    assert access.allows_any(NODE, CREATE)
    assert not access.allows(Caller(Principal("tidegate"), ""), CREATE, "orders")


def test_without_an_authorizer_everybody_may() -> None:
    access = AccessControl(None, Noted(), TopicView())
    assert access.allows(ALICE, CREATE, "orders")
    assert access.topic_judge(ALICE, READ, "") is None
    assert not access.is_enforced


def test_a_judge_changes_its_mind_with_the_rules() -> None:
    access, authorizer, _ = control(READS)
    judge = access.topic_judge(ALICE, READ, "fetch")
    assert judge is not None
    assert judge("orders") is None
    authorizer.rules.put({READS.key: None})
    refusal = judge("orders")
    assert str(refusal) == "not authorized to READ the topic 'orders'"
    # An id that no topic has is not this one's to tell.
    assert judge(bytes(16)) is None
