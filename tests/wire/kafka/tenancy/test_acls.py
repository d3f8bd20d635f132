"""A tenant's own admins make its rules, which decide within its namespace and are about nothing else."""

from pathlib import Path
from typing import Any

from trio.testing import trio_test

from coordinators.access.acls import Operation, PatternType, Permission, ResourceKind
from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import batch, create_topic, fetched, produced
from tests.wire.kafka.tenancy.tenants import TenantDoor
from tests.wire.kafka.tenancy.test_principals import IN, OPERATOR, guarded, login
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest
from wire.kafka.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from wire.kafka.messages.describe_acls import DescribeAclsRequest

TOPIC, GROUP, CLUSTER = ResourceKind.TOPIC, ResourceKind.GROUP, ResourceKind.CLUSTER
LITERAL, PREFIXED, ANY, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.ANY, PatternType.MATCH
SETTINGS: dict[str, object] = {"authorizer.enable": True, "super.users": "User:root;User:ANONYMOUS"}
Told = tuple[int, str, int, str, int]


def allow(
    name: str,
    principal: str = "User:acme.bob",
    operation: int = Operation.READ,
    kind: int = TOPIC,
    pattern: int = LITERAL,
    permission: int = Permission.ALLOW,
) -> AclCreation:
    return AclCreation(int(kind), name, int(pattern), principal, "*", int(operation), int(permission))


async def make(client: Client, *rules: AclCreation) -> list[int]:
    return [each.error_code for each in (await client.ask(CreateAclsRequest(list(rules)))).results]


async def told(client: Client, name: str | None = None, pattern: int = ANY, kind: int = 1) -> set[Told]:
    """The rules that there are, as the client is told of them."""
    answer = await client.ask(DescribeAclsRequest(int(kind), name, int(pattern), None, None, 1, 1))
    assert answer.error_code == 0, answer
    return {
        (place.resource_type, place.resource_name, place.pattern_type, each.principal, each.operation)
        for place in answer.resources
        for each in place.acls
    }


async def remove(client: Client, name: str | None, pattern: int = ANY, kind: int = 1) -> Any:
    wanted = DeleteAclsFilter(int(kind), name, int(pattern), None, None, 1, 1)
    (found,) = (await client.ask(DeleteAclsRequest([wanted]))).filter_results
    return found


async def administered(tenants: TenantDoor, *, rewrite: bool = True) -> tuple[Client, Client]:
    """The operator, and who administers acme's rules: `User:alice`, whom the tenant lists."""
    principals = ["User:alice", "User:acme.*"]
    await tenants.administration.alter("acme", rewrite=rewrite, principals=principals)
    operator = await tenants.connect(OPERATOR)
    rule = allow("acme.kafka-cluster", "User:alice", Operation.ALTER, CLUSTER)
    assert await make(operator, rule) == [0]
    return operator, await login(tenants, IN, "alice")


@trio_test
async def test_a_rule_of_a_tenants_decides_in_its_namespace(tmp_path: Path) -> None:
    async with guarded(tmp_path, SETTINGS) as tenants:
        operator, admin = await administered(tenants)
        bob = await login(tenants, IN, "acme.bob")
        for topic in ("acme.orders", "zulu.orders", "orders"):
            await create_topic(operator, topic)
        assert (await produced(bob, "orders", batch())).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert await make(admin, allow("orders", operation=Operation.WRITE), allow("or", pattern=PREFIXED)) == [0, 0]
        assert (await produced(bob, "orders", batch())).error_code == 0
        assert (await fetched(bob, "orders")).error_code == 0
        rules = {
            (TOPIC, "acme.orders", LITERAL, "User:acme.bob", Operation.WRITE),
            (TOPIC, "acme.or", PREFIXED, "User:acme.bob", Operation.READ),
        }
        assert rules < await told(operator)
        removed = await remove(admin, "orders", LITERAL)
        assert [each.resource_name for each in removed.matching_acls] == ["orders"]
        assert (await produced(bob, "orders", batch())).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@trio_test
async def test_everything_is_everything_of_the_tenants(tmp_path: Path) -> None:
    async with guarded(tmp_path, SETTINGS) as tenants:
        operator, admin = await administered(tenants)
        assert await make(admin, allow("*", operation=Operation.ALL), allow("*", kind=GROUP)) == [0, 0]
        assert (TOPIC, "acme.", PREFIXED, "User:acme.bob", Operation.ALL) in await told(operator)
        bob = await login(tenants, IN, "acme.bob")
        await create_topic(bob, "mine")
        assert (await produced(bob, "mine", batch())).error_code == 0
        # Once out of the tenant, the rules give nothing of anybody else's.
        await create_topic(operator, "others")
        await tenants.administration.alter("acme", principals=["User:alice"])
        again = await login(tenants, IN, "acme.bob")
        assert (await fetched(again, "others")).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@trio_test
