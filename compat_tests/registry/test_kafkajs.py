"""kafkajs's registry client in Node: what it writes Confluent's deserialisers read, and the other way round."""

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from compat_tests.registry.test_serializers import AVRO, JSON_SCHEMA, LINE_PROTO, ORDER
from tidegate.testing import RunningBroker

PACKAGE = Path(__file__).parent / "kafkajs"

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here (make setup installs it)"),
    pytest.mark.skipif(not (PACKAGE / "node_modules").is_dir(), reason="make setup fetches kafkajs's client"),
]


class Refused(Exception):
    """What the client threw."""


@define(eq=False)
class Kafkajs:
    """The client in its process."""

    process: "subprocess.Popen[str]"

    def ask(self, step: str, **given: Any) -> Any:
        """One step of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"step": step, **given}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer.get("found")

    def encode(self, schema_id: int, value: Any) -> bytes:
        return b64decode(self.ask("encode", id=schema_id, value=value))

    def decode(self, data: bytes) -> Any:
        return self.ask("decode", bytes=b64encode(data).decode())


@pytest.fixture
def kafkajs(schema_broker: RunningBroker) -> Iterator[Kafkajs]:
    command = ["node", "steps.mjs", schema_broker.registry_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=PACKAGE, text=True, **pipes) as process:  # type: ignore[call-overload]
        yield Kafkajs(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def test_avro_is_exchanged_with_confluents_serialisers(
    kafkajs: Kafkajs, registry: SchemaRegistryClient, topic: str
) -> None:
    context = SerializationContext(topic, MessageField.VALUE)
    schema_id = kafkajs.ask("register", type="AVRO", schema=AVRO, subject=f"{topic}-value")
    assert registry.get_latest_version(f"{topic}-value").schema_id == schema_id
    assert AvroDeserializer(registry)(kafkajs.encode(schema_id, ORDER), context) == ORDER
    written = AvroSerializer(registry, AVRO)(ORDER, context)
    assert kafkajs.decode(written) == ORDER
    assert registry.get_versions(f"{topic}-value") == [1], "both print the schema so that it is the same"
    assert kafkajs.ask("latest", subject=f"{topic}-value") == schema_id
    assert kafkajs.ask("version", subject=f"{topic}-value", version=1) == schema_id
    assert kafkajs.ask("lookUp", subject=f"{topic}-value", type="AVRO", schema=AVRO) == schema_id


def test_json_schema_is_exchanged_with_confluents_serialisers(
    kafkajs: Kafkajs, registry: SchemaRegistryClient, topic: str
) -> None:
    context = SerializationContext(topic, MessageField.VALUE)
    schema_id = kafkajs.ask("register", type="JSON", schema=JSON_SCHEMA, subject=f"{topic}-value")
    read = JSONDeserializer(JSON_SCHEMA, schema_registry_client=registry)
    assert read(kafkajs.encode(schema_id, ORDER), context) == ORDER
    assert kafkajs.decode(JSONSerializer(JSON_SCHEMA, registry)(ORDER, context)) == ORDER


def test_protobuf_goes_there_and_back(kafkajs: Kafkajs, registry: SchemaRegistryClient, topic: str) -> None:
    schema_id = kafkajs.ask("register", type="PROTOBUF", schema=LINE_PROTO, subject=f"{topic}-value")
    assert registry.get_schema(schema_id).schema_type == "PROTOBUF"
    assert kafkajs.decode(kafkajs.encode(schema_id, {"note": "fragile"})) == {"note": "fragile"}


def test_what_does_not_fit_is_told(kafkajs: Kafkajs, topic: str) -> None:
    kafkajs.ask("register", type="AVRO", schema=AVRO, subject=f"{topic}-value")
    other = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "other", "type": "int"}]})
    with pytest.raises(Refused, match="incompatible with an earlier schema"):
        kafkajs.ask("register", type="AVRO", schema=other, subject=f"{topic}-value")
    with pytest.raises(Refused, match="not found"):
        kafkajs.ask("latest", subject=f"{topic}-none")
