"""Requests that a door asks for its caller."""

from functools import partial
from pathlib import Path

import pytest
import trio
from attrs import evolve
from trio.testing import trio_test

from coordinators.records.long_polls import LongPolls
from engine.errors import (
    BrokerError,
    InvalidRequest,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from tests.wire.inner.house import GUARDED, NOBODY, House, open_house, user
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, fetch, produced
from tests.wire.kafka.tenancy.tenants import OPERATOR, open_tenants
from wire.inner.asking import GROUP, error_codes
from wire.inner.records import NewRecord, SentRecord
from wire.kafka.calls import Guest
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.metadata import MetadataRequest
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics


async def commit(house: House, guest: Guest) -> None:
    topic = OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(0, 5)])
    answer = await house.inner.ask_coordinator(guest, GROUP, "g", OffsetCommitRequest("g", topics=[topic]))
    assert list(error_codes(answer)) == []


async def committed(house: House, guest: Guest) -> int:
    wanted = OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])])
    answer = await house.inner.ask_coordinator(guest, GROUP, "g", OffsetFetchRequest(groups=[wanted]))
    offset: int = answer.groups[0].topics[0].partitions[0].committed_offset
    return offset


@trio_test
async def test_a_coordinator_is_found_and_waited_for(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t")
        with house.guest() as guest:
            await commit(house, guest)
            assert await committed(house, guest) == 5


@trio_test
async def test_a_tenants_caller_says_its_own_names(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        house = House(tenants.door)
        await tenants.administration.alter("acme", principals=("User:ann",), rewrite=True)
        with house.guest(user("ann")) as guest:
            made = CreateTopicsRequest([CreatableTopic("t", 2, 1)], 5_000)
            assert list(error_codes(await house.inner.ask(guest, made))) == []
            (outcome,) = await house.sending.send(guest, "t", [NewRecord(value=b"v", partition=1)])
            assert isinstance(outcome, SentRecord)
            assert [record.value for record in (await house.reading.read(guest, "t", 1, 0)).records] == [b"v"]
            told = await house.inner.ask(guest, MetadataRequest(None))
            assert [topic.name for topic in told.topics] == ["t"]
            await commit(house, guest)
            groups = await house.inner.ask(guest, ListGroupsRequest())
            assert [group.group_id for group in groups.groups] == ["g"]
        operator = await tenants.connect(OPERATOR)
        named = await operator.ask(MetadataRequest(None))
        assert "acme.t" in [topic.name for topic in named.topics]


@trio_test
async def test_a_caller_of_a_tenant_that_is_gone_is_refused(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        house = House(tenants.door)
        await tenants.administration.alter("acme", principals=("User:ann",))
        with house.guest(user("ann")) as guest:
            await house.inner.ask(guest, MetadataRequest(None))
            await tenants.administration.alter("acme", principals=())
            with pytest.raises(InvalidRequest, match="belongs to no tenant any more"):
                await house.inner.ask(guest, MetadataRequest(None))


@trio_test
async def test_what_is_asked_is_counted_with_the_others(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        counted = house.door.broker.server.requests
        with house.guest() as guest:
            await house.inner.ask(guest, MetadataRequest([]))
        assert counted[MetadataRequest.API_KEY] == 1


@trio_test
async def test_a_version_that_is_not_served_is_refused(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        with house.guest() as guest, pytest.raises(UnsupportedVersion):
            await house.inner.ask(guest, MetadataRequest([]), 99)


@trio_test
async def test_a_long_poll_that_is_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch())
        with house.guest() as guest:
            with trio.move_on_after(0.05):
                await house.inner.ask(guest, fetch("t", 1, max_wait_ms=60_000))
            assert house.service(LongPolls).statistics()["waiting"] == 0


@trio_test
async def test_what_a_guest_that_stays_has_ends_when_it_leaves(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        guest = house.inner.staying(NOBODY, "grpc", "mine")
        gone: list[int] = []
        guest.peer.when_gone(lambda peer: gone.append(peer.connection_id))
        await house.inner.ask(guest, MetadataRequest([]))
        assert not gone
        house.inner.leave(guest)
        assert gone == [-guest.number]


@trio_test
async def test_who_may_not_know_of_a_topic_is_told_the_same_whether_it_exists_or_not(tmp_path: Path) -> None:
    async with open_house(tmp_path, GUARDED) as house:
        with house.guest(user("root")) as root:
            made = CreateTopicsRequest([CreatableTopic("secret", 3, 1)], 5_000)
            assert list(error_codes(await house.inner.ask(root, made))) == []
        told: dict[str, list[str]] = {}
        with house.guest(user("eve")) as eve:
            for name in ("secret", "nothing"):
                found: list[TopicAuthorizationFailed] = []
                for partition in (0, 99):
                    with pytest.raises(TopicAuthorizationFailed) as read:
                        await house.reading.read(eve, name, partition, 0)
                    with pytest.raises(TopicAuthorizationFailed) as sent:
                        await house.sending.send(eve, name, [NewRecord(value=b"v", partition=partition)])
                    found += [read.value, sent.value]
                with pytest.raises(TopicAuthorizationFailed) as known:
                    await house.inner.known_topic(eve, name)
                with pytest.raises(TopicAuthorizationFailed) as led:
                    house.inner.leader(eve, name, 99)
                told[name] = [str(each).replace(name, "...") for each in (*found, known.value, led.value)]
        assert told["secret"] == told["nothing"], "nor is it told in other words"


@trio_test
async def test_who_was_deleted_asks_no_more_and_is_told_nothing_that_it_waited_for(tmp_path: Path) -> None:
    counts = [True]
    caller = evolve(user("alice"), counts=lambda: counts[0])
    refusals: list[BrokerError] = []

    async def wait(guest: Guest, *, many: bool) -> None:
        try:
            if many:
                await house.reading.read_many(guest, "t", {0: 0}, wait_s=30.0)
            else:
                await house.reading.read(guest, "t", 0, 0, wait_s=30.0)
        except BrokerError as error:
            refusals.append(error)

    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t")
        with house.guest(caller) as guest, house.guest() as writer:
            await house.inner.ask(guest, MetadataRequest(None))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(wait, guest, many=False))
                nursery.start_soon(partial(wait, guest, many=True))
                await until(lambda: house.service(LongPolls).statistics()["waiting"] == 2)
                counts[0] = False
                await house.sending.send(writer, "t", [NewRecord(value=b"not for her")])
            with pytest.raises(SaslAuthenticationFailed):
                await house.inner.ask(guest, MetadataRequest(None))
    assert [type(each) for each in refusals] == [SaslAuthenticationFailed] * 2