async def test_nothing_else_is_named_matched_or_removed(tmp_path: Path) -> None:
    async with guarded(tmp_path, SETTINGS) as tenants:
        operator, admin = await administered(tenants)
        others = (
            allow("zulu.orders", "User:zulu.zoe"),
            allow("*", "User:acme.bob", Operation.DESCRIBE),
            allow("ac", "User:acme.bob", pattern=PREFIXED),
            allow("acme.orders", "User:monitor"),
            allow("acme.orders", "User:*"),
            allow("kafka-cluster", "User:acme.bob", Operation.CREATE, CLUSTER),
        )
        assert set(await make(operator, *others)) == {0}
        before = await told(operator)
        assert await make(admin, allow("orders")) == [0]
        seen = {
            (TOPIC, "orders", LITERAL, "User:acme.bob", Operation.READ),
            (CLUSTER, "kafka-cluster", LITERAL, "User:alice", Operation.ALTER),
        }
        assert await told(admin) == seen
        for name in ("zulu.orders", "*", "acme.orders", "ac"):
            for pattern in (ANY, MATCH, LITERAL, PREFIXED):
                assert await told(admin, name, pattern) == set(), (name, pattern)
                assert (await remove(admin, name, pattern)).matching_acls == []
        assert await told(admin, "orders", MATCH) == {each for each in seen if each[0] == TOPIC}
        assert len((await remove(admin, None)).matching_acls) == 2, "all that is the tenant's"
        admins = (CLUSTER, "acme.kafka-cluster", LITERAL, "User:alice", Operation.ALTER)
        assert await told(operator) == before - {admins}
        refused = [ErrorCode.INVALID_REQUEST]
        await make(operator, allow("acme.kafka-cluster", "User:alice", Operation.ALTER, CLUSTER))
        for rule in (
            allow("orders", "User:zulu.zoe"),
            allow("orders", "User:*"),
            allow("orders", "User:*", permission=Permission.DENY),
            allow("kafka-cluster", operation=Operation.CREATE, kind=CLUSTER),
            allow("t", kind=ResourceKind.DELEGATION_TOKEN),
            allow("acme.bob", kind=ResourceKind.USER),
        ):
            assert await make(admin, rule) == refused, rule


@trio_test
async def test_without_the_prefix_being_rewritten(tmp_path: Path) -> None:
    async with guarded(tmp_path, SETTINGS) as tenants:
        operator, admin = await administered(tenants, rewrite=False)
        outside = [allow("orders"), allow("zulu.orders"), allow("acme", pattern=PREFIXED), allow("acme.")]
        assert set(await make(admin, *outside)) == {ErrorCode.INVALID_REQUEST}
        assert await make(admin, allow("acme.orders"), allow("*", operation=Operation.DESCRIBE)) == [0, 0]
        rules = {
            (TOPIC, "acme.orders", LITERAL, "User:acme.bob", Operation.READ),
            (TOPIC, "*", LITERAL, "User:acme.bob", Operation.DESCRIBE),
        }
        assert rules < await told(admin)
        assert (TOPIC, "acme.", PREFIXED, "User:acme.bob", Operation.DESCRIBE) in await told(operator)


@trio_test
async def test_rights_over_the_rules_are_the_tenants_and_can_be_given(tmp_path: Path) -> None:
    async with guarded(tmp_path, SETTINGS) as tenants:
        operator, admin = await administered(tenants)
        bob = await login(tenants, IN, "acme.bob")
        # Neither rights to everything that it has, nor the whole cluster's, are rights to its rules.
        await make(operator, allow("*", operation=Operation.ALL))
        await make(operator, allow("kafka-cluster", operation=Operation.ALL, kind=CLUSTER))
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert await make(bob, allow("orders")) == [denied]
        assert (await bob.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1))).error_code == denied
        assert (await remove(bob, None)).error_code == denied
        assert await make(admin, allow("kafka-cluster", operation=Operation.DESCRIBE, kind=CLUSTER)) == [0]
        assert len(await told(bob)) == 2
        assert await make(bob, allow("orders")) == [denied]
        # Of another tenant's it is a right to nothing.
        await make(operator, allow("zulu.kafka-cluster", operation=Operation.ALL, kind=CLUSTER))
        assert await make(bob, allow("orders")) == [denied]


@trio_test
async def test_no_tenant_has_more_rules_than_that(tmp_path: Path) -> None:
    async with guarded(tmp_path, SETTINGS) as tenants:
        _, admin = await administered(tenants)
        many = [allow(f"t{number}") for number in range(1_000)]
        assert set(await make(admin, *many)) == {ErrorCode.POLICY_VIOLATION}
        assert set(await make(admin, *many[:999])) == {0}
        assert await make(admin, allow("t0"), allow("t1")) == [0, 0], "those that there are already"
        assert await make(admin, allow("t999")) == [ErrorCode.POLICY_VIOLATION]
