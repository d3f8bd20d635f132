"""DescribeClientQuotas and AlterClientQuotas: what is set, what is refused, what a filter fits."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tests.wire.kafka.quotas import Parts, alteration, altered, bind, described, quotas
from wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)

INVALID_REQUEST, UNSUPPORTED_VERSION = 42, 35
EXACT, DEFAULT, ANY = 0, 1, 2


@trio_test
async def test_quotas_are_set_told_kept_and_removed(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await bind(client, {"user": "alice"}, producer_byte_rate=1024, consumer_byte_rate=2048.0)
        await bind(client, {"client-id": "app", "user": None}, request_percentage=12.5)
        await bind(client, {"ip": "127.0.0.2"}, connection_creation_rate=5)
        await bind(client, {"user": "a/b <default>"}, controller_mutation_rate=0.5)
        await bind(client, {"user": "alice"}, consumer_byte_rate=None)
    async with open_door(tmp_path) as door:
        client = await door.connect()
        found = await quotas(client)
        assert ({"user": "alice"}, {"producer_byte_rate": 1024.0}) in found
        assert ({"user": None, "client-id": "app"}, {"request_percentage": 12.5}) in found
        assert ({"ip": "127.0.0.2"}, {"connection_creation_rate": 5.0}) in found
        assert ({"user": "a/b <default>"}, {"controller_mutation_rate": 0.5}) in found
        assert len(found) == 4
        await bind(client, {"user": "alice"}, producer_byte_rate=None)
        assert await quotas(client, ("user", EXACT, "alice")) == []


@trio_test
async def test_filters_fit_as_in_kafka(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        entities: list[Parts] = [
            {"user": "alice"},
            {"user": None},
            {"user": "alice", "client-id": "app"},
            {"user": "alice", "client-id": None},
            {"client-id": "app"},
        ]
        for entity in entities:
            await bind(client, entity, producer_byte_rate=1)
        await bind(client, {"ip": None}, connection_creation_rate=1)

        async def fitting(*components: tuple[str, int, str | None], strict: bool = False) -> list[Parts]:
            return [entity for entity, _ in await quotas(client, *components, strict=strict)]

        def named(*numbers: int) -> list[Parts]:
            return [entities[number] for number in numbers]

        def same(left: list[Parts], right: list[Parts]) -> bool:
            return sorted(map(repr, left)) == sorted(map(repr, right))

        assert same(await fitting(("user", EXACT, "alice")), named(0, 2, 3))
        assert await fitting(("user", EXACT, "alice"), strict=True) == named(0)
        assert same(await fitting(("user", ANY, None)), named(0, 1, 2, 3))
        assert same(await fitting(("user", ANY, None), strict=True), named(0, 1))
        assert await fitting(("user", DEFAULT, None)) == named(1)
        assert await fitting(("user", EXACT, "alice"), ("client-id", DEFAULT, None)) == named(3)
        assert await fitting(("ip", ANY, None)) == [{"ip": None}]
        assert await fitting(strict=True) == []
        assert len(await fitting()) == 6


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", EXACT, "x")], INVALID_REQUEST),
        ([("group", EXACT, "x")], UNSUPPORTED_VERSION),
        ([("user", EXACT, "x"), ("user", DEFAULT, None)], INVALID_REQUEST),
        ([("user", EXACT, None)], INVALID_REQUEST),
        ([("user", DEFAULT, "x")], INVALID_REQUEST),
        ([("user", ANY, "x")], INVALID_REQUEST),
        ([("user", 3, None)], INVALID_REQUEST),
        ([("ip", ANY, None), ("user", ANY, None)], INVALID_REQUEST),
    ],
)
@trio_test
async def test_a_filter_that_contradicts_itself_is_refused(
    tmp_path: Path, components: list[tuple[str, int, str | None]], code: int
) -> None:
    async with open_door(tmp_path) as door:
        answer = await described(await door.connect(), *components)
        assert (answer.error_code, answer.entries) == (code, None)
        assert answer.error_message


BAD: list[tuple[Parts, dict[str, float | None]]] = [
    ({}, {"producer_byte_rate": 1.0}),
    ({"group": "g"}, {"producer_byte_rate": 1.0}),
    ({"user": ""}, {"producer_byte_rate": 1.0}),
    ({"user": "u", "ip": "127.0.0.1"}, {"producer_byte_rate": 1.0}),
    ({"ip": "localhost.example"}, {"connection_creation_rate": 1.0}),
    ({"ip": "127.0.0.1"}, {"producer_byte_rate": 1.0}),
    ({"user": "u"}, {"connection_creation_rate": 1.0}),
    ({"user": "u"}, {"no_such_rate": 1.0}),
    ({"user": "u"}, {"no_such_rate": None}),
    ({"user": "u"}, {"producer_byte_rate": 0.0}),
    ({"user": "u"}, {"producer_byte_rate": -1.0}),
    ({"user": "u"}, {"producer_byte_rate": 1.5}),
    ({"user": "u"}, {"producer_byte_rate": 1e19}),
    ({"user": "u"}, {"request_percentage": float("nan")}),
    ({"user": "u"}, {"request_percentage": float("inf")}),
    ({"ip": None}, {"connection_creation_rate": 2.0**31}),
]


@trio_test
async def test_bad_quotas_are_refused_each_for_itself(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        good = alteration({"user": "good"}, {"producer_byte_rate": 7.0})
        answer = await client.ask(AlterClientQuotasRequest([*(alteration(*each) for each in BAD), good]))
        assert [entry.error_code for entry in answer.entries] == [INVALID_REQUEST] * len(BAD) + [0]
        assert all(entry.error_message for entry in answer.entries[:-1])
        assert await quotas(client) == [({"user": "good"}, {"producer_byte_rate": 7.0})]


@trio_test
async def test_what_is_named_twice_is_refused(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        once = alteration({"user": "u"}, {"producer_byte_rate": 1.0})
        twice = RequestEntryData([RequestEntityData("user", "a"), RequestEntityData("user", "b")], once.ops)
        keys = RequestEntryData([RequestEntityData("user", "c")], [OpData("producer_byte_rate", 1.0)] * 2)
        answer = await client.ask(AlterClientQuotasRequest([twice, keys, once, once]))
        assert [entry.error_code for entry in answer.entries] == [INVALID_REQUEST, INVALID_REQUEST, 0, INVALID_REQUEST]


@trio_test
async def test_validation_alone_changes_nothing(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        assert (await altered(client, {"user": "u"}, {"producer_byte_rate": 5.0}, validate_only=True)).error_code == 0
        bad = await altered(client, {"user": "u"}, {"producer_byte_rate": 0.5}, validate_only=True)
        assert bad.error_code == INVALID_REQUEST
        assert await quotas(client) == []
