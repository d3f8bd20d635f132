"""DescribeAcls, CreateAcls, DeleteAcls: rules made, found, removed, and in force from then on."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.guarded import ROOT, open_guarded
from tests.wire.kafka.requests import batch, create_topic, fetched, produced
from wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest
from wire.kafka.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from wire.kafka.messages.describe_acls import DescribeAclsRequest

TOPIC, CLUSTER = 2, 4
ANY, LITERAL, PREFIXED, MATCH = 1, 3, 4, 2
READ, WRITE, ALLOW, DENY = 3, 4, 3, 2
INVALID_REQUEST, SECURITY_DISABLED, TOPIC_DENIED = 42, 54, 29


def creation(name: str, operation: int, *, user: str = "alice", pattern: int = LITERAL) -> AclCreation:
    return AclCreation(TOPIC, name, pattern, f"User:{user}", "*", operation, ALLOW)


def everything(kind: int = ANY, name: str | None = None, pattern: int = ANY) -> DescribeAclsRequest:
    return DescribeAclsRequest(kind, name, pattern, None, None, ANY, ANY)


async def rules(client: Client) -> set[tuple[str, str, int]]:
    answer = await client.ask(everything())
    assert answer.error_code == 0
    return {(each.resource_name, acl.principal, acl.operation) for each in answer.resources for acl in each.acls}


@trio_test
async def test_without_an_authorizer_there_are_no_rules(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        assert (await client.ask(everything())).error_code == SECURITY_DISABLED
        created = await client.ask(CreateAclsRequest([creation("orders", READ)]))
        deleted = await client.ask(DeleteAclsRequest([DeleteAclsFilter(1, None, 1, None, None, 1, 1)]))
        assert created.results[0].error_code == deleted.filter_results[0].error_code == SECURITY_DISABLED


@trio_test
async def test_rules_are_in_force_when_the_answer_is_there_and_after_a_restart(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        assert (await produced(alice, "orders", batch())).error_code == TOPIC_DENIED
        answer = await root.ask(CreateAclsRequest([creation("orders", WRITE), creation("or", READ, pattern=PREFIXED)]))
        assert [each.error_code for each in answer.results] == [0, 0]
        assert (await produced(alice, "orders", batch())).error_code == 0
        assert (await fetched(alice, "orders")).records
    async with open_guarded(tmp_path) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        assert (await produced(alice, "orders", batch())).error_code == 0
        deleted = await root.ask(DeleteAclsRequest([DeleteAclsFilter(TOPIC, "orders", MATCH, None, None, WRITE, ANY)]))
        assert [each.resource_name for each in deleted.filter_results[0].matching_acls] == ["orders"]
        assert (await produced(alice, "orders", batch())).error_code == TOPIC_DENIED
        assert (await fetched(alice, "orders")).error_code == 0
        assert await rules(root) == {("or", "User:alice", READ)}


@trio_test
async def test_a_rule_is_made_once_and_bad_ones_keep_no_other_back(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root = await guarded.client(ROOT)
        bad = AclCreation(CLUSTER, "not-the-cluster", LITERAL, "User:alice", "*", READ, ALLOW)
        wanted = [creation("orders", READ), bad, creation("orders", READ), creation("", READ)]
        answer = await root.ask(CreateAclsRequest(wanted))
        assert [each.error_code for each in answer.results] == [0, INVALID_REQUEST, 0, INVALID_REQUEST]
        assert (await root.ask(CreateAclsRequest(wanted))).results[0].error_code == 0
        assert await rules(root) == {("orders", "User:alice", READ)}


@trio_test
async def test_removing_one_leaves_the_others_of_its_resource(tmp_path: Path) -> None:
    """CVE-2024-27309, through the door."""
    async with open_guarded(tmp_path) as guarded:
        root, bob = await guarded.client(ROOT), await guarded.client("bob")
        await create_topic(root, "orders")
        await root.ask(CreateAclsRequest([creation("orders", WRITE), creation("orders", WRITE, user="bob")]))
        removed = DeleteAclsFilter(TOPIC, "orders", LITERAL, "User:alice", None, ANY, ANY)
        await root.ask(DeleteAclsRequest([removed, removed]))
        assert await rules(root) == {("orders", "User:bob", WRITE)}
        assert (await produced(bob, "orders", batch())).error_code == 0


@trio_test
async def test_a_filter_that_is_none_is_refused(tmp_path: Path) -> None:
    async with open_guarded(tmp_path) as guarded:
        root = await guarded.client(ROOT)
        assert (await root.ask(everything(kind=0))).error_code == INVALID_REQUEST
        answer = await root.ask(DeleteAclsRequest([DeleteAclsFilter(1, None, 9, None, None, 1, 1)]))
        assert answer.filter_results[0].error_code == INVALID_REQUEST
