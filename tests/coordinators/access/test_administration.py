"""Rules made and removed by nodes that share a catalogue: in memory, in SQLite, in a real etcd, in its model."""

import random
from collections.abc import Awaitable, Callable

from attrs import define, evolve, field
from trio.testing import trio_test

from coordinators.access.access import AccessControl
from coordinators.access.acls import AclFilter, Operation, PatternType, Permission, ResourceKind
from coordinators.access.administration import AclAdministration
from coordinators.access.audit import Audit
from coordinators.access.authorizer import Authorizer, Rules
from coordinators.access.callers import Caller, Principal
from coordinators.access.rights import READ_TOPIC
from coordinators.cluster.news import News
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.rules import TenantAcls, exactly
from coordinators.tenants.tenants import Tenants
from coordinators.topic_view import TopicView
from engine.catalogue.catalogue import Catalogue, Watch
from engine.catalogue.records import AclRecord
from engine.clock import ManualClock
from engine.errors import InvalidRequest
from engine.timers import Timers
from tests.coordinators.following import FollowingNode

ALICE = Caller(Principal("alice"), "10.0.0.1")


@define(eq=False)
class RuleNode(FollowingNode):
    """One node: the rules that it knows, by which it decides, and who changes them."""

    catalogue: Catalogue
    commits: int = field(default=0, init=False)
    before_commit: list[Callable[[], Awaitable[object]]] = field(factory=list, init=False)
    watch: Watch = field(init=False)
    rules: Rules = field(init=False)
    access: AccessControl = field(init=False)
    acls: AclAdministration = field(init=False)

    def __attrs_post_init__(self) -> None:
        revision = self.catalogue.revision()
        self.rules = Rules.load(self.catalogue)
        self.watch = self.catalogue.watch(revision)
        audit = Audit(ManualClock(), Timers(), 1000, [])
        self.access = AccessControl(Authorizer(self.rules), audit, TopicView())
        self.acls = AclAdministration(self.access, self)  # type: ignore[arg-type]

    def take(self, news: News) -> None:
        self.rules.take(news)

    def known(self) -> set[AclRecord]:
        """After it has heard of all there is."""
        self.follow(self.catalogue.revision())
        return set(self.rules)

    def may_read(self, topic: str) -> bool:
        self.follow(self.catalogue.revision())
        return self.access.allows(ALICE, READ_TOPIC, topic)


def rule(name: str = "orders", principal: str = "User:alice", **other: int) -> AclRecord:
    made = AclRecord(ResourceKind.TOPIC, name, PatternType.LITERAL, principal, "*", Operation.READ, Permission.ALLOW)
    return evolve(made, **{key: int(value) for key, value in other.items()})


@trio_test
async def test_a_rule_decides_on_every_node_until_any_of_them_removes_it(catalogue: Catalogue) -> None:
    first, second = RuleNode(catalogue), RuleNode(catalogue)
    assert not second.may_read("orders")
    assert await first.acls.create([rule()]) == [None]
    assert first.may_read("orders")
    assert second.may_read("orders")
    assert RuleNode(catalogue).may_read("orders"), "one that starts later"
    assert await second.acls.delete([AclFilter(name="orders")]) == [[rule()]]
    assert not first.may_read("orders")
    assert not RuleNode(catalogue).may_read("orders")


@trio_test
async def test_made_twice_it_is_there_once_and_removed_once_it_is_gone(catalogue: Catalogue) -> None:
    first, second = RuleNode(catalogue), RuleNode(catalogue)
    for node in (first, first, second):
        assert await node.acls.create([rule(), rule()]) == [None, None]
    assert first.known() == second.known() == {rule()}
    assert await second.acls.delete([exactly(rule())]) == [[rule()]]
    assert first.known() == set()
    assert await first.acls.delete([exactly(rule())]) == [[]]


@trio_test
async def test_one_that_another_node_has_just_removed_is_made_again(catalogue: Catalogue) -> None:
    first, second = RuleNode(catalogue), RuleNode(catalogue)
    await first.acls.create([rule()])
    second.follow(catalogue.revision())
    await first.acls.delete([exactly(rule())])
    assert await second.acls.create([rule()]) == [None], "before it has heard of that"
    assert first.known() == second.known() == {rule()}


@trio_test
async def test_what_nodes_change_at_once_is_all_changed(catalogue: Catalogue) -> None:
    first, second = RuleNode(catalogue), RuleNode(catalogue)
    await first.acls.create([rule("a"), rule("b")])
    second.follow(catalogue.revision())

    async def meanwhile() -> None:
        assert await second.acls.delete([exactly(rule("a"))]) == [[rule("a")]]
        await second.acls.create([rule("c")])

    first.before_commit.append(meanwhile)
    assert await first.acls.create([rule("d"), rule("c")]) == [None, None]
    assert first.known() == second.known() == {rule("b"), rule("c"), rule("d")}


@trio_test
async def test_removing_one_takes_no_other_along(catalogue: Catalogue) -> None:
    """CVE-2024-27309: against a set, over rules that have much in common."""
    chance = random.Random(7)
    nodes, there = [RuleNode(catalogue) for _ in range(2)], set[AclRecord]()
    every = [
        rule(name, principal, pattern=pattern, operation=operation, permission=permission)
        for name in ("orders", "ord", "*")
        for principal in ("User:alice", "User:*")
        for pattern in (PatternType.LITERAL, PatternType.PREFIXED)
        for operation in (Operation.READ, Operation.ALL)
        for permission in (Permission.ALLOW, Permission.DENY)
    ]
    for _ in range(40):
        node, some = chance.choice(nodes), chance.sample(every, 4)
        if chance.random() < 0.6:
            assert await node.acls.create(some) == [None] * 4
            there.update(some)
        else:
            await node.acls.delete([exactly(each) for each in some])
            there.difference_update(some)
        assert node.known() == there
    assert all(node.known() == there for node in (*nodes, RuleNode(catalogue)))


@trio_test
async def test_a_tenants_rules_are_its_own_on_every_node(catalogue: Catalogue) -> None:
    nodes = [RuleNode(catalogue) for _ in range(2)]
    tenants = Tenants()
    rows = {name: (TenantRecord(name, (f"User:{name}.*", "User:alice")), 1) for name in ("acme", "zulu")}
    tenants.take(rows)
    acme = [TenantAcls(node.acls, tenants, "acme", True) for node in nodes]
    zulu = TenantAcls(nodes[1].acls, tenants, "zulu", True)
    await nodes[0].acls.create([rule("zulu.orders"), rule("*", "User:zulu.zoe")])
    (refused, made) = await acme[0].create([rule("orders", "User:*"), rule("orders")])
    assert isinstance(refused, InvalidRequest)
    assert made is None
    assert nodes[1].may_read("acme.orders")
    assert not nodes[1].may_read("orders")
    assert acme[1].find(AclFilter()) == [rule("orders")]
    assert zulu.find(AclFilter(name="orders")) == [rule("orders")]
    assert await acme[1].delete([AclFilter()]) == [[rule("orders")]]
    assert nodes[0].known() == {rule("zulu.orders"), rule("*", "User:zulu.zoe")}
