"""Records held against schemas on their way in, through the Kafka door: what is taken, and what is refused with which
reason."""

import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pytest
import trio
from attrs import define
from trio.testing import trio_test

from coordinators.cluster.controller import ClusterController
from coordinators.records.publishing import Publishing
from coordinators.schemas.changes import Changes
from coordinators.schemas.deleting import SchemaDeleting
from coordinators.schemas.names import checked
from coordinators.schemas.parsing import Parsing
from coordinators.schemas.registering import Registering, WantedSchema
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaContent
from engine.records.compression import GZIP, LZ4, SNAPPY, ZSTD
from engine.workers import Workers
from tests.coordinators.records.test_publishing import create, end_offset, fetch, produce
from tests.engine.stage.world import Record, client_batch, parse
from tests.wire.kafka.door import Client, Door, open_door
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

INVALID_RECORD = 87
NONE = 0

ORDER = {"type": "record", "name": "shop.Order", "fields": [{"name": "id", "type": "int"}]}
ORDER_JSON = {"type": "object", "title": "Bill", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
ORDER_PROTOBUF = 'syntax = "proto3"; package shop; message Note { string text = 1; } message Parcel { int32 id = 1; }'


@define(eq=False)
class Bench:
    """A broker with a topic, and its registry."""

    door: Door
    client: Client

    @property
    def registry(self) -> Registry:
        return self.door.broker.node.services[Registry]

    async def register(self, subject: str, schema: Any, schema_type: str = "AVRO") -> int:
        """A schema under a subject; its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        services = self.door.broker.node.services
        workers: Workers = services[Workers]  # type: ignore[type-abstract]
        changes = Changes(self.registry, services[ClusterController])
        registering = Registering(self.registry, Parsing(self.registry, workers, 1 << 20), changes)
        content = SchemaContent(schema_type, text)
        await registering.register(WantedSchema(checked(subject), content))
        row = self.registry.latest(subject)
        assert row is not None
        return row.id

    async def delete(self, subject: str) -> None:
        changes = Changes(self.registry, self.door.broker.node.services[ClusterController])
        await SchemaDeleting(self.registry, changes).subject(checked(subject))

    async def send(self, *records: Record | bytes | None, codec: int = NONE, **producer: Any) -> Any:
        """Publish values or records in one batch; the answer."""
        made = [each if isinstance(each, Record) else Record(each, (), None) for each in records]  # type: ignore[arg-type]
        return await produce(self.client, client_batch(made, codec=codec, **producer))


@asynccontextmanager
async def bench(tmp_path: Path, **configs: str) -> AsyncIterator[Bench]:
    """With the topic `t` of this config."""
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create(client, **configs)
        yield Bench(door, client)


def framed(schema_id: int, payload: bytes = b"") -> bytes:
    return b"\x00" + struct.pack(">i", schema_id) + payload


def avro(value: Any, schema: Any = ORDER) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return stream.getvalue()


def refused(answer: Any, *reasons: str) -> None:
    """The batch was refused, and the first record at fault told why."""
    assert answer.error_code == INVALID_RECORD
    assert answer.record_errors
    for reason in reasons:
        assert reason in answer.error_message
        assert reason in f"record {answer.record_errors[0].batch_index}: " + (
            answer.record_errors[0].batch_index_error_message
        )


@trio_test
async def test_an_id_must_be_registered_under_the_topics_subject(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="id") as made:
        known = await made.register("t-value", ORDER)
        other = await made.register("other-value", '"string"')
        assert (await made.send(framed(known), framed(known, b"anything"))).error_code == 0
        refused(await made.send(framed(known), framed(other)), "record 1: its value names schema id", "t-value")
        refused(await made.send(framed(999)), "names schema id 999, which is not registered")
        refused(await made.send(b'{"id": 1}'), "record 0: its value begins with no schema id")
        refused(await made.send(b"\x00\x00"), "begins with no schema id")
        refused(await made.send(b""), "begins with no schema id")
        assert (await end_offset(made.client)).offset == 2


@trio_test
async def test_a_null_value_passes(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="full") as made:
        assert (await made.send(Record(None, (), b"k"))).error_code == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
@trio_test
async def test_full_looks_into_payloads_in_every_codec(tmp_path: Path, codec: int) -> None:
    async with bench(tmp_path, schema_validation="full", extensions_enable="false") as made:
        known = await made.register("t-value", ORDER)
        good = framed(known, avro({"id": 7}))
        for count in (1, 100):
            assert (await made.send(*([good] * count), codec=codec)).error_code == 0
            answer = await made.send(*([good] * count), framed(known, b"\xff"), codec=codec)
            refused(answer, f"record {count}: its value does not fit schema id {known}: id: ")
        assert (await end_offset(made.client)).offset == 101


@trio_test
async def test_json_and_protobuf_are_looked_into(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="full") as made:
        bill = await made.register("t-value", ORDER_JSON, "JSON")
        assert (await made.send(framed(bill, b'{"id": 1}'))).error_code == 0
        refused(await made.send(framed(bill, b'{"id": "x"}')), 'id: "x" is not of type "integer"')
        await create(made.client, "p", schema_validation="full")
        parcel = await made.register("p-value", ORDER_PROTOBUF, "PROTOBUF")
        for value, code in ((b"\x02\x02\x08\x01", 0), (b"\x00\x0a\x01a", 0), (b"\x02\x02\x08", 87), (b"\x02\x08", 87)):
            batch = client_batch([Record(framed(parcel, value))])
            assert (await produce(made.client, batch, name="p")).error_code == code


@trio_test
async def test_keys_are_looked_at_by_their_own_key(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_key_validation="full") as made:
        known = await made.register("t-key", '"string"')
        good = framed(known, avro("a", "string"))
        assert (await made.send(Record(b"any value", (), good), Record(b"any", (), None))).error_code == 0
        refused(await made.send(Record(b"v", (), good + b"x")), "its key does not fit", "1 bytes are left over")


@trio_test
async def test_a_guid_names_a_schema_in_front_and_in_a_header(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="full") as made:
        known = await made.register("t-value", ORDER)
        row = made.registry.by_id(known)
        assert row is not None
        guid, payload = b"\x01" + UUID(row.guid).bytes, avro({"id": 3})
        header = ((b"__value_schema_id", guid),)
        assert (await made.send(guid + payload)).error_code == 0
        assert (await made.send(Record(payload, header, None), framed(known, payload))).error_code == 0
        refused(await made.send(Record(b"\xff", header, None)), "does not fit schema id")
        unknown = ((b"__value_schema_id", b"\x01" + bytes(16)),)
        refused(await made.send(Record(payload, unknown, None)), "guid 00000000-0000-0000-0000-000000000000")
        refused(
            await made.send(Record(payload, ((b"__value_schema_id", b"\x01ab"),), None)), "begins with no schema id"
        )


@trio_test
async def test_a_message_of_protobuf_is_named_in_the_header(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="full") as made:
        known = await made.register("t-value", ORDER_PROTOBUF, "PROTOBUF")
        row = made.registry.by_id(known)
        assert row is not None
        guid = b"\x01" + UUID(row.guid).bytes
        assert (await made.send(Record(b"\x08\x01", ((b"__value_schema_id", guid + b"\x02\x02"),)))).error_code == 0
        refused(await made.send(Record(b"\x08", ((b"__value_schema_id", guid + b"\x02\x02"),))), "shop.Parcel")


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "shop.Order"),
        ("TopicRecordNameStrategy", "t-shop.Order"),
    ],
)
@trio_test
async def test_the_subject_can_be_called_after_the_record(tmp_path: Path, strategy: str, subject: str) -> None:
    async with bench(tmp_path, schema_validation="id", confluent_value_subject_name_strategy=strategy) as made:
        known = await made.register(subject, ORDER)
        wrong = await made.register("t-value", {**ORDER, "name": "Bill"})
        assert (await made.send(framed(known))).error_code == 0
        refused(await made.send(framed(wrong)), "which is not registered under the subject")


@trio_test
async def test_each_record_of_protobuf_has_its_own_name(tmp_path: Path) -> None:
    strategy = "RecordNameStrategy"
    async with bench(tmp_path, schema_validation="id", confluent_value_subject_name_strategy=strategy) as made:
        known = await made.register("shop.Note", ORDER_PROTOBUF, "PROTOBUF")
        note, parcel = framed(known, b"\x00"), framed(known, b"\x02\x02")
        assert (await made.send(note, note)).error_code == 0
        refused(await made.send(note, parcel), "record 1: its value names schema id", "under the subject shop.Parcel")
        refused(await made.send(note, framed(known)), "record 1: its value does not fit schema id")


@trio_test
async def test_confluents_keys_ask_for_ids(tmp_path: Path) -> None:
    async with bench(
        tmp_path, confluent_value_schema_validation="true", confluent_key_schema_validation="true"
    ) as made:
        known = await made.register("t-value", ORDER)
        key = await made.register("t-key", '"string"')
        assert (await made.send(Record(framed(known, b"anything"), (), framed(key)))).error_code == 0
        refused(await made.send(Record(framed(known), (), b"plain")), "its key begins with no schema id")


@trio_test
async def test_what_changes_in_the_registry_counts_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="full") as made:
        refused(await made.send(framed(1, avro({"id": 1}))), "schema id 1, which is not registered")
        known = await made.register("t-value", ORDER)
        assert (await made.send(framed(known, avro({"id": 1})))).error_code == 0
        await made.delete("t-value")
        refused(await made.send(framed(known, avro({"id": 1}))), "not registered under the subject t-value")


@trio_test
async def test_a_refused_batch_of_an_idempotent_producer_leaves_room_for_the_next(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="id") as made:
        known = await made.register("t-value", ORDER)
        assert (await made.send(framed(known), producer_id=5, epoch=0, sequence=0)).error_code == 0
        refused(await made.send(b"x", producer_id=5, epoch=0, sequence=1))
        assert (await made.send(framed(known), producer_id=5, epoch=0, sequence=1)).error_code == 0


@trio_test
async def test_a_delayed_record_is_looked_at_on_the_way_in(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_validation="full") as made:
        known = await made.register("t-value", ORDER)
        delay = ((b"tide-delay", b"60000"),)
        refused(await made.send(Record(framed(known, b"\xff"), delay)), "does not fit")
        answer = await made.send(Record(framed(known, avro({"id": 1})), delay))
        assert (answer.error_code, answer.base_offset) == (0, -1)


@trio_test
async def test_a_topic_can_begin_and_cease_to_ask(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        validation = made.door.broker.node.services[Publishing].validation
        assert validation is not None
        assert not validation.rules
        assert (await made.send(b"anything")).error_code == 0
        for level, code in (("id", INVALID_RECORD), ("none", 0)):
            config = AlterableConfig("schema.validation", 0, level)
            resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[config])
            await made.client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
            assert (await made.send(b"anything")).error_code == code
        assert not validation.rules


# -- values that name no schema


@pytest.mark.parametrize("codec", [NONE, LZ4])
@trio_test
async def test_plain_json_is_held_against_the_latest_schema_and_gets_its_id(tmp_path: Path, codec: int) -> None:
    async with bench(tmp_path, schema_subject="bills") as made:
        refused_answer = await made.send(b'{"id": 1}')
        assert refused_answer.error_code == INVALID_RECORD
        assert "no schema is registered under bills" in refused_answer.error_message
        known = await made.register("bills", ORDER_JSON, "JSON")
        sent = [
            Record(b'{"id": 1}', ((b"a", b"b"),), b"k", 5_000),
            Record(b'{"id": 2}', (), None, 7_000),
            Record(None, (), b"gone", 8_000),  # type: ignore[arg-type]
        ]
        answer = await made.send(*sent, codec=codec, producer_id=9, epoch=0, sequence=0)
        assert (answer.error_code, answer.base_offset) == (0, 0)
        again = await made.send(*sent, codec=codec, producer_id=9, epoch=0, sequence=0)
        assert (again.error_code, again.base_offset) == (0, 0)
        refused(await made.send(b'{"id": 1}', b'{"id": "x"}', codec=codec), "record 1: its value does not fit")
        stamp = (b"schema-id", str(known).encode())
        records = parse(bytes((await fetch(made.client, 0)).records))
        assert [(each.headers, each.key, each.created_ms) for each in records] == [
            (((b"a", b"b"), stamp), b"k", 5_000),
            ((stamp,), None, 7_000),
            ((), b"gone", 8_000),
        ]
        assert (await end_offset(made.client)).offset == 3


@trio_test
async def test_a_delayed_record_is_stamped_too(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_subject="bills") as made:
        known = await made.register("bills", ORDER_JSON, "JSON")
        answer = await made.send(Record(b'{"id": 1}', ((b"tide-delay", b"1"),)), codec=LZ4)
        assert (answer.error_code, answer.base_offset) == (0, -1)
        with trio.fail_after(20):
            while not (found := (await fetch(made.client, 0, wait_ms=500)).records):
                await trio.lowlevel.checkpoint()
        (released,) = parse(bytes(found))
        assert (b"schema-id", str(known).encode()) in released.headers


@trio_test
async def test_a_subject_of_another_type_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path, schema_subject="orders") as made:
        await made.register("orders", ORDER)
        answer = await made.send(b"{}")
        assert answer.error_code == INVALID_RECORD
        assert "is no JSON Schema" in answer.error_message
