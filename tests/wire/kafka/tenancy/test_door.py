"""Two tenants on one broker: each has an `orders`, and neither can find out about the other."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from tests.wire.kafka.door import Client, Closed, until
from tests.wire.kafka.requests import batch, bodies, create_topic, fetch, fetched, produce, produced
from tests.wire.kafka.tenancy.tenants import ACME, ACME_PREFIXED, OPERATOR, ZULU, open_tenants
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from wire.kafka.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from wire.kafka.messages.describe_client_quotas import DescribeClientQuotasRequest
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from wire.kafka.messages.describe_log_dirs import DescribeLogDirsRequest
from wire.kafka.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from wire.kafka.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from wire.kafka.messages.elect_leaders import ElectLeadersRequest
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.list_config_resources import ListConfigResourcesRequest
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.write_txn_markers import WriteTxnMarkersRequest
from wire.kafka.tenancy.door import ListenerTenancy

TOPIC, BROKER = 2, 4


async def names(client: Client) -> list[str]:
    told = await client.ask(MetadataRequest(None))
    return sorted(topic.name for topic in told.topics)


async def commit(client: Client, group: str, topic: str = "orders") -> int:
    """What a commit of an offset in the group is answered."""
    wanted = OffsetCommitRequestTopic(name=topic, partitions=[OffsetCommitRequestPartition(0, 5)])
    code: int = ErrorCode.NOT_COORDINATOR
    with trio.fail_after(10):
        while code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            (found,) = (await client.ask(FindCoordinatorRequest(coordinator_keys=[group]))).coordinators
            assert found.key == group
            answer = await client.ask(OffsetCommitRequest(group, topics=[wanted]), 9)
            code = answer.topics[0].partitions[0].error_code
    return code


async def begin(client: Client, transactional_id: str) -> int:
    """What a producer of transactions is answered when it begins."""
    code: int = ErrorCode.NOT_COORDINATOR
    with trio.fail_after(10):
        while code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]))
            request = InitProducerIdRequest(transactional_id, 60_000, producer_id=-1, producer_epoch=-1)
            code = (await client.ask(request, 4)).error_code
    return code


@trio_test
async def test_each_has_its_own_orders(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, zulu, operator = [await tenants.connect(each) for each in (ACME, ZULU, OPERATOR)]
        sent = {}
        for name, client in (("acme", acme), ("zulu", zulu)):
            made = await create_topic(client, "orders")
            assert made.name == "orders"
            sent[name] = batch([name.encode()])
            assert (await produced(client, "orders", sent[name])).error_code == 0
        for name, client in (("acme", acme), ("zulu", zulu)):
            assert bodies((await fetched(client, "orders")).records) == bodies(sent[name])
            assert await names(client) == ["orders"]
            told = await client.ask(DescribeTopicPartitionsRequest())
            assert [topic.name for topic in told.topics] == ["orders"]
            assert bodies((await fetched(operator, f"{name}.orders")).records) == bodies(sent[name])
        assert await names(operator) == ["acme.orders", "zulu.orders"]


@trio_test
async def test_an_id_of_another_is_as_one_that_nobody_has(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, zulu = await tenants.connect(ACME), await tenants.connect(ZULU)
        made = await create_topic(zulu, "orders")
        await produced(zulu, "orders", batch())
        own, unknown = made.topic_id, bytes(range(16))
        for topic_id in (own, unknown):
            told = await acme.ask(MetadataRequest([MetadataRequestTopic(topic_id)]))
            assert [(t.topic_id, t.name, t.error_code) for t in told.topics] == [(topic_id, None, 100)]
            read = await acme.ask(fetch("", topic_id=topic_id))
            assert [(t.topic_id, t.partitions[0].error_code) for t in read.responses] == [(topic_id, 100)]
            sent = produce("", batch())
            sent.topic_data[0].topic_id = topic_id
            taken = await acme.ask(sent)
            assert [(t.topic_id, t.partition_responses[0].error_code) for t in taken.responses] == [(topic_id, 100)]
            gone = await acme.ask(DeleteTopicsRequest([DeleteTopicState(None, topic_id)], timeout_ms=5000))
            assert [(t.topic_id, t.name, t.error_code) for t in gone.responses] == [(topic_id, None, 100)]
        assert (await zulu.ask(fetch("", topic_id=own))).responses[0].partitions[0].error_code == 0


@trio_test
async def test_names_with_their_prefix_where_they_are_not_rewritten(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, plain, zulu = [await tenants.connect(each) for each in (ACME, ACME_PREFIXED, ZULU)]
        await create_topic(acme, "orders")
        await create_topic(zulu, "orders")
        assert await names(plain) == ["acme.orders"]
        assert (await produced(plain, "acme.orders", batch())).error_code == 0
        # Those of another are as those that do not exist, and cannot be made.
        for name in ("zulu.orders", "zulu.nothing", "orders"):
            answer = await produced(plain, name, batch())
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            told = await plain.ask(MetadataRequest([MetadataRequestTopic(name=name)]))
            assert [(t.name, t.error_code) for t in told.topics] == [(name, ErrorCode.INVALID_TOPIC_EXCEPTION)]
        assert await commit(plain, "zulu.workers", "acme.orders") == ErrorCode.INVALID_GROUP_ID
        for name, code in (("zulu.writer", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("acme.writer", 0)):
            assert await begin(plain, name) == code


@trio_test
async def test_groups_are_the_tenants_own(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, zulu, operator = [await tenants.connect(each) for each in (ACME, ZULU, OPERATOR)]
        for client in (acme, zulu):
            await create_topic(client, "orders")
            assert await commit(client, "workers") == 0
        for client in (acme, zulu):
            listed = await client.ask(ListGroupsRequest())
            assert [group.group_id for group in listed.groups] == ["workers"]
        listed = await operator.ask(ListGroupsRequest())
        assert sorted(group.group_id for group in listed.groups) == ["acme.workers", "zulu.workers"]


@trio_test
async def test_configs_that_name_topics_are_rewritten_and_the_brokers_withheld(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, operator = await tenants.connect(ACME), await tenants.connect(OPERATOR)
        await create_topic(acme, "orders", configs={"dead.letter.topic": "graves"})
        key = ["dead.letter.topic"]
        for client, prefix in ((acme, ""), (operator, "acme.")):
            wanted = DescribeConfigsResource(TOPIC, f"{prefix}orders", key)
            (told,) = (await client.ask(DescribeConfigsRequest([wanted]))).results
            assert (told.resource_name, told.configs[0].value) == (f"{prefix}orders", f"{prefix}graves")
        (told,) = (await acme.ask(DescribeConfigsRequest([DescribeConfigsResource(BROKER, "1")]))).results
        assert (told.resource_type, told.resource_name, told.configs) == (BROKER, "1", [])
        assert told.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        change = AlterConfigsResource(BROKER, "", [AlterableConfig("log.retention.ms", 0, "1000")])
        (told,) = (await acme.ask(IncrementalAlterConfigsRequest([change]))).responses
        assert (told.resource_type, told.error_code) == (BROKER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        listed = await acme.ask(ListConfigResourcesRequest([TOPIC, BROKER]))
        assert [(each.resource_type, each.resource_name) for each in listed.config_resources] == [(TOPIC, "orders")]


@trio_test
async def test_what_is_the_operators_is_not_offered(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, operator = await tenants.connect(ACME), await tenants.connect(OPERATOR)
        offered = {each.api_key for each in (await acme.ask(ApiVersionsRequest("t", "1"))).api_keys}
        whole = {each.api_key for each in (await operator.ask(ApiVersionsRequest("t", "1"))).api_keys}
        assert offered < whole
        assert ElectLeadersRequest.API_KEY in whole - offered
        with pytest.raises(Closed):
            await acme.ask(WriteTxnMarkersRequest(markers=[]))


@trio_test
async def test_a_tenant_that_there_is_not_is_served_nothing(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        tenants.door.broker.server.tenancy.listeners[ZULU] = ListenerTenancy("nobody")
        with pytest.raises(Closed):
            await names(await tenants.connect(ZULU))


@trio_test
async def test_connections_beyond_the_limit_are_closed(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        await tenants.administration.alter("acme", {"connections": 1})
        first = await tenants.connect(ACME)
        await names(first)
        with pytest.raises(Closed):
            await names(await tenants.connect(ACME))
        await names(await tenants.connect(ZULU))
        await first.stream.aclose()
        usage = tenants.door.broker.server.tenancy.usages.of("acme")
        await until(lambda: usage.connections == 0)
        await names(await tenants.connect(ACME))
        assert usage.refused_connections == 1


@trio_test
async def test_a_tenant_that_is_deleted_loses_its_connections(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme = await tenants.connect(ACME)
        assert await names(acme) == []
        await tenants.administration.delete("acme")
        with pytest.raises(Closed):
            await names(acme)


@trio_test
async def test_what_is_the_operators_is_refused_and_the_connection_goes_on(tmp_path: Path) -> None:
    """Clients that log in have asked before which APIs there are, and were told of all."""
    quota = RequestEntryData([RequestEntityData("user", "ann")], [OpData("producer_byte_rate", 1.0, False)])
    async with open_tenants(tmp_path) as tenants:
        acme = await tenants.connect(ACME)
        for request in (
            DescribeLogDirsRequest(None),
            ElectLeadersRequest(0, None, 1000),
            AlterPartitionReassignmentsRequest(1000, topics=[]),
            DescribeClientQuotasRequest([], False),
            DescribeUserScramCredentialsRequest(None),
        ):
            assert (await acme.ask(request)).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED, request
        (entry,) = (await acme.ask(AlterClientQuotasRequest([quota], False))).entries
        assert entry.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        deletion = AlterUserScramCredentialsRequest([ScramCredentialDeletion("ann", 1)], [])
        (result,) = (await acme.ask(deletion)).results
        assert (result.user, result.error_code) == ("ann", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        assert await names(acme) == []
