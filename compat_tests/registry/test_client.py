"""confluent-kafka's registry client: every call of its that a registry answers."""

import json

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.schema_registry_client import ConfigCompatibilityLevel, ServerConfig

from tidegate.testing import RunningBroker

ONE = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]})
TWO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": "string", "default": ""}],
    }
)
UNFIT = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "other", "type": "int"}]})


def test_a_subject_lives_from_its_first_version_to_its_end(registry: SchemaRegistryClient, topic: str) -> None:
    subject = f"{topic}-value"
    first = registry.register_schema(subject, Schema(ONE, "AVRO"))
    assert registry.register_schema(subject, Schema(ONE, "AVRO")) == first
    second = registry.register_schema_full_response(subject, Schema(TWO, "AVRO"))
    assert (second.schema_id > first, second.version) == (True, 2)
    assert registry.get_versions(subject) == [1, 2]
    assert subject in registry.get_subjects()
    assert registry.lookup_schema(subject, Schema(ONE, "AVRO")).version == 1
    assert registry.get_latest_version(subject).schema_id == second.schema_id
    assert registry.get_version(subject, 1).schema_id == first
    assert json.loads(registry.get_schema(first).schema_str) == json.loads(ONE)
    assert json.loads(registry.get_schema_by_guid(second.guid).schema_str) == json.loads(TWO)
    assert {each.subject for each in registry.get_schema_versions(first)} == {subject}
    assert registry.test_compatibility(subject, Schema(UNFIT, "AVRO")) is False
    assert registry.test_compatibility(subject, Schema(TWO, "AVRO"), 1) is True
    with pytest.raises(SchemaRegistryError) as refused:
        registry.register_schema(subject, Schema(UNFIT, "AVRO"))
    assert (refused.value.http_status_code, refused.value.error_code) == (409, 409)
    assert registry.delete_version(subject, 1) == 1
    assert registry.delete_subject(subject) == [2]
    assert registry.delete_subject(subject, permanent=True) == [1, 2]
    with pytest.raises(SchemaRegistryError) as gone:
        registry.get_versions(subject)
    assert gone.value.error_code == 40401


def test_levels_are_set_and_told(registry: SchemaRegistryClient, topic: str) -> None:
    assert registry.get_compatibility() == "BACKWARD"
    with pytest.raises(SchemaRegistryError) as unset:
        registry.get_compatibility(topic)
    assert unset.value.error_code == 40408
    assert registry.set_compatibility(topic, "FULL_TRANSITIVE")["compatibility"] == "FULL_TRANSITIVE"
    assert registry.get_compatibility(topic) == "FULL_TRANSITIVE"
    registry.set_config(topic, ServerConfig(compatibility=ConfigCompatibilityLevel.NONE))
    assert registry.get_config(topic).compatibility_level == "NONE"


def test_references_are_resolved(registry: SchemaRegistryClient, topic: str) -> None:
    registry.register_schema(f"{topic}-order", Schema(ONE, "AVRO"))
    basket = json.dumps(
        {
            "type": "record",
            "name": "Basket",
            "fields": [{"name": "orders", "type": {"type": "array", "items": "Order"}}],
        }
    )
    schema = Schema(basket, "AVRO", [SchemaReference("Order", f"{topic}-order", 1)])
    known = registry.register_schema(f"{topic}-value", schema)
    (reference,) = registry.get_schema(known).references
    assert (reference.name, reference.subject, reference.version) == ("Order", f"{topic}-order", 1)
    with pytest.raises(SchemaRegistryError) as refused:
        registry.delete_subject(f"{topic}-order")
    assert refused.value.error_code == 42206


def test_what_is_registered_outlives_a_crash_and_no_id_comes_twice(schema_broker: RunningBroker, topic: str) -> None:
    registry = SchemaRegistryClient({"url": schema_broker.registry_url})
    before = registry.register_schema(f"{topic}-value", Schema(ONE, "AVRO"))
    schema_broker.kill()
    schema_broker.start()
    again = SchemaRegistryClient({"url": schema_broker.registry_url})
    assert again.get_schema(before).schema_str == ONE
    own = json.dumps({"type": "record", "name": "Own", "fields": [{"name": topic.replace("-", "_"), "type": "int"}]})
    assert again.register_schema(f"{topic}-key", Schema(own, "AVRO")) > before


def test_the_operations_door_has_it_too(schema_broker: RunningBroker, topic: str) -> None:
    registry = SchemaRegistryClient({"url": f"{schema_broker.http_url}/schemas"})
    known = registry.register_schema(f"{topic}-value", Schema(ONE, "AVRO"))
    assert json.loads(registry.get_schema(known).schema_str) == json.loads(ONE)
